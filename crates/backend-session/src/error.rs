//! What can go wrong, with typed facts.
//!
//! Every error has a [kind](Error::kind) to decide by, a [code](Error::code)
//! that is stable under semver and safe to log or to send, and where it can be
//! computed a [time after which a retry makes sense](Error::retry_after).

mod code;
mod named;

pub use code::{ErrorCode, ErrorKind};
pub use named::{EndedBy, Field, ThreadRole};

use crate::identity::AttemptId;
use crate::report::FailureFacts;
use std::time::Duration;

/// The result of this crate's calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call of this crate was refused, or an attempt ended without success.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The backend's gate is closing; nothing begins any more.
    #[error("the backend is closing")]
    BackendClosing,
    /// The admission queue closed while the request was in it.
    #[error("the admission queue closed under the request")]
    AdmissionClosed,
    /// The caller cancelled the attempt.
    #[error("the caller cancelled the attempt")]
    CallerCancelled,
    /// The owner, the handle or the admit future was dropped before the end.
    #[error("the attempt was dropped before it was finished")]
    AttemptDropped,
    /// The attempt's work panicked.
    #[error("the attempt's work panicked")]
    AttemptPanicked,
    /// Nobody took the handle of a grant within the backend's claim limit.
    #[error("nobody took the grant within {limit:?}")]
    GrantUnclaimed {
        /// The backend's claim limit.
        limit: Duration,
    },
    /// The admission queue is full.
    #[error("{depth} requests are queued, the bound is {bound}")]
    AdmissionQueueFull {
        /// Requests that wait.
        depth: u64,
        /// How many may wait.
        bound: u64,
        /// When a retry makes sense, if the backend has measured enough.
        retry_after: Option<Duration>,
    },
    /// The request waited as long as it was allowed to.
    #[error("no grant within {limit:?}")]
    QueueWaitElapsed {
        /// How long it waited.
        waited: Duration,
        /// How long it was allowed to wait.
        limit: Duration,
        /// When a retry makes sense, if the backend has measured enough.
        retry_after: Option<Duration>,
    },
    /// As many attempts are open as the backend was built for.
    #[error("{open} attempts are open, the bound is {bound}")]
    TooManyAttempts {
        /// Attempts that are open.
        open: u32,
        /// How many may be open.
        bound: u32,
    },
    /// The attempt ran longer than its execution deadline.
    #[error("the attempt ran longer than {limit:?}")]
    ExecutionDeadlineElapsed {
        /// Its limit, counted from the grant.
        limit: Duration,
    },
    /// More bytes than any allowed device can ever give.
    #[error("{requested_bytes} bytes never fit: at most {largest_bytes} can be given")]
    NeverFits {
        /// Bytes asked for.
        requested_bytes: u64,
        /// The most that one allowed device can give while its residents stay.
        largest_bytes: u64,
    },
    /// No device of the backend matches the request's filter.
    #[error("none of {devices} devices matches the request")]
    NoCapableDevice {
        /// Devices of the backend.
        devices: u32,
    },
    /// Every device that could take the request is out of service.
    #[error("none of {capable} capable devices is in service")]
    NoHealthyDevice {
        /// Devices that match the filter and are large enough.
        capable: u32,
    },
    /// The attempt's one claim is taken.
    #[error("attempt {attempt} was claimed before")]
    AlreadyClaimed {
        /// The attempt.
        attempt: AttemptId,
    },
    /// Something else ended the attempt first.
    #[error("attempt {attempt} had ended before: {which}")]
    AlreadyEnded {
        /// The attempt.
        attempt: AttemptId,
        /// What ended it.
        which: EndedBy,
    },
    /// The attempt has ended, so its handle gives nothing any more.
    #[error("attempt {attempt} has ended")]
    AttemptEnded {
        /// The attempt.
        attempt: AttemptId,
    },
    /// The claim belongs to another backend.
    #[error("attempt {attempt} belongs to another backend")]
    ForeignAttempt {
        /// The attempt.
        attempt: AttemptId,
    },
    /// A request, or an option of the builder, is out of range.
    #[error("{field} is {value}, which is not within {least} to {most}")]
    OutOfRange {
        /// What was out of range.
        field: Field,
        /// Its value.
        value: u64,
        /// The smallest allowed value.
        least: u64,
        /// The largest allowed value.
        most: u64,
    },
    /// The backend has no device of that ordinal.
    #[error("no device has the ordinal {ordinal}")]
    UnknownDevice {
        /// The ordinal asked for.
        ordinal: u32,
    },
    /// Two devices were given the same ordinal.
    #[error("two devices have the ordinal {ordinal}")]
    DuplicateDevice {
        /// The ordinal.
        ordinal: u32,
    },
    /// A resident reservation does not fit beside what is granted.
    #[error("{requested_bytes} resident bytes do not fit: {free_bytes} are free")]
    ReservationRefused {
        /// Bytes asked for.
        requested_bytes: u64,
        /// Bytes that neither grants, residents nor kept memory hold.
        free_bytes: u64,
    },
    /// The device is a ledger-only slot: it has no runtime to give.
    #[error("device {ordinal} is a ledger without a runtime")]
    LedgerOnly {
        /// The device.
        ordinal: u32,
    },
    /// The device is in service, so there is nothing to recover.
    #[error("device {ordinal} is in service")]
    DeviceInService {
        /// The device.
        ordinal: u32,
    },
    /// A caller's wait for close ended before close did.
    #[error(
        "close is not complete: GPU scope open {gpu_open}, observation open {observation_open}"
    )]
    CloseTimeout {
        /// GPU permits are out, or the devices' teardown still runs.
        gpu_open: bool,
        /// Observation permits are out.
        observation_open: bool,
    },
    /// Waiting for close inside a callback, waker or destructor that this crate
    /// called would wait for itself. Signalling close is allowed there.
    #[error("waiting for close inside a callback of the backend")]
    WaitInsideCallback,
    /// The operating system refused one of the backend's threads.
    #[error("the operating system refused the {role} thread: {cause:?}")]
    ThreadRefused {
        /// Which thread.
        role: ThreadRole,
        /// The system's reason.
        cause: std::io::ErrorKind,
    },
    /// The operating system did not let the process listen for its end.
    #[error("the operating system refused to deliver signals: {cause:?}")]
    SignalRefused {
        /// The system's reason.
        cause: std::io::ErrorKind,
    },
    /// The caller's own work failed; the caller says how.
    #[error("the attempt's work failed: {code}")]
    Client {
        /// The caller's code.
        code: String,
    },
    /// The device runtime under the grant refused or failed.
    #[error("the device runtime failed: {code}")]
    Runtime {
        /// The runtime's code.
        code: &'static str,
        /// It is lost for good.
        device_lost: bool,
    },
}

