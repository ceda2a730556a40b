use runtime_sync::unmodelled::Arc;

use super::fixture::{Bench, bench, built, copy, dispatch, fill, span};
use crate::device::scripted::{Misuse, ScriptedDevice};
use crate::device::{Command, Device, DeviceFault, Leading, MemoryPlacement};
use crate::lane::Lane;

fn refusal(bench: &Bench, commands: Vec<Command>) -> Option<Misuse> {
    match bench.record(Lane::Compute, "plan", commands) {
        Ok(_) => None,
        Err(DeviceFault::Misuse(misuse)) => {
            assert_eq!(bench.controls.misuses().last(), Some(&misuse));
            Some(misuse)
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn unordered_commands_of_a_region_are_caught() {
    let bench = bench();
    let buffer = bench.buffer(64, MemoryPlacement::Device);
    let (one, two) = (fill(&buffer, 0, 8, 1), fill(&buffer, 4, 8, 2));
    let apart = fill(&buffer, 32, 8, 3);
    assert_eq!(
        refusal(&bench, vec![apart.clone(), one.clone(), two.clone()]),
        Some(Misuse::MissingBarrier {
            region: "plan".into(),
            earlier: 1,
            later: 2,
            offset: 4
        })
    );
    assert_eq!(
        refusal(&bench, vec![one.clone(), Command::Barrier, two]),
        None
    );
    assert_eq!(refusal(&bench, vec![one, apart]), None);
}

#[test]
fn spans_outside_their_buffers_are_caught() {
    let bench = bench();
    let buffer = bench.buffer(64, MemoryPlacement::Device);
    for (offset, bytes) in [(60, 8), (0, 0), (u64::MAX - 3, 4)] {
        assert_eq!(
            refusal(&bench, vec![fill(&buffer, offset, bytes, 0)]),
            Some(Misuse::SpanOutside {
                offset,
                bytes,
                buffer_bytes: 64
            })
        );
    }
}

#[test]
fn bad_fills_and_copies_are_caught() {
    let bench = bench();
    let buffer = bench.buffer(64, MemoryPlacement::Device);
    assert_eq!(
        refusal(&bench, vec![fill(&buffer, 2, 4, 0)]),
        Some(Misuse::UnalignedFill {
            offset: 2,
            bytes: 4
        })
    );
    assert_eq!(
        refusal(&bench, vec![copy(span(&buffer, 0, 4), span(&buffer, 8, 5))]),
        Some(Misuse::CopyLengths {
            source_bytes: 4,
            target_bytes: 5
        })
    );
    assert_eq!(
        refusal(&bench, vec![copy(span(&buffer, 0, 8), span(&buffer, 7, 8))]),
        Some(Misuse::CopyOverlap { offset: 7 })
    );
}

#[test]
fn bad_dispatches_are_caught() {
    let bench = bench();
    let buffer = bench.buffer(256, MemoryPlacement::Device);
    let kernel = bench.kernel("double").unwrap();
    assert_eq!(
        refusal(&bench, vec![dispatch(&kernel, span(&buffer, 0, 4), 0)]),
        Some(Misuse::GroupCount { axis: 0, groups: 0 })
    );
    assert_eq!(
        refusal(&bench, vec![dispatch(&kernel, span(&buffer, 4, 4), 1)]),
        Some(Misuse::BindingRange {
            group: 0,
            binding: 0,
            offset: 4,
            bytes: 4
        })
    );
    let unbound = Command::Dispatch {
        kernel,
        bindings: vec![],
        groups: [1; 3],
    };
    assert_eq!(
        refusal(&bench, vec![unbound]),
        Some(Misuse::BindingMismatch {
            group: 0,
            binding: 0
        })
    );
}

#[test]
fn foreign_objects_are_caught() {
    let (bench, other) = (bench(), bench());
    let buffer = other.buffer(64, MemoryPlacement::Device);
    let command = fill(&buffer, 0, 4, 0);
    assert_eq!(
        refusal(&bench, vec![command.clone()]),
        Some(Misuse::ForeignObject)
    );
    let region = other.record(Lane::Compute, "other", vec![command]).unwrap();
    assert_eq!(
        bench.submit(&region, Leading::Nothing, &[]),
        Err(DeviceFault::Misuse(Misuse::ForeignObject))
    );
}

#[test]
fn a_kernel_needs_its_host_function() {
    let bench = bench();
    assert_eq!(
        bench.kernel("unknown").map(|_| ()),
        Err(DeviceFault::NoHostKernel {
            entry: "unknown".into()
        })
    );
}

#[test]
fn a_panicking_host_kernel_loses_the_device() {
    for (entry, misuse) in [
        (
            "panics",
            Misuse::HostKernelPanicked {
                entry: "panics".into(),
            },
        ),
        (
            "strays",
            Misuse::HostBinding {
                entry: "strays".into(),
                binding: "nowhere".into(),
            },
        ),
    ] {
        let bench = bench();
        let buffer = bench.buffer(64, MemoryPlacement::Device);
        let kernel = bench.kernel(entry).unwrap();
        let (region, point) = bench.run(
            Lane::Compute,
            "bad",
            dispatch(&kernel, span(&buffer, 0, 4), 1),
        );
        assert_eq!(bench.controls.misuses(), [misuse]);
        assert_eq!(
            bench.device.reached(point.queue),
            Err(DeviceFault::Lost { call: "reached" })
        );
        drop(region);
    }
}

#[test]
fn memory_runs_out_as_heaps_do() {
    let bench = built(ScriptedDevice::builder().heaps([crate::device::Heap {
        bytes: 100,
        device_local: true,
        host_visible: false,
    }]));
    let kept = bench.buffer(60, MemoryPlacement::Device);
    let full = DeviceFault::OutOfDeviceMemory {
        requested_bytes: 44,
    };
    assert_eq!(
        bench.try_buffer(44, MemoryPlacement::Device).map(|_| ()),
        Err(full)
    );
    assert_eq!(
        bench.try_buffer(4, MemoryPlacement::Upload).map(|_| ()),
        Err(DeviceFault::NoSuchMemory {
            placement: MemoryPlacement::Upload
        })
    );
    drop(kept);
    let again = bench.buffer(44, MemoryPlacement::Device);
    assert_eq!(
        (again.bytes(), bench.controls.heap_used_bytes()),
        (44, vec![44])
    );
    assert_eq!(
        bench.try_buffer(6, MemoryPlacement::Device).map(|_| ()),
        Err(DeviceFault::Misuse(Misuse::BufferLength { bytes: 6 }))
    );
}

#[test]
fn allocations_are_counted() {
    let bench = built(ScriptedDevice::builder().limits(|limits| limits.allocations = 2));
    let _kept = [4, 4].map(|bytes| bench.buffer(bytes, MemoryPlacement::Device));
    assert_eq!(
        bench.try_buffer(4, MemoryPlacement::Device).map(|_| ()),
        Err(DeviceFault::TooManyAllocations { limit: 2 })
    );
}

#[test]
fn objects_outlive_their_device() {
    let Bench { device, controls } = bench();
    let bench = Bench { device, controls };
    let buffer = bench.buffer(64, MemoryPlacement::Upload);
    let Bench { device, controls } = bench;
    drop(device);
    assert!(!controls.live().device);
    assert_eq!(controls.live().buffers, 1);
    drop(Arc::clone(&buffer));
    drop(buffer);
    assert_eq!(controls.live().buffers, 0);
}
