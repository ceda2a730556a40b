//! What can go wrong, as facts that a caller can match.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use runtime_sync::unmodelled::Arc;

use crate::device::{DeviceFault, MemoryPlacement, SelectionError};
use crate::kernel::KernelError;
use crate::lane::Lane;
use crate::memory::budget::OverBudget;
use crate::quarantine::{Cause, QuarantineId};

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. [`kind`](Self::kind) says what to do about it,
/// [`code`](Self::code) is stable text for logs and other processes.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something is in use; nothing was changed, and trying again may succeed.
    #[error("busy: {0}")]
    Busy(Busy),
    /// The device is lost, or what was named is in quarantine.
    #[error("device lost{}: {cause}", Id(*quarantine))]
    DeviceLost {
        /// The quarantine entry that keeps what was named, where there is one.
        quarantine: Option<QuarantineId>,
        /// The first cause.
        cause: Cause,
    },
    /// A wait ended by its limit; what was waited for goes on.
    #[error("not done after {waited:?}{}", Holder(lane_held_by))]
    TimedOut {
        /// How long was waited.
        waited: Duration,
        /// The stage that holds the compute lane, when one does.
        lane_held_by: Option<Arc<str>>,
    },
    /// The submission was cancelled before the driver accepted all of it.
    #[error("the submission was cancelled")]
    Cancelled,
    /// A submission that this one explicitly follows did not succeed.
    #[error("a submission that this one follows did not succeed")]
    DependencyFailed,
    /// The runtime is closed or closing.
    #[error("the runtime is closed")]
    Closed,
    /// The revocable view of the runtime that this belongs to has been revoked.
    #[error("the view of the runtime was revoked")]
    Revoked,
    /// The memory budget has no room for it.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    /// The device or its driver refused.
    #[error(transparent)]
    Device(#[from] DeviceFault),
    /// The kernel cannot be built.
    #[error(transparent)]
    Kernel(Arc<KernelError>),
    /// The call's arguments do not fit together.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// No device could be opened.
    #[error(transparent)]
    NoDevice(Box<SelectionError>),
    /// No quarantine entry has this id.
    #[error("nothing in quarantine has the id {0}")]
    NotQuarantined(QuarantineId),
    /// The operating system refused a thread.
    #[error("no thread could be started for {purpose}")]
    NoThread {
        /// What the thread was for.
        purpose: &'static str,
    },
    /// A fence or callback of the user failed.
    #[error("foreign code failed: {0}")]
    Foreign(Arc<dyn StdError + Send + Sync>),
}

impl Error {
    /// The error of a fence or callback.
    pub fn foreign(source: impl StdError + Send + Sync + 'static) -> Self {
        Self::Foreign(Arc::new(source))
    }

    /// The class of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Busy(_) => ErrorKind::Busy,
            Self::DeviceLost { .. } => ErrorKind::DeviceLost,
            Self::TimedOut { .. } => ErrorKind::TimedOut,
            Self::Cancelled => ErrorKind::Cancelled,
            Self::DependencyFailed => ErrorKind::DependencyFailed,
            Self::Closed => ErrorKind::Closed,
            Self::Revoked => ErrorKind::Revoked,
            Self::OverBudget(_) => ErrorKind::OverBudget,
            Self::Device(fault) => match fault {
                DeviceFault::Lost { .. } => ErrorKind::DeviceLost,
                DeviceFault::OutOfDeviceMemory { .. }
                | DeviceFault::OutOfHostMemory { .. }
                | DeviceFault::TooManyAllocations { .. } => ErrorKind::OutOfMemory,
                DeviceFault::NoSuchMemory { .. } => ErrorKind::Unsupported,
                DeviceFault::KernelRefused { .. } | DeviceFault::NoHostKernel { .. } => {
                    ErrorKind::Kernel
                }
                _ => ErrorKind::Driver,
            },
            Self::Kernel(_) => ErrorKind::Kernel,
            Self::Invalid(_) | Self::NotQuarantined(_) => ErrorKind::Invalid,
            Self::NoDevice(_) => ErrorKind::NoDevice,
            Self::NoThread { .. } => ErrorKind::OutOfMemory,
            Self::Foreign(_) => ErrorKind::Foreign,
        }
    }

    /// A stable code: lower case, words joined by underscores.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Busy(Busy::Capacity { .. }) => "busy_capacity",
            Self::Busy(Busy::RunSlots { .. }) => "busy_run_slots",
            Self::Busy(Busy::HostGuard) => "busy_host_guard",
            Self::Busy(Busy::Reentry) => "busy_reentry",
            Self::Busy(Busy::Lane) => "busy_lane",
            Self::DeviceLost { .. } => "device_lost",
            Self::TimedOut { .. } => "timed_out",
            Self::Cancelled => "cancelled",
            Self::DependencyFailed => "dependency_failed",
            Self::Closed => "runtime_closed",
            Self::Revoked => "revoked",
            Self::OverBudget(_) => "over_budget",
            Self::Device(_) => "device_fault",
            Self::Kernel(_) => "kernel_refused",
            Self::Invalid(_) => "invalid",
            Self::NoDevice(_) => "no_device",
            Self::NotQuarantined(_) => "not_quarantined",
            Self::NoThread { .. } => "no_thread",
            Self::Foreign(_) => "foreign",
        }
    }
}

