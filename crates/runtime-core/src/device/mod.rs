//! The seam between the runtime and a driver.
//!
//! A device holds memory, turns a region's plan into something it can run,
//! takes it on a queue, and says which points its timelines have reached. It
//! schedules nothing: the order of submissions, hazards and capacity are the
//! runtime's, and so is the proof that an object may be dropped.
//!
//! The runtime validates, a device may assume: spans lie inside their buffers,
//! offsets keep the limits that [`DeviceInfo`] states, bindings match the
//! kernel's, group counts are within limits and not zero, and a wait is only
//! made on a point that was accepted.
//!
//! Objects of a device (buffers, kernels, regions) keep the driver's own device
//! alive, so dropping them in any order is sound. Dropping one destroys the
//! native object: that no accepted work still uses it is the dropper's promise.
//!
//! This trait is unstable until 1.0. Users write one to test their own code, or
//! take [`scripted`].

pub mod info;
pub mod scripted;
pub mod selection;
#[cfg(feature = "vulkan")]
pub mod vulkan;

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::time::Duration;

use runtime_sync::unmodelled::Arc;

pub use info::{
    DeviceInfo, DeviceKind, DeviceUuid, Heap, KernelFeatures, LaneMap, Limits, QueueFamily,
    QueueIndex, QueueRole,
};

pub use selection::{Candidate, DEVICE_VARIABLE, DeviceSelector, SelectionError};

use crate::lane::Lane;

/// A point on the timeline of one queue. Points of a queue are accepted in
/// rising order from 1 and reached in that order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Point {
    /// The queue whose timeline it is.
    pub queue: QueueIndex,
    /// The timeline's value; 0 is reached from the start.
    pub value: u64,
}

/// What a device answers instead of success.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceFault {
    /// The device is gone, for good.
    #[error("the device was lost in {call}")]
    Lost {
        /// The driver call that said so.
        call: &'static str,
    },
    /// The device has no memory for this request.
    #[error("the device has no room for {requested_bytes} bytes")]
    OutOfDeviceMemory {
        /// What was asked for; 0 where an object of the driver's own did not fit.
        requested_bytes: u64,
    },
    /// A buffer or kernel that another device made.
    #[error("the {object} belongs to another device")]
    OtherDevice {
        /// `buffer`, `kernel` or `region`.
        object: &'static str,
    },
    /// The host has no memory for this call.
    #[error("the host has no memory for {call}")]
    OutOfHostMemory {
        /// The driver call that said so.
        call: &'static str,
    },
    /// The driver's count of separate allocations is used up.
    #[error("the driver allows {limit} separate allocations, all in use")]
    TooManyAllocations {
        /// `maxMemoryAllocationCount`.
        limit: u32,
    },
    /// The device has no memory type with these properties.
    #[error("the device has no {placement} memory")]
    NoSuchMemory {
        /// What was asked for.
        placement: MemoryPlacement,
    },
    /// The driver refused a kernel.
    #[error("the driver refused the kernel in {call} with code {code}")]
    KernelRefused {
        /// The driver call that said so.
        call: &'static str,
        /// The driver's own result code (`VkResult`).
        code: i32,
    },
    /// A scripted device has no host function for the kernel's entry point.
    #[error("the scripted device has no host kernel for entry point `{entry}`")]
    NoHostKernel {
        /// The entry point's name.
        entry: Arc<str>,
    },
    /// Any other result that is not success.
    #[error("{call} answered code {code}")]
    Driver {
        /// The driver call.
        call: &'static str,
        /// The driver's own result code (`VkResult`).
        code: i32,
    },
    /// The scripted device caught a use that real hardware may punish silently.
    #[error("misuse caught by the scripted device: {0}")]
    Misuse(scripted::Misuse),
}

impl DeviceFault {
    /// True when the device is gone for good.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }
}

/// Where a buffer's bytes should live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryPlacement {
    /// Fast for the device; the host reaches it through staging, or directly
    /// where the device's memory is the host's.
    Device,
    /// Written by the host in order, read by the device.
    Upload,
    /// Written by the device, read by the host (cached where there is a choice).
    Download,
}

