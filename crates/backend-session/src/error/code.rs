//! The stable names of errors.

use serde::{Deserialize, Serialize};

/// A group of errors that callers treat alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// Ended because somebody wanted it to.
    Cancelled,
    /// Too much at once; the same request may succeed later.
    ServiceOverloaded,
    /// Ran out of its own time.
    DeadlineExceeded,
    /// Larger than anything that can be given.
    NeverFits,
    /// No device can do it.
    Capability,
    /// The devices that could do it are out of service.
    Unhealthy,
    /// The attempt's one claim is taken.
    AlreadyClaimed,
    /// Something else ended the attempt first.
    AlreadyEnded,
    /// The attempt is over and gives nothing any more.
    AttemptEnded,
    /// A value or combination that is wrong whatever the load.
    InvalidRequest,
    /// Does not fit now.
    CapacityRefused,
    /// A wait for close ran out of time.
    CloseTimeout,
    /// A wait that would wait for itself.
    WaitRefused,
    /// The backend could not be built.
    Startup,
    /// The attempt's work panicked.
    Panicked,
    /// The attempt's own work failed.
    Client,
    /// The device runtime failed.
    Runtime,
    /// The device is lost.
    DeviceLost,
    /// A kind that this version does not know.
    #[serde(other)]
    Unknown,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $kind:ident;)*) => {
        /// The stable name of one error; its text is under semver.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[$doc])* #[serde(rename = $text)] $name,)*
            /// A code that this version does not know.
            #[serde(other, rename = "unknown")]
            Unknown,
        }

        impl ErrorCode {
            /// Every code that this version gives.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$name,)*];

            /// The code as text.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                    Self::Unknown => "unknown",
                }
            }

            /// The kind that the code belongs to.
            #[must_use]
            pub const fn kind(self) -> ErrorKind {
                match self {
                    $(Self::$name => ErrorKind::$kind,)*
                    Self::Unknown => ErrorKind::Unknown,
                }
            }
        }
    };
}

codes! {
    /// Close began first.
    BackendClosing = "backend_closing", Cancelled;
    /// The admission queue closed.
    AdmissionClosed = "admission_closed", Cancelled;
    /// The caller cancelled.
    CallerCancelled = "caller_cancelled", Cancelled;
    /// Dropped before it was finished.
    AttemptDropped = "attempt_dropped", Cancelled;
    /// A grant that nobody took.
    GrantUnclaimed = "grant_unclaimed", Cancelled;
    /// The attempt's work panicked.
    AttemptPanicked = "attempt_panicked", Panicked;
    /// The admission queue is full.
    AdmissionQueueFull = "admission_queue_full", ServiceOverloaded;
    /// The wait in the queue took too long.
    QueueWaitElapsed = "queue_wait_elapsed", ServiceOverloaded;
    /// Too many attempts are open.
    TooManyAttempts = "too_many_attempts", ServiceOverloaded;
    /// The attempt ran too long.
    ExecutionDeadlineElapsed = "execution_deadline_elapsed", DeadlineExceeded;
    /// Larger than any device can give.
    NeverFits = "never_fits", NeverFits;
    /// No device matches.
    NoCapableDevice = "no_capable_device", Capability;
    /// A ledger-only slot has no runtime.
    LedgerOnly = "ledger_only", Capability;
    /// Every matching device is out of service.
    NoHealthyDevice = "no_healthy_device", Unhealthy;
    /// Claimed before.
    AlreadyClaimed = "already_claimed", AlreadyClaimed;
    /// Ended before.
    AlreadyEnded = "already_ended", AlreadyEnded;
    /// The attempt is over.
    AttemptEnded = "attempt_ended", AttemptEnded;
    /// Another backend's attempt.
    ForeignAttempt = "foreign_attempt", InvalidRequest;
    /// A value out of range.
    OutOfRange = "out_of_range", InvalidRequest;
    /// No such device.
    UnknownDevice = "unknown_device", InvalidRequest;
    /// Nothing to recover.
    DeviceInService = "device_in_service", InvalidRequest;
    /// Two devices of one ordinal.
    DuplicateDevice = "duplicate_device", InvalidRequest;
    /// Resident bytes that do not fit.
    ReservationRefused = "reservation_refused", CapacityRefused;
    /// Close took longer than the caller waits.
    CloseTimeout = "close_timeout", CloseTimeout;
    /// A wait inside a callback.
    WaitInsideCallback = "wait_inside_callback", WaitRefused;
    /// No thread to run on.
    ThreadRefused = "thread_refused", Startup;
    /// No signals to listen to.
    SignalRefused = "signal_refused", Startup;
    /// The caller's work failed.
    ClientFailed = "client_failed", Client;
    /// The runtime refused or failed.
    RuntimeFailed = "runtime_failed", Runtime;
    /// The device is lost.
    DeviceLost = "device_lost", DeviceLost;
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq<str> for ErrorCode {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for ErrorCode {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}
