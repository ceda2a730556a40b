//! What a caller asks admission for.

use super::ledger::MOST_CAPACITY_BYTES;
use crate::attempt::{BeginAttemptRequest, Claim};
use crate::error::{Error, Field, Result};
use crate::report::Priority;
use std::fmt;
use std::time::Duration;

/// The longest name of a tenant, and the longest correlation, in bytes.
pub(crate) const MOST_NAME_BYTES: usize = 256;

/// Which devices a request may be granted on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum DeviceFilter {
    /// Any device.
    #[default]
    Any,
    /// The devices with one of these ordinals; ordinals that the backend does
    /// not have are ignored.
    Ordinals(Vec<u32>),
    /// Devices with a runtime of this workspace.
    WithRuntime,
    /// Ledger-only devices.
    LedgerOnly,
}

/// A request for a grant. It borrows nothing.
#[must_use = "a request does nothing until it is admitted"]
pub struct QueryAdmissionRequest {
    pub(crate) bytes: u64,
    pub(crate) claim: Option<Claim>,
    pub(crate) begin: BeginAttemptRequest,
    pub(crate) devices: DeviceFilter,
    pub(crate) priority: Priority,
    pub(crate) queue_deadline: Option<Duration>,
    pub(crate) execution_deadline: Option<Duration>,
    pub(crate) activity: Option<Box<dyn Send>>,
}

impl QueryAdmissionRequest {
    /// Asks for `bytes`, at least 1. The size is never clamped: the grant has
    /// exactly so many, or there is none.
    pub fn new(bytes: u64) -> Self {
        Self {
            bytes,
            claim: None,
            begin: BeginAttemptRequest::new(),
            devices: DeviceFilter::Any,
            priority: Priority::Normal,
            queue_deadline: None,
            execution_deadline: None,
            activity: None,
        }
    }

    /// Asks on behalf of an attempt that has begun.
    ///
    /// A request without a claim begins an attempt of its own, whose owner is
    /// kept in the handle.
    pub fn claim(mut self, claim: Claim) -> Self {
        self.claim = Some(claim);
        self
    }

    /// Restricts the devices.
    pub fn devices(mut self, devices: DeviceFilter) -> Self {
        self.devices = devices;
        self
    }

    /// Says how urgent it is; carried to report and metrics.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Names the tenant, with at most 256 bytes; it replaces the one that the
    /// attempt began with.
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.begin.tenant = Some(tenant.into());
        self
    }

    /// Names the attempt that this request begins itself, with at most 256
    /// bytes. Ignored for an attempt that began before.
    pub fn correlation(mut self, correlation: impl Into<String>) -> Self {
        self.begin.correlation = Some(correlation.into());
        self
    }

    /// Waits in the line for at most `limit`; zero: not at all. Without it the
    /// backend's own limit holds, which also bounds this one.
    pub fn queue_deadline(mut self, limit: Duration) -> Self {
        self.queue_deadline = Some(limit);
        self
    }

    /// Runs for at most `limit`, counted from the grant. The attempt then ends;
    /// work that the device has accepted goes on until it is proven to be over.
    pub fn execution_deadline(mut self, limit: Duration) -> Self {
        self.execution_deadline = Some(limit);
        self
    }

    /// Keeps `activity` until everything else about the attempt is over. It is
    /// dropped on the backend's delivery thread, after the attempt's permits,
    /// and may signal close.
    pub fn activity(mut self, activity: impl Send + 'static) -> Self {
        self.activity = Some(Box::new(activity));
        self
    }

    /// # Errors
    /// `OutOfRange` for a size or a name that is none.
    pub(crate) fn check(&self) -> Result<()> {
        check_bytes(self.bytes)?;
        self.begin.check()
    }
}

impl fmt::Debug for QueryAdmissionRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryAdmissionRequest")
            .field("bytes", &self.bytes)
            .field("claim", &self.claim)
            .field("begin", &self.begin)
            .field("devices", &self.devices)
            .field("priority", &self.priority)
            .field("queue_deadline", &self.queue_deadline)
            .field("execution_deadline", &self.execution_deadline)
            .field("has_activity", &self.activity.is_some())
            .finish()
    }
}

/// # Errors
/// `OutOfRange` for zero bytes, or more than a ledger counts.
pub(crate) fn check_bytes(bytes: u64) -> Result<()> {
    check_range(Field::RequestedBytes, bytes, 1, MOST_CAPACITY_BYTES)
}

/// # Errors
/// `OutOfRange` for a value below `least` or above `most`.
pub(crate) fn check_range(field: Field, value: u64, least: u64, most: u64) -> Result<()> {
    if value < least || value > most {
        return Err(Error::OutOfRange {
            field,
            value,
            least,
            most,
        });
    }
    Ok(())
}