impl Error {
    /// What to decide by.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.code().kind()
    }

    /// When a retry makes sense, from the backlog and the measured rate of
    /// returns; absent when too little was measured, and for errors that waiting
    /// does not cure.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::AdmissionQueueFull { retry_after, .. }
            | Self::QueueWaitElapsed { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The stable name of what went wrong.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::BackendClosing => ErrorCode::BackendClosing,
            Self::AdmissionClosed => ErrorCode::AdmissionClosed,
            Self::CallerCancelled => ErrorCode::CallerCancelled,
            Self::AttemptDropped => ErrorCode::AttemptDropped,
            Self::AttemptPanicked => ErrorCode::AttemptPanicked,
            Self::GrantUnclaimed { .. } => ErrorCode::GrantUnclaimed,
            Self::AdmissionQueueFull { .. } => ErrorCode::AdmissionQueueFull,
            Self::QueueWaitElapsed { .. } => ErrorCode::QueueWaitElapsed,
            Self::TooManyAttempts { .. } => ErrorCode::TooManyAttempts,
            Self::ExecutionDeadlineElapsed { .. } => ErrorCode::ExecutionDeadlineElapsed,
            Self::NeverFits { .. } => ErrorCode::NeverFits,
            Self::NoCapableDevice { .. } => ErrorCode::NoCapableDevice,
            Self::NoHealthyDevice { .. } => ErrorCode::NoHealthyDevice,
            Self::AlreadyClaimed { .. } => ErrorCode::AlreadyClaimed,
            Self::AlreadyEnded { .. } => ErrorCode::AlreadyEnded,
            Self::AttemptEnded { .. } => ErrorCode::AttemptEnded,
            Self::ForeignAttempt { .. } => ErrorCode::ForeignAttempt,
            Self::OutOfRange { .. } => ErrorCode::OutOfRange,
            Self::UnknownDevice { .. } => ErrorCode::UnknownDevice,
            Self::DuplicateDevice { .. } => ErrorCode::DuplicateDevice,
            Self::ReservationRefused { .. } => ErrorCode::ReservationRefused,
            Self::LedgerOnly { .. } => ErrorCode::LedgerOnly,
            Self::DeviceInService { .. } => ErrorCode::DeviceInService,
            Self::CloseTimeout { .. } => ErrorCode::CloseTimeout,
            Self::WaitInsideCallback => ErrorCode::WaitInsideCallback,
            Self::ThreadRefused { .. } => ErrorCode::ThreadRefused,
            Self::SignalRefused { .. } => ErrorCode::SignalRefused,
            Self::Client { .. } => ErrorCode::ClientFailed,
            Self::Runtime {
                device_lost: true, ..
            } => ErrorCode::DeviceLost,
            Self::Runtime { .. } => ErrorCode::RuntimeFailed,
        }
    }

    /// The facts that a report keeps of this error.
    pub(crate) fn facts(&self) -> FailureFacts {
        let mut facts = FailureFacts::default();
        match self {
            Self::AdmissionQueueFull { depth, bound, .. } => {
                facts.depth = Some(*depth);
                facts.bound = Some(*bound);
            }
            Self::QueueWaitElapsed { waited, limit, .. } => {
                facts.waited_ns = Some(crate::clock::whole_ns(*waited));
                facts.limit_ns = Some(crate::clock::whole_ns(*limit));
            }
            Self::ExecutionDeadlineElapsed { limit } | Self::GrantUnclaimed { limit } => {
                facts.limit_ns = Some(crate::clock::whole_ns(*limit));
            }
            Self::NeverFits {
                requested_bytes,
                largest_bytes,
            } => {
                facts.requested_bytes = Some(*requested_bytes);
                facts.largest_bytes = Some(*largest_bytes);
            }
            Self::NoCapableDevice { devices } => facts.devices = Some(*devices),
            Self::NoHealthyDevice { capable } => facts.devices = Some(*capable),
            Self::Client { code } => facts.source_code = Some(code.clone()),
            Self::Runtime { code, .. } => facts.source_code = Some((*code).to_owned()),
            _ => {}
        }
        facts
    }
}

impl From<runtime_core::Error> for Error {
    fn from(error: runtime_core::Error) -> Self {
        Self::Runtime {
            code: error.code(),
            device_lost: error.kind() == runtime_core::ErrorKind::DeviceLost,
        }
    }
}

#[cfg(all(test, not(runtime_loom)))]
mod tests;
