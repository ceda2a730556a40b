use std::fmt::Write;
use std::time::Duration;

use runtime_sync::unmodelled::Arc;

use super::{Busy, Error, Invalid};
use crate::device::{
    Candidate, DeviceFault, DeviceInfo, DeviceKind, MemoryPlacement, SelectionError,
};
use crate::lane::Lane;
use crate::memory::budget::MemoryBudget;
use crate::quarantine::{Cause, OwnerKind, Register};

fn candidate() -> Candidate {
    let device = crate::device::scripted::ScriptedDevice::builder()
        .name("made-up")
        .build();
    let mut info: DeviceInfo = crate::device::Device::info(&device).clone();
    info.kind = DeviceKind::Software;
    info.missing = vec!["timelineSemaphore"];
    Candidate {
        info: Box::new(info),
    }
}

fn selection() -> Vec<Error> {
    let candidates = vec![candidate()];
    let wanted: Arc<str> = "a100".into();
    [
        SelectionError::NoLoader,
        SelectionError::NoDriver,
        SelectionError::Instance {
            call: "vkCreateInstance",
            code: -1,
        },
        SelectionError::NoDevice,
        SelectionError::OnlySoftware {
            candidates: candidates.clone(),
        },
        SelectionError::NoMatch {
            wanted: wanted.clone(),
            candidates: Vec::new(),
        },
        SelectionError::Ambiguous { wanted, candidates },
        SelectionError::MissingFeature {
            candidates: vec![candidate()],
        },
        SelectionError::Open {
            candidate: candidate(),
            call: "vkCreateDevice",
            code: -3,
        },
    ]
    .map(Error::from)
    .into()
}

fn faults() -> Vec<Error> {
    [
        DeviceFault::Lost {
            call: "vkQueueSubmit2",
        },
        DeviceFault::OutOfDeviceMemory {
            requested_bytes: 64,
        },
        DeviceFault::OutOfHostMemory {
            call: "vkAllocateMemory",
        },
        DeviceFault::TooManyAllocations { limit: 4096 },
        DeviceFault::NoSuchMemory {
            placement: MemoryPlacement::Download,
        },
        DeviceFault::KernelRefused {
            call: "vkCreateComputePipelines",
            code: -13,
        },
        DeviceFault::NoHostKernel {
            entry: "main".into(),
        },
        DeviceFault::Driver {
            call: "vkWaitSemaphores",
            code: -4,
        },
    ]
    .map(Error::from)
    .into()
}

fn invalid() -> Vec<Error> {
    let name: Arc<str> = "values".into();
    [
        Invalid::Option {
            option: "run_slots",
            value: 0,
            least: 1,
            most: 256,
        },
        Invalid::Empty { what: "the buffer" },
        Invalid::OutOfRange {
            offset: 8,
            bytes: 16,
            within_bytes: 20,
        },
        Invalid::Unaligned {
            what: "the offset of a fill",
            value: 6,
            align: 4,
        },
        Invalid::OverLimit {
            what: "groups on axis y",
            value: 70_000,
            limit: 65_535,
        },
        Invalid::LengthMismatch {
            left_bytes: 4,
            right_bytes: 8,
        },
        Invalid::Overlap,
        Invalid::ForeignRuntime { what: "view" },
        Invalid::ForeignGraph { what: "input" },
        Invalid::NoSuchBinding { name: name.clone() },
        Invalid::Unbound {
            name: name.clone(),
            group: 0,
            binding: 1,
        },
        Invalid::ShortBinding {
            name: name.clone(),
            least_bytes: 16,
            bytes: 4,
        },
        Invalid::Aliasing {
            first: name.clone(),
            second: "sums".into(),
        },
        Invalid::NoGroups { axis: 2 },
        Invalid::MissingInput { index: 1 },
        Invalid::NoSuchParameter { name, bytes: 4 },
        Invalid::EmptyGraph,
        Invalid::NoOutput,
        Invalid::Elements {
            bytes: 7,
            element_bytes: 4,
        },
        Invalid::WrongLane {
            operation: "a copy",
            lane: Lane::Npu,
        },
        Invalid::WrongPlacement {
            placement: MemoryPlacement::Device,
            usage: "staging",
        },
    ]
    .map(Error::from)
    .into()
}

fn others() -> Vec<Error> {
    let cause = Cause::Device(DeviceFault::Lost {
        call: "vkQueueSubmit2",
    });
    let register = Register::new();
    let id = register.keep("q6".into(), OwnerKind::Native, 64, cause.clone(), None);
    let over = MemoryBudget::new(64, "device memory")
        .charge(65, "columns")
        .expect_err("65 bytes of 64");
    let waited = Duration::from_millis(5);
    vec![
        Error::Busy(Busy::Capacity { limit: 64 }),
        Error::Busy(Busy::RunSlots { limit: 2 }),
        Error::Busy(Busy::HostGuard),
        Error::Busy(Busy::Reentry),
        Error::Busy(Busy::Lane),
        Error::DeviceLost {
            quarantine: None,
            cause: Cause::Timeline,
        },
        Error::DeviceLost {
            quarantine: Some(id),
            cause,
        },
        Error::DeviceLost {
            quarantine: Some(id),
            cause: Cause::Fence(Arc::new(Error::Closed)),
        },
        Error::DeviceLost {
            quarantine: Some(id),
            cause: Cause::FencePanicked,
        },
        Error::TimedOut {
            waited,
            lane_held_by: None,
        },
        Error::TimedOut {
            waited,
            lane_held_by: Some("digits".into()),
        },
        Error::Cancelled,
        Error::DependencyFailed,
        Error::Closed,
        Error::Revoked,
        Error::OverBudget(over),
        Error::NotQuarantined(id),
        Error::NoThread {
            purpose: "a reaper",
        },
        Error::foreign(std::io::Error::other("a stream failed")),
    ]
}

#[test]
fn every_error_says_what_is_wrong() {
    let mut text = String::new();
    for error in [others(), invalid(), faults(), selection()].concat() {
        writeln!(text, "{:?} {}: {error}", error.kind(), error.code()).unwrap();
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_native_entry_leaves_only_by_its_id() {
    let register = Register::new();
    let id = register.keep("a".into(), OwnerKind::Native, 8, Cause::Timeline, None);
    let other = register.keep("b".into(), OwnerKind::Native, 4, Cause::Timeline, None);
    assert_eq!((register.count(), register.bytes()), (2, 12));
    assert!(register.release(id).is_some());
    assert!(register.release(id).is_none(), "an id was used twice");
    let left: Vec<_> = register.list().iter().map(|entry| entry.id).collect();
    assert_eq!(left, [other]);
}
