//! The fault script: which call fails, and how. Pure.

use crate::device::DeviceFault;

/// A call of the device that a script can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Call {
    /// [`Device::allocate`](crate::device::Device::allocate).
    Allocate,
    /// [`Device::build_kernel`](crate::device::Device::build_kernel).
    BuildKernel,
    /// [`Device::record`](crate::device::Device::record).
    Record,
    /// [`Device::submit`](crate::device::Device::submit).
    Submit,
    /// [`Device::reached`](crate::device::Device::reached).
    Reached,
    /// [`Device::wait`](crate::device::Device::wait).
    Wait,
    /// [`DeviceBuffer::flush`](crate::device::DeviceBuffer::flush).
    Flush,
    /// [`DeviceBuffer::invalidate`](crate::device::DeviceBuffer::invalidate).
    Invalidate,
}

impl Call {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Allocate => "allocate",
            Self::BuildKernel => "build_kernel",
            Self::Record => "record",
            Self::Submit => "submit",
            Self::Reached => "reached",
            Self::Wait => "wait",
            Self::Flush => "flush",
            Self::Invalidate => "invalidate",
        }
    }
}

/// Faults that wait for their call.
#[derive(Debug, Default)]
pub(super) struct Script {
    faults: Vec<Planned>,
}

#[derive(Debug)]
struct Planned {
    call: Call,
    calls_before: u64,
    fault: DeviceFault,
}

impl Script {
    /// The `nth` call from now fails; 0 counts as 1.
    pub(super) fn plan(&mut self, call: Call, nth: u64, fault: DeviceFault) {
        self.faults.push(Planned {
            call,
            calls_before: nth.saturating_sub(1),
            fault,
        });
    }

    /// Counts one call and says whether it fails. When several faults are due,
    /// the one planned first is taken and the others stay due.
    pub(super) fn called(&mut self, call: Call) -> Option<DeviceFault> {
        let mut due = None;
        for (place, planned) in self.faults.iter_mut().enumerate() {
            if planned.call != call {
                continue;
            }
            match planned.calls_before.checked_sub(1) {
                Some(left) => planned.calls_before = left,
                None => due = due.or(Some(place)),
            }
        }
        due.map(|place| self.faults.remove(place).fault)
    }
}