impl From<KernelError> for Error {
    fn from(error: KernelError) -> Self {
        Self::Kernel(Arc::new(error))
    }
}

impl From<SelectionError> for Error {
    fn from(error: SelectionError) -> Self {
        Self::NoDevice(Box::new(error))
    }
}

/// The class of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The caller's mistake; trying again cannot help.
    Invalid,
    /// In use now; trying again may help.
    Busy,
    /// A wait's limit passed.
    TimedOut,
    /// Cancelled on request.
    Cancelled,
    /// Something it follows did not succeed.
    DependencyFailed,
    /// The device, or what was named, is lost for good.
    DeviceLost,
    /// Device or host have no memory left.
    OutOfMemory,
    /// The memory budget has no room.
    OverBudget,
    /// The runtime is closed.
    Closed,
    /// The view of the runtime was revoked.
    Revoked,
    /// The device cannot do this at all.
    Unsupported,
    /// No device could be opened.
    NoDevice,
    /// The kernel cannot be built.
    Kernel,
    /// The driver answered an error of another sort.
    Driver,
    /// A fence or callback of the user failed.
    Foreign,
}

/// What is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Busy {
    /// Every place of the bounded line is taken, or others wait for one.
    #[error("all {limit} places are taken")]
    Capacity {
        /// The runtime's `max_submissions`.
        limit: u32,
    },
    /// Every run slot of the prepared graph is in flight or still held.
    #[error("all {limit} run slots of the graph are in use")]
    RunSlots {
        /// The graph's number of run slots.
        limit: u32,
    },
    /// A host guard covers bytes that the submission would write.
    #[error("a host guard covers the bytes")]
    HostGuard,
    /// The calling thread is inside a stage of this runtime.
    #[error("the calling thread is inside a stage of this runtime")]
    Reentry,
    /// The compute lane is not free now.
    #[error("the compute lane is not free")]
    Lane,
}

