//! What the scripted device catches.

use runtime_sync::unmodelled::Arc;

/// A use that real hardware may punish silently, or a promise of the
/// [`Device`](crate::device::Device) trait that was not kept.
///
/// Offsets are bytes from the start of the buffer in question.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misuse {
    /// A region reads bytes that the host wrote and did not flush.
    #[error("region `{region}` reads host bytes at {offset} that were not flushed")]
    MissingFlush {
        /// The region's label.
        region: Arc<str>,
        /// The first such byte.
        offset: u64,
    },
    /// The host invalidates bytes of a region that had no barrier to the host.
    #[error("device bytes at {offset} had no barrier to the host")]
    MissingHostBarrier {
        /// The first such byte.
        offset: u64,
    },
    /// The host invalidates bytes that accepted work may still write.
    #[error("host bytes at {offset} were invalidated before `{region}` was reached")]
    InvalidateWhilePending {
        /// The label of the work.
        region: Arc<str>,
        /// The first such byte.
        offset: u64,
    },
    /// The host flushes bytes that accepted work still uses.
    #[error("host bytes at {offset} were flushed before `{region}` was reached")]
    FlushWhilePending {
        /// The label of the work.
        region: Arc<str>,
        /// The first such byte.
        offset: u64,
    },
    /// A flush, widened to the atom, overwrites device bytes that the host has
    /// not invalidated.
    #[error("a flush overwrites device bytes at {offset} in the same atom")]
    FlushOverDeviceWrites {
        /// The first such byte.
        offset: u64,
    },
    /// An invalidate, widened to the atom, discards host bytes that were not
    /// flushed.
    #[error("an invalidate discards host bytes at {offset} that were not flushed")]
    InvalidateOverHostWrites {
        /// The first such byte.
        offset: u64,
    },
    /// The host has no address of this buffer.
    #[error("the buffer is not visible to the host")]
    NotHostVisible,
    /// Two commands of a region conflict without a barrier between them.
    #[error("commands {earlier} and {later} of region `{region}` conflict at {offset} unordered")]
    MissingBarrier {
        /// The region's label.
        region: Arc<str>,
        /// The place of the earlier command.
        earlier: usize,
        /// The place of the later command.
        later: usize,
        /// The first byte of the conflict.
        offset: u64,
    },
    /// Two submissions of a queue conflict without a memory barrier between.
    #[error("`{later}` conflicts at {offset} with unreached `{earlier}` and has no barrier")]
    MissingLeadingBarrier {
        /// The label of the earlier submission.
        earlier: Arc<str>,
        /// The label of the later submission.
        later: Arc<str>,
        /// The first byte of the conflict.
        offset: u64,
    },
    /// Submissions of two queues conflict without a wait between.
    #[error("`{later}` conflicts at {offset} with unreached `{earlier}` and does not wait for it")]
    MissingWait {
        /// The label of the earlier submission.
        earlier: Arc<str>,
        /// The label of the later submission.
        later: Arc<str>,
        /// The first byte of the conflict.
        offset: u64,
    },
    /// A wait on a point that the device has not accepted.
    #[error("a wait on point {value} of queue {queue}, which accepted {accepted}")]
    WaitNotAccepted {
        /// The queue.
        queue: u8,
        /// The point's value.
        value: u64,
        /// The highest value accepted.
        accepted: u64,
    },
    /// A region was submitted again before its point was reached.
    #[error("region `{region}` was submitted twice at once")]
    SubmittedTwice {
        /// The region's label.
        region: Arc<str>,
    },
    /// A region was dropped while accepted and unreached.
    #[error("region `{region}` was dropped before it was reached")]
    RegionDropped {
        /// The region's label.
        region: Arc<str>,
    },
    /// A buffer was dropped while an accepted, unreached region uses it.
    #[error("buffer `{buffer}` was dropped before `{region}` was reached")]
    BufferDropped {
        /// The buffer's label.
        buffer: Arc<str>,
        /// The label of the region.
        region: Arc<str>,
    },
    /// A buffer, kernel or region of another device.
    #[error("an object of another device")]
    ForeignObject,
    /// A buffer whose length is not a positive multiple of 4 within limits.
    #[error("a buffer of {bytes} bytes")]
    BufferLength {
        /// The length asked for.
        bytes: u64,
    },
    /// A span that is empty or leaves its buffer.
    #[error("a span of {bytes} bytes at {offset} in a buffer of {buffer_bytes}")]
    SpanOutside {
        /// The span's first byte.
        offset: u64,
        /// The span's length.
        bytes: u64,
        /// The buffer's length.
        buffer_bytes: u64,
    },
    /// A fill whose offset or length is not a multiple of 4.
    #[error("a fill of {bytes} bytes at {offset}")]
    UnalignedFill {
        /// The first byte.
        offset: u64,
        /// The length.
        bytes: u64,
    },
    /// A copy whose spans differ in length.
    #[error("a copy of {source_bytes} bytes onto {target_bytes}")]
    CopyLengths {
        /// The source's length.
        source_bytes: u64,
        /// The target's length.
        target_bytes: u64,
    },
    /// A copy whose spans overlap.
    #[error("a copy whose spans overlap at {offset}")]
    CopyOverlap {
        /// The first byte that both have.
        offset: u64,
    },
    /// A dispatch of zero or too many workgroups.
    #[error("a dispatch of {groups} workgroups along axis {axis}")]
    GroupCount {
        /// The axis, 0 to 2.
        axis: usize,
        /// The count.
        groups: u32,
    },
    /// The bindings of a dispatch are not those of its kernel.
    #[error("binding {binding} of group {group} is missing, twice there, or not the kernel's")]
    BindingMismatch {
        /// The descriptor set.
        group: u32,
        /// The binding's number.
        binding: u32,
    },
    /// A binding at an offset or of a length that the limits do not allow.
    #[error("binding {binding} of group {group} covers {bytes} bytes at {offset}")]
    BindingRange {
        /// The descriptor set.
        group: u32,
        /// The binding's number.
        binding: u32,
        /// The first byte bound.
        offset: u64,
        /// The length bound.
        bytes: u64,
    },
    /// A host kernel asked for a binding that it does not have, with an element
    /// type that does not fit, or for writing where it may only read.
    #[error("host kernel `{entry}` has no such use of binding `{binding}`")]
    HostBinding {
        /// The entry point's name.
        entry: Arc<str>,
        /// The binding's name.
        binding: Arc<str>,
    },
    /// A host kernel panicked. The device is lost, as a GPU that hangs is.
    #[error("host kernel `{entry}` panicked")]
    HostKernelPanicked {
        /// The entry point's name.
        entry: Arc<str>,
    },
}
