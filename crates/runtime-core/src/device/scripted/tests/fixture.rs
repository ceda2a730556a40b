//! A device with shorthands for what the tests do to it.

use runtime_sync::unmodelled::Arc;

use crate::device::scripted::{Controls, HostInvocation, ScriptedBuilder, ScriptedDevice};
use crate::device::{
    BindingKind, BindingSlot, BoundSpan, BufferSpec, Command, Device, DeviceBuffer, DeviceFault,
    DeviceKernel, DeviceRegion, KernelSpec, Leading, MemoryPlacement, Point, RegionPlan, Span,
};
use crate::lane::Lane;

pub(super) type Buffer = Arc<dyn DeviceBuffer>;
pub(super) type Region = Arc<dyn DeviceRegion>;

pub(super) struct Bench {
    pub(super) device: ScriptedDevice,
    pub(super) controls: Controls,
}

pub(super) fn bench() -> Bench {
    built(ScriptedDevice::builder())
}

pub(super) fn built(builder: ScriptedBuilder) -> Bench {
    let device = builder
        .host_kernel("double", |invocation: &mut HostInvocation<'_>| {
            for value in invocation.write::<u32>("values") {
                *value *= 2;
            }
        })
        .host_kernel("panics", |_| panic!("a host kernel fails"))
        .host_kernel("strays", |invocation| {
            invocation.write::<u32>("nowhere");
        })
        .build();
    let controls = device.controls();
    Bench { device, controls }
}

impl Bench {
    pub(super) fn buffer(&self, bytes: u64, placement: MemoryPlacement) -> Buffer {
        self.try_buffer(bytes, placement).unwrap()
    }

    pub(super) fn try_buffer(
        &self,
        bytes: u64,
        placement: MemoryPlacement,
    ) -> Result<Buffer, DeviceFault> {
        self.device.allocate(BufferSpec {
            bytes,
            placement,
            label: "buffer",
        })
    }

    pub(super) fn kernel(&self, entry: &str) -> Result<Arc<dyn DeviceKernel>, DeviceFault> {
        self.device.build_kernel(KernelSpec {
            spirv: &[],
            entry,
            bindings: &[BindingSlot {
                group: 0,
                binding: 0,
                kind: BindingKind::StorageWrite,
                least_bytes: 4,
                name: "values".into(),
            }],
            workgroup: [64, 1, 1],
            specialization: &[],
            label: entry,
        })
    }

    pub(super) fn record(
        &self,
        lane: Lane,
        label: &str,
        commands: Vec<Command>,
    ) -> Result<Region, DeviceFault> {
        self.device.record(&RegionPlan {
            lane,
            commands,
            read_by_host: false,
            label: label.into(),
        })
    }

    /// As `record`, with a barrier to the host at the end.
    pub(super) fn record_for_host(&self, commands: Vec<Command>) -> Region {
        self.device
            .record(&RegionPlan {
                lane: Lane::Download,
                commands,
                read_by_host: true,
                label: "for the host".into(),
            })
            .unwrap()
    }

    pub(super) fn submit(
        &self,
        region: &Region,
        leading: Leading,
        waits: &[Point],
    ) -> Result<Point, DeviceFault> {
        // SAFETY: the device checks what the trait asks for; a test that breaks
        // it looks at the answer only, and touches no host bytes meanwhile.
        unsafe { self.device.submit(&**region, leading, waits) }
    }

    /// Records and submits one command without barrier or waits.
    pub(super) fn run(&self, lane: Lane, label: &str, command: Command) -> (Region, Point) {
        let region = self.record(lane, label, vec![command]).unwrap();
        let point = self.submit(&region, Leading::Nothing, &[]).unwrap();
        (region, point)
    }
}

pub(super) fn span(buffer: &Buffer, offset: u64, bytes: u64) -> Span {
    Span {
        buffer: buffer.clone(),
        offset,
        bytes,
    }
}

pub(super) fn fill(buffer: &Buffer, offset: u64, bytes: u64, word: u32) -> Command {
    Command::Fill {
        target: span(buffer, offset, bytes),
        word,
    }
}

pub(super) fn copy(source: Span, target: Span) -> Command {
    Command::Copy { source, target }
}

pub(super) fn dispatch(kernel: &Arc<dyn DeviceKernel>, values: Span, groups: u32) -> Command {
    Command::Dispatch {
        kernel: kernel.clone(),
        bindings: vec![BoundSpan {
            group: 0,
            binding: 0,
            span: values,
        }],
        groups: [groups, 1, 1],
    }
}

pub(super) fn write_host(buffer: &Buffer, offset: usize, bytes: &[u8]) {
    let host = buffer.host().unwrap();
    assert!(offset + bytes.len() <= host.bytes);
    // SAFETY: the assertion keeps the offset in the buffer.
    let start = unsafe { host.start.add(offset) };
    // SAFETY: S31; the tests of this module access host bytes from one thread,
    // outside of the device's calls, on which work runs.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start.as_ptr(), bytes.len()) }
}

pub(super) fn read_host(buffer: &Buffer, offset: usize, length: usize) -> Vec<u8> {
    let host = buffer.host().unwrap();
    assert!(offset + length <= host.bytes);
    let mut bytes = vec![0; length];
    // SAFETY: the assertion keeps the offset in the buffer.
    let start = unsafe { host.start.add(offset) };
    // SAFETY: S31, as in `write_host`.
    unsafe { std::ptr::copy_nonoverlapping(start.as_ptr(), bytes.as_mut_ptr(), length) }
    bytes
}