impl fmt::Display for MemoryPlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Device => "device",
            Self::Upload => "upload",
            Self::Download => "download",
        })
    }
}

/// A buffer that a device is asked for.
#[derive(Debug, Clone, Copy)]
pub struct BufferSpec<'a> {
    /// Its length in bytes; a positive multiple of 4.
    pub bytes: u64,
    /// Where its bytes should live.
    pub placement: MemoryPlacement,
    /// Its name in debuggers and messages.
    pub label: &'a str,
}

/// What a kernel's binding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BindingKind {
    /// A storage buffer that the kernel only reads.
    StorageRead,
    /// A storage buffer that the kernel may write.
    StorageWrite,
    /// A uniform buffer.
    Uniform,
}

/// One binding of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindingSlot {
    /// The descriptor set. Buffers of a graph are bound in group 0, the per-run
    /// parameters in group 1.
    pub group: u32,
    /// The binding's number in its group.
    pub binding: u32,
    /// What is bound.
    pub kind: BindingKind,
    /// The fewest bytes that a view must have; at least 1.
    pub least_bytes: u64,
    /// The variable's name, empty where the module has none.
    pub name: Arc<str>,
}

/// A kernel that a device is asked to build.
#[derive(Debug, Clone, Copy)]
pub struct KernelSpec<'a> {
    /// A valid SPIR-V module.
    pub spirv: &'a [u32],
    /// The compute entry point in it.
    pub entry: &'a str,
    /// All its bindings.
    pub bindings: &'a [BindingSlot],
    /// Invocations of a workgroup along each axis.
    pub workgroup: [u32; 3],
    /// Specialization constants: id and 32-bit word.
    pub specialization: &'a [(u32, u32)],
    /// Its name in debuggers and messages.
    pub label: &'a str,
}

/// A buffer of a device. Dropping it frees its memory.
pub trait DeviceBuffer: Any + Send + Sync + fmt::Debug {
    /// Its usable length in bytes, as asked for.
    fn bytes(&self) -> u64;

    /// Where the host sees its bytes, if it does; stable for its whole life.
    fn host(&self) -> Option<HostSpan>;

    /// Makes host writes in `offset..offset + bytes` visible to later
    /// submissions. Widens the range to the atom itself.
    ///
    /// # Errors
    /// The driver's.
    fn flush(&self, offset: u64, bytes: u64) -> Result<(), DeviceFault>;

    /// Makes device writes that a reached point covers visible to the host.
    /// Widens the range to the atom itself.
    ///
    /// # Errors
    /// The driver's.
    fn invalidate(&self, offset: u64, bytes: u64) -> Result<(), DeviceFault>;

    /// For the device's own use.
    fn as_any(&self) -> &dyn Any;
}

/// The host's address of a buffer's bytes.
#[derive(Debug, Clone, Copy)]
pub struct HostSpan {
    /// The first byte.
    pub start: NonNull<u8>,
    /// The length in bytes.
    pub bytes: usize,
}

/// A kernel of a device. Dropping it destroys its pipeline.
pub trait DeviceKernel: Any + Send + Sync + fmt::Debug {
    /// For the device's own use.
    fn as_any(&self) -> &dyn Any;
}

/// A recorded region. It keeps the buffers and kernels of its plan alive;
/// dropping it destroys its command buffers and descriptor sets.
pub trait DeviceRegion: Any + Send + Sync + fmt::Debug {
    /// For the device's own use.
    fn as_any(&self) -> &dyn Any;
}

/// A range of a device's buffer.
#[derive(Debug, Clone)]
pub struct Span {
    /// The buffer.
    pub buffer: Arc<dyn DeviceBuffer>,
    /// The first byte.
    pub offset: u64,
    /// The length in bytes, never zero.
    pub bytes: u64,
}

/// A range bound to a kernel's binding.
#[derive(Debug, Clone)]
pub struct BoundSpan {
    /// The descriptor set.
    pub group: u32,
    /// The binding's number.
    pub binding: u32,
    /// The bytes the kernel sees; exactly this range is bound.
    pub span: Span,
}

