//! What the driver's results mean, and the memory of a loss.

use ash::vk;
use runtime_sync::unmodelled::OnceLock;

use crate::device::DeviceFault;

/// Whether the device is gone; the first cause wins.
#[derive(Debug, Default)]
pub(super) struct Loss {
    first: OnceLock<&'static str>,
}

impl Loss {
    /// Fails if the device is gone.
    pub(super) fn check(&self) -> Result<(), DeviceFault> {
        match self.first.get() {
            Some(call) => Err(DeviceFault::Lost { call }),
            None => Ok(()),
        }
    }

    /// Remembers that the device is gone.
    pub(super) fn note(&self, call: &'static str) -> DeviceFault {
        let call = self.first.get_or_init(|| call);
        DeviceFault::Lost { call }
    }

    /// What a result that is not success means; a loss is remembered.
    pub(super) fn fault(&self, call: &'static str, result: vk::Result) -> DeviceFault {
        match result {
            vk::Result::ERROR_DEVICE_LOST => self.note(call),
            vk::Result::ERROR_OUT_OF_HOST_MEMORY => DeviceFault::OutOfHostMemory { call },
            vk::Result::ERROR_OUT_OF_DEVICE_MEMORY | vk::Result::ERROR_OUT_OF_POOL_MEMORY => {
                DeviceFault::OutOfDeviceMemory { requested_bytes: 0 }
            }
            other => DeviceFault::Driver {
                call,
                code: other.as_raw(),
            },
        }
    }

    /// As [`fault`](Self::fault), for the calls that judge a kernel.
    pub(super) fn kernel_fault(&self, call: &'static str, result: vk::Result) -> DeviceFault {
        match self.fault(call, result) {
            DeviceFault::Driver { call, code } => DeviceFault::KernelRefused { call, code },
            other => other,
        }
    }
}