/// Arguments that do not fit together. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// An option is outside its range.
    #[error("option {option} is {value}, allowed are {least} to {most}")]
    Option {
        /// Its name.
        option: &'static str,
        /// What was given.
        value: u64,
        /// The least allowed value.
        least: u64,
        /// The greatest allowed value.
        most: u64,
    },
    /// A length of zero.
    #[error("{what} has no bytes")]
    Empty {
        /// What is empty.
        what: &'static str,
    },
    /// A range reaches past its end.
    #[error("bytes {offset} to {offset}+{bytes} are outside of {within_bytes}")]
    OutOfRange {
        /// The first byte asked for.
        offset: u64,
        /// The length asked for.
        bytes: u64,
        /// The length there is.
        within_bytes: u64,
    },
    /// An offset or length is not a multiple of what is needed.
    #[error("{what} is {value}, which is no multiple of {align}")]
    Unaligned {
        /// What is not aligned.
        what: &'static str,
        /// Its value in bytes.
        value: u64,
        /// What it must be a multiple of, in bytes.
        align: u64,
    },
    /// More than the device can do.
    #[error("{what} is {value}, the device's limit is {limit}")]
    OverLimit {
        /// What is too large.
        what: &'static str,
        /// What was asked for.
        value: u64,
        /// The device's limit.
        limit: u64,
    },
    /// Two lengths that must be equal are not.
    #[error("{left_bytes} bytes do not fit {right_bytes} bytes")]
    LengthMismatch {
        /// One length.
        left_bytes: u64,
        /// The other.
        right_bytes: u64,
    },
    /// Source and target of one operation overlap.
    #[error("source and target overlap")]
    Overlap,
    /// Something belongs to another runtime.
    #[error("the {what} belongs to another runtime")]
    ForeignRuntime {
        /// What was handed in.
        what: &'static str,
    },
    /// An input or output belongs to another graph.
    #[error("the {what} belongs to another graph")]
    ForeignGraph {
        /// What was handed in.
        what: &'static str,
    },
    /// A kernel has no binding of this name.
    #[error("the kernel has no binding `{name}`")]
    NoSuchBinding {
        /// The name that was given.
        name: Arc<str>,
    },
    /// A kernel's binding has no view.
    #[error("the kernel's binding `{name}` (group {group}, binding {binding}) has no view")]
    Unbound {
        /// Its name.
        name: Arc<str>,
        /// Its group.
        group: u32,
        /// Its number.
        binding: u32,
    },
    /// A view is shorter than its binding needs.
    #[error("binding `{name}` needs {least_bytes} bytes, the view has {bytes}")]
    ShortBinding {
        /// The binding's name.
        name: Arc<str>,
        /// What the kernel needs.
        least_bytes: u64,
        /// What the view has.
        bytes: u64,
    },
    /// Two bindings of a dispatch overlap and at least one is written.
    #[error("bindings `{first}` and `{second}` overlap and one is written")]
    Aliasing {
        /// One binding.
        first: Arc<str>,
        /// The other.
        second: Arc<str>,
    },
    /// A dispatch has zero groups on an axis, or none was stated.
    #[error("the dispatch has no groups on axis {axis}")]
    NoGroups {
        /// 0, 1 or 2.
        axis: u8,
    },
    /// An input of a run was given no bytes.
    #[error("input {index} of the run has no bytes")]
    MissingInput {
        /// Its position among the graph's inputs.
        index: u32,
    },
    /// A run has no parameter of this name and length.
    #[error("the graph has no parameter `{name}` of {bytes} bytes")]
    NoSuchParameter {
        /// The name that was given.
        name: Arc<str>,
        /// The length that was given.
        bytes: u64,
    },
    /// The graph has no operations.
    #[error("the graph has no operations")]
    EmptyGraph,
    /// An output was asked for before its run succeeded.
    #[error("the run has not succeeded, its outputs cannot be read")]
    NoOutput,
    /// A type's size does not divide the bytes.
    #[error("{bytes} bytes are no whole number of elements of {element_bytes} bytes")]
    Elements {
        /// The bytes there are.
        bytes: u64,
        /// The size of one element.
        element_bytes: u64,
    },
    /// An operation cannot run on this lane.
    #[error("{operation} cannot run on the {lane} lane")]
    WrongLane {
        /// The operation.
        operation: &'static str,
        /// The lane.
        lane: Lane,
    },
    /// The placement's memory is not for this use.
    #[error("{placement} memory cannot be used as {usage}")]
    WrongPlacement {
        /// The buffer's placement.
        placement: MemoryPlacement,
        /// The use.
        usage: &'static str,
    },
}

struct Id(Option<QuarantineId>);

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(id) => write!(f, " (quarantine {id})"),
            None => Ok(()),
        }
    }
}

struct Holder<'a>(&'a Option<Arc<str>>);

impl fmt::Display for Holder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(label) => write!(f, ", the compute lane is held by stage `{label}`"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
#[cfg(not(runtime_loom))]
mod tests;
