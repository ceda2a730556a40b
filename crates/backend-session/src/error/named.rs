//! What errors speak of.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What ended an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EndedBy {
    /// Its owner finished it, successfully.
    Success,
    /// Its owner finished it with an error of its own.
    ClientError,
    /// Admission refused it.
    Rejection,
    /// A canceller.
    Cancel,
    /// Its queue deadline.
    QueueDeadline,
    /// Its execution deadline.
    ExecutionDeadline,
    /// The backend's claim limit.
    ClaimLimit,
    /// The drop of its owner, future or handle.
    Drop,
    /// A panic of its owner.
    Panic,
    /// The backend's close.
    Close,
    /// A reason that this version does not know.
    #[serde(other)]
    Unknown,
}

impl fmt::Display for EndedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Success => "success",
            Self::ClientError => "client error",
            Self::Rejection => "rejection",
            Self::Cancel => "cancel",
            Self::QueueDeadline => "queue deadline",
            Self::ExecutionDeadline => "execution deadline",
            Self::ClaimLimit => "claim limit",
            Self::Drop => "drop",
            Self::Panic => "panic",
            Self::Close => "close",
            Self::Unknown => "unknown",
        })
    }
}

/// A value that [`Error::OutOfRange`](crate::Error::OutOfRange) speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// Bytes of an admission request or of a resident reservation.
    RequestedBytes,
    /// Capacity of a device.
    CapacityBytes,
    /// Ordinal of a device.
    DeviceOrdinal,
    /// Number of devices.
    Devices,
    /// Length of a tenant's name.
    TenantLength,
    /// Length of a correlation text.
    CorrelationLength,
    /// Bound of open attempts.
    OpenAttempts,
    /// Bound of queued requests.
    QueuedRequests,
    /// Bound of running attempts of one device.
    RunningAttempts,
    /// Bound of abandoned reports.
    AbandonedReports,
    /// Bound of reports that wait for the sinks.
    SinkReports,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RequestedBytes => "the number of requested bytes",
            Self::CapacityBytes => "a device's capacity in bytes",
            Self::DeviceOrdinal => "a device's ordinal",
            Self::Devices => "the number of devices",
            Self::TenantLength => "the length of the tenant's name",
            Self::CorrelationLength => "the length of the correlation",
            Self::OpenAttempts => "the bound of open attempts",
            Self::QueuedRequests => "the bound of queued requests",
            Self::RunningAttempts => "the bound of running attempts",
            Self::AbandonedReports => "the bound of abandoned reports",
            Self::SinkReports => "the bound of reports that wait for sinks",
        })
    }
}

/// A thread of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThreadRole {
    /// Waits for the scopes to empty and takes the devices down.
    Close,
    /// Fires deadlines.
    Timer,
    /// Runs sinks and drops activity leases.
    Delivery,
    /// Watches device work that goes on after its attempt.
    Proof,
}

impl fmt::Display for ThreadRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Close => "close",
            Self::Timer => "timer",
            Self::Delivery => "delivery",
            Self::Proof => "proof",
        })
    }
}