/// One operation of a region, in program order.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Command {
    /// Sets every 32-bit word of the target; offset and length are multiples of 4.
    Fill {
        /// What is filled.
        target: Span,
        /// The word it is filled with.
        word: u32,
    },
    /// Copies bytes; both spans have one length and do not overlap. Any offset
    /// and length is allowed: a device that needs alignment takes care itself.
    Copy {
        /// Where from.
        source: Span,
        /// Where to.
        target: Span,
    },
    /// Runs a kernel.
    Dispatch {
        /// The kernel.
        kernel: Arc<dyn DeviceKernel>,
        /// All its bindings.
        bindings: Vec<BoundSpan>,
        /// Workgroups along each axis, within limits, none zero.
        groups: [u32; 3],
    },
    /// Orders all earlier commands of the region before all later ones, with
    /// their memory.
    Barrier,
}

/// The operations of one graph that run on one lane without leaving it.
#[derive(Debug, Clone)]
pub struct RegionPlan {
    /// The lane whose queue runs it.
    pub lane: Lane,
    /// The operations, with the barriers they need among themselves.
    pub commands: Vec<Command>,
    /// The region writes memory that the host will read: it must end with a
    /// barrier to the host.
    pub read_by_host: bool,
    /// Its name in debuggers and messages.
    pub label: Arc<str>,
}

/// Whether a submission begins with a full memory barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Leading {
    /// An unreached earlier submission of the queue conflicts.
    Barrier,
    /// Nothing unreached on the queue conflicts.
    Nothing,
}

/// How a wait for a point ended without fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Waited {
    /// The point was reached.
    Reached,
    /// The limit passed first.
    Elapsed,
}

/// A driver, behind which a GPU or a simulation of one sits.
#[expect(
    unsafe_code,
    reason = "a submission borrows memory beyond the call; only its caller can promise to keep it"
)]
pub trait Device: Send + Sync + fmt::Debug {
    /// What it is and can do; constant.
    fn info(&self) -> &DeviceInfo;

    /// Allocates a buffer. Its content is undefined.
    ///
    /// # Errors
    /// No room, no such memory, the allocation limit, or loss.
    fn allocate(&self, spec: BufferSpec<'_>) -> Result<Arc<dyn DeviceBuffer>, DeviceFault>;

    /// Builds a kernel.
    ///
    /// # Errors
    /// [`DeviceFault::KernelRefused`], no memory, or loss; never more than this
    /// kernel fails.
    fn build_kernel(&self, spec: KernelSpec<'_>) -> Result<Arc<dyn DeviceKernel>, DeviceFault>;

    /// Records a region, with and without a leading barrier, to be submitted
    /// any number of times, once at a time.
    ///
    /// # Errors
    /// No memory, or loss.
    fn record(&self, plan: &RegionPlan) -> Result<Arc<dyn DeviceRegion>, DeviceFault>;

    /// Hands a recorded region to its lane's queue, behind the waits, and
    /// returns the point that proves its end. A failed submit consumes no point,
    /// but after [`DeviceFault::Lost`] the region counts as submitted.
    ///
    /// # Errors
    /// No memory, or loss.
    ///
    /// # Safety
    /// - `region` was recorded by this device and is kept until the point is
    ///   reached;
    /// - it is not submitted again before that;
    /// - every wait is on a point that this device has accepted;
    /// - no host access to the region's buffers conflicts with it until then.
    unsafe fn submit(
        &self,
        region: &dyn DeviceRegion,
        leading: Leading,
        waits: &[Point],
    ) -> Result<Point, DeviceFault>;

    /// The highest value that the queue's timeline has reached.
    ///
    /// # Errors
    /// The driver's, or loss.
    fn reached(&self, queue: QueueIndex) -> Result<u64, DeviceFault>;

    /// Blocks until the point is reached or `limit` has passed.
    ///
    /// # Errors
    /// The driver's, or loss.
    fn wait(&self, point: Point, limit: Duration) -> Result<Waited, DeviceFault>;

    /// For raw access to a known device.
    fn as_any(&self) -> &dyn Any;
}
