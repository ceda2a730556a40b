//! The immutable account of an attempt.
//!
//! A report is sealed once, after cleanup, and never changes. Its JSON form is
//! stable under semver: fields are only added, a reader ignores the ones that it
//! does not know, and an unknown word of an enumeration decodes as `unknown`.

mod parts;

pub use parts::{
    AdmissionFacts, AttemptTimestamps, CapacityDisposition, CleanupDisposition, Disposition,
    Failure, FailureFacts, HealthTransition, LaneTimes, MemoryFacts, Outcome, Priority,
};

use crate::identity::{AttemptId, GpuBackendCoreIdentity};
use serde::{Deserialize, Serialize};

/// The schema of the reports that this version writes.
pub const REPORT_SCHEMA_VERSION: u32 = 1;

/// The account of one attempt, from begin to the end of its cleanup.
///
/// Times are nanoseconds on the backend's clock; sizes are bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct QueryAttemptReport {
    /// [`REPORT_SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// The backend that the attempt belonged to.
    pub backend: GpuBackendCoreIdentity,
    /// The attempt.
    pub attempt: AttemptId,
    /// The caller's own name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<String>,
    /// The tenant that it was charged to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Its priority in the line.
    #[serde(default)]
    pub priority: Priority,
    /// How far it got.
    pub disposition: Disposition,
    /// How it ended.
    pub outcome: Outcome,
    /// The first failure, which no later one replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<Failure>,
    /// Failures while cleaning up; they do not change the outcome.
    #[serde(default)]
    pub cleanup_failures: u32,
    /// When a retry makes sense, in nanoseconds after the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ns: Option<u64>,
    /// What admission did with it.
    #[serde(default)]
    pub admission: AdmissionFacts,
    /// When each step happened.
    pub timestamps: AttemptTimestamps,
    /// What became of its device work.
    pub cleanup: CleanupDisposition,
    /// What became of its granted bytes.
    pub capacity: CapacityDisposition,
    /// A change of the device's health that the attempt caused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthTransition>,
    /// Bytes that it held on the device.
    #[serde(default)]
    pub memory: MemoryFacts,
    /// Device time per lane.
    #[serde(default)]
    pub lanes: LaneTimes,
    /// Reports that the backend had not handed to its sinks, for want of room,
    /// when this one was sealed.
    #[serde(default)]
    pub observation_losses: u64,
}

impl QueryAttemptReport {
    /// The stable JSON form.
    ///
    /// # Errors
    /// None that a report can cause; the encoder's own type is passed on.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }

    /// Reads the stable JSON form, of this or another version's writer.
    ///
    /// # Errors
    /// What is malformed, or lacks a field that every version writes.
    pub fn from_json(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// Nanoseconds between submission to the line and the grant, or the end for
    /// an attempt that got none; absent if it never was in the line.
    #[must_use]
    pub fn admission_wait_ns(&self) -> Option<u64> {
        let from = self.timestamps.queued_at_ns?;
        let until = self
            .timestamps
            .granted_at_ns
            .or(self.timestamps.ended_at_ns)?;
        Some(until.saturating_sub(from))
    }
}

#[cfg(all(test, not(runtime_loom)))]
mod tests;
