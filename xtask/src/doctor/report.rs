//! The report as data, for people and for programs.

use std::path::PathBuf;

use runtime_core::Lane;
use runtime_core::device::DeviceInfo;
use serde::{Deserialize, Serialize};

/// Everything that doctor found out.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The loader's library.
    pub(crate) loader: Option<PathBuf>,
    /// Manifests of drivers whose library is there.
    pub(crate) drivers: Vec<PathBuf>,
    /// Manifests of drivers whose library is gone.
    pub(crate) dangling_drivers: Vec<PathBuf>,
    /// The manifest of the validation layer.
    pub(crate) validation_layer: Option<PathBuf>,
    /// The manifest of the second software driver.
    pub(crate) swiftshader: Option<PathBuf>,
    /// There is a C compiler for Rust to link with.
    pub(crate) linker: bool,
    /// All devices, usable or not.
    pub(crate) devices: Vec<Device>,
    /// What is wrong.
    pub(crate) problems: Vec<Problem>,
}

impl Report {
    /// A device is there that lacks nothing.
    pub(crate) fn has_usable_device(&self) -> bool {
        self.devices.iter().any(|device| device.missing.is_empty())
    }
}

/// Something wrong and its remedy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Problem {
    /// What is wrong.
    pub(crate) what: String,
    /// What to do about it.
    pub(crate) fix: String,
}

impl Problem {
    /// A problem with its remedy.
    pub(crate) fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            fix: fix.into(),
        }
    }
}

/// A device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Device {
    /// The driver's name of it.
    pub(crate) name: String,
    /// What kind of hardware it is.
    pub(crate) kind: String,
    /// Its UUID.
    pub(crate) uuid: String,
    /// The driver and its version.
    pub(crate) driver: String,
    /// The API version that it offers.
    pub(crate) api_version: String,
    /// What it lacks of what the runtime needs.
    pub(crate) missing: Vec<String>,
    /// Its queue families.
    pub(crate) families: Vec<Family>,
    /// Which queue carries each lane.
    pub(crate) lanes: Vec<LanePlace>,
    /// Its heaps.
    pub(crate) heaps: Vec<Heap>,
    /// Its limits.
    pub(crate) limits: Limits,
    /// Nanoseconds of one timestamp tick.
    pub(crate) timestamp_period_ns: f32,
}

/// A queue family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Family {
    /// The driver's index.
    pub(crate) index: u32,
    /// How many queues it has.
    pub(crate) queues: u32,
    /// What they can do.
    pub(crate) roles: Vec<String>,
    /// Valid bits of a timestamp.
    pub(crate) timestamp_bits: u32,
}

/// Where a lane's work goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LanePlace {
    /// The lane.
    pub(crate) lane: String,
    /// The runtime's queue.
    pub(crate) queue: u8,
    /// The family of that queue.
    pub(crate) family: Option<u32>,
}

/// A heap of memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Heap {
    /// Its size.
    pub(crate) bytes: u64,
    /// It is the device's own.
    pub(crate) device_local: bool,
    /// The host can reach some of it.
    pub(crate) host_visible: bool,
}

/// The limits that the runtime keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Limits {
    /// Most workgroups along each axis.
    pub(crate) groups: [u32; 3],
    /// Most invocations of a workgroup along each axis.
    pub(crate) workgroup: [u32; 3],
    /// Most invocations of a workgroup in all.
    pub(crate) workgroup_invocations: u32,
    /// Most bytes of workgroup memory.
    pub(crate) workgroup_bytes: u32,
    /// Most bytes of one storage binding.
    pub(crate) storage_range_bytes: u64,
    /// Alignment of storage bindings.
    pub(crate) storage_align_bytes: u64,
    /// Granularity of flushes.
    pub(crate) atom_bytes: u64,
    /// Most bytes of one buffer.
    pub(crate) buffer_bytes: u64,
    /// Most separate allocations.
    pub(crate) allocations: u32,
}

impl From<&DeviceInfo> for Device {
    fn from(info: &DeviceInfo) -> Self {
        let [major, minor, patch] = info.api_version;
        Self {
            name: info.name.clone(),
            kind: info.kind.to_string(),
            uuid: info.uuid.to_string(),
            driver: info.driver.clone(),
            api_version: format!("{major}.{minor}.{patch}"),
            missing: info.missing.iter().map(ToString::to_string).collect(),
            families: info.families.iter().map(Family::from).collect(),
            lanes: lanes(info),
            heaps: info
                .heaps
                .iter()
                .map(|heap| Heap {
                    bytes: heap.bytes,
                    device_local: heap.device_local,
                    host_visible: heap.host_visible,
                })
                .collect(),
            limits: Limits {
                groups: info.limits.groups,
                workgroup: info.limits.workgroup,
                workgroup_invocations: info.limits.workgroup_invocations,
                workgroup_bytes: info.limits.workgroup_bytes,
                storage_range_bytes: info.limits.storage_range_bytes,
                storage_align_bytes: info.limits.storage_align_bytes,
                atom_bytes: info.limits.atom_bytes,
                buffer_bytes: info.limits.buffer_bytes,
                allocations: info.limits.allocations,
            },
            timestamp_period_ns: info.timestamp_period_ns,
        }
    }
}

impl From<&runtime_core::device::QueueFamily> for Family {
    fn from(family: &runtime_core::device::QueueFamily) -> Self {
        let role = family.role;
        let roles = [
            (role.compute, "compute"),
            (role.graphics, "graphics"),
            (role.transfer, "transfer"),
        ];
        Self {
            index: family.index,
            queues: family.queues,
            roles: roles
                .into_iter()
                .filter(|(has, _)| *has)
                .map(|(_, name)| name.to_owned())
                .collect(),
            timestamp_bits: family.timestamp_bits,
        }
    }
}

fn lanes(info: &DeviceInfo) -> Vec<LanePlace> {
    Lane::ALL
        .into_iter()
        .map(|lane| {
            let queue = info.lanes.queue(lane);
            LanePlace {
                lane: lane.to_string(),
                queue: queue.0,
                family: info.queue_families.get(queue.index()).copied(),
            }
        })
        .collect()
}
