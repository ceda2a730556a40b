//! What a device is and can do.

use std::fmt;

use crate::lane::Lane;

/// A queue of a device, counted over the queues that the runtime uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueIndex(pub u8);

impl QueueIndex {
    /// As an index into per-queue tables.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// What kind of hardware a device is, in order of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DeviceKind {
    /// A card with memory of its own.
    Discrete,
    /// A part of the processor's package.
    Integrated,
    /// A share of a GPU, given by a hypervisor.
    Virtual,
    /// The processor itself.
    Software,
    /// A simulation that follows a script.
    Scripted,
    /// What the driver could not say.
    Other,
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Discrete => "discrete",
            Self::Integrated => "integrated",
            Self::Virtual => "virtual",
            Self::Software => "software",
            Self::Scripted => "scripted",
            Self::Other => "other",
        })
    }
}

/// The driver's identity of a physical device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeviceUuid(pub [u8; 16]);

impl fmt::Display for DeviceUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, byte) in self.0.iter().enumerate() {
            if matches!(place, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// What a queue family is able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueRole {
    /// Compute commands.
    pub compute: bool,
    /// Graphics commands.
    pub graphics: bool,
    /// Transfer commands (every compute or graphics family has them too).
    pub transfer: bool,
}

/// A family of alike queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueFamily {
    /// The driver's index.
    pub index: u32,
    /// How many queues it has.
    pub queues: u32,
    /// What they can do.
    pub role: QueueRole,
    /// Valid bits of a timestamp; 0 where there are none.
    pub timestamp_bits: u32,
}

/// Which queue carries each lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneMap {
    queues: [QueueIndex; Lane::COUNT],
}

impl LaneMap {
    /// All lanes on queue 0.
    pub fn shared() -> Self {
        Self {
            queues: [QueueIndex(0); Lane::COUNT],
        }
    }

    /// Uploads and downloads on `transfer`, the rest on `compute`.
    pub fn split(compute: QueueIndex, transfer: QueueIndex) -> Self {
        let mut map = Self {
            queues: [compute; Lane::COUNT],
        };
        map.queues[Lane::Upload.index()] = transfer;
        map.queues[Lane::Download.index()] = transfer;
        map
    }

    /// The same map with one lane on another queue.
    #[must_use]
    pub fn with(mut self, lane: Lane, queue: QueueIndex) -> Self {
        self.queues[lane.index()] = queue;
        self
    }

    /// The queue that carries `lane`.
    pub fn queue(&self, lane: Lane) -> QueueIndex {
        self.queues[lane.index()]
    }

    /// How many queues are in use.
    pub fn queue_count(&self) -> usize {
        self.queues
            .iter()
            .map(|queue| queue.index() + 1)
            .max()
            .unwrap_or(1)
    }
}

/// A heap of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heap {
    /// Its size in bytes.
    pub bytes: u64,
    /// It is the device's own.
    pub device_local: bool,
    /// The host can reach some of its memory types.
    pub host_visible: bool,
}

/// The limits that the runtime keeps before it calls a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most workgroups of a dispatch along each axis.
    pub groups: [u32; 3],
    /// Most invocations of a workgroup along each axis.
    pub workgroup: [u32; 3],
    /// Most invocations of a workgroup in all.
    pub workgroup_invocations: u32,
    /// Most bytes of workgroup memory.
    pub workgroup_bytes: u32,
    /// Most bytes that one storage binding may cover.
    pub storage_range_bytes: u64,
    /// Most bytes that one uniform binding may cover.
    pub uniform_range_bytes: u64,
    /// Offsets of storage bindings are multiples of this; a power of two.
    pub storage_align_bytes: u64,
    /// Offsets of uniform bindings are multiples of this; a power of two.
    pub uniform_align_bytes: u64,
    /// Flushes and invalidations cover multiples of this; a power of two.
    pub atom_bytes: u64,
    /// Most bytes of one buffer.
    pub buffer_bytes: u64,
    /// Most separate allocations.
    pub allocations: u32,
    /// Most storage buffers that one kernel may bind.
    pub storage_bindings: u32,
}

/// What kernels may use beyond the core of the API. All of it is switched on
/// where the device has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelFeatures {
    /// 16-bit integers in arithmetic.
    pub int16: bool,
    /// 64-bit integers in arithmetic.
    pub int64: bool,
    /// 16-bit floats in arithmetic.
    pub float16: bool,
    /// 64-bit floats in arithmetic.
    pub float64: bool,
    /// 16-bit values in storage buffers.
    pub storage16: bool,
    /// 8-bit integers in arithmetic and in storage buffers.
    pub int8: bool,
    /// Atomics on 64-bit integers in storage buffers.
    pub int64_atomics: bool,
    /// The Vulkan memory model, with device scope.
    pub memory_model: bool,
    /// Subgroup operations: basic, vote, ballot, arithmetic and shuffle.
    pub subgroups: bool,
}

/// What a device is and can do.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The driver's name of it.
    pub name: String,
    /// What kind of hardware it is.
    pub kind: DeviceKind,
    /// The driver's identity of it.
    pub uuid: DeviceUuid,
    /// The driver and its version, as it names itself.
    pub driver: String,
    /// Major, minor, patch of the API version it offers.
    pub api_version: [u32; 3],
    /// All its queue families.
    pub families: Vec<QueueFamily>,
    /// Which of the runtime's queues carries each lane.
    pub lanes: LaneMap,
    /// The family of each of the runtime's queues.
    pub queue_families: Vec<u32>,
    /// Its heaps.
    pub heaps: Vec<Heap>,
    /// Its limits.
    pub limits: Limits,
    /// What its kernels may use.
    pub kernels: KernelFeatures,
    /// Nanoseconds of one timestamp tick.
    pub timestamp_period_ns: f32,
    /// What it lacks of what the runtime needs; empty on a usable device.
    pub missing: Vec<&'static str>,
}

impl DeviceInfo {
    /// A usable device with the given parts and nothing else said about it.
    pub fn new(name: impl Into<String>, kind: DeviceKind, lanes: LaneMap, limits: Limits) -> Self {
        Self {
            name: name.into(),
            kind,
            uuid: DeviceUuid([0; 16]),
            driver: String::new(),
            api_version: [1, 3, 0],
            families: Vec::new(),
            lanes,
            queue_families: vec![0; lanes.queue_count()],
            heaps: Vec::new(),
            limits,
            kernels: KernelFeatures::default(),
            timestamp_period_ns: 1.0,
            missing: Vec::new(),
        }
    }
}
