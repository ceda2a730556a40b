//! The parts of a report.

use crate::error::{Error, ErrorCode, ErrorKind};
use serde::{Deserialize, Serialize};

/// How urgent a request is.
///
/// The line is first come, first served: it carries the priority to reports and
/// metrics, and grants nothing out of turn for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Priority {
    /// Somebody waits for the answer.
    Interactive,
    /// Nobody waits.
    Background,
    /// Most requests; also what a word decodes to that this version does not know.
    #[default]
    #[serde(other)]
    Normal,
}

/// How far an attempt got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Disposition {
    /// It ended before its planning started.
    Unplanned,
    /// It was planned, and no part of it ran on a device.
    Fallback,
    /// It was granted a device and ended without success.
    Partial,
    /// It was granted a device and succeeded.
    Native,
    /// A word that this version does not know.
    #[serde(other)]
    Unknown,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// Its owner finished it, successfully.
    Succeeded,
    /// Its owner finished it with an error of its own.
    Failed,
    /// Admission refused it.
    Rejected,
    /// Its queue deadline passed.
    Expired,
    /// Its execution deadline passed.
    TimedOut,
    /// A canceller ended it.
    Cancelled,
    /// Its owner, future or handle was dropped, or its grant never taken.
    Dropped,
    /// Its owner panicked.
    Panicked,
    /// The backend closed under it.
    Closed,
    /// A word that this version does not know.
    #[serde(other)]
    Unknown,
}

/// What became of an attempt's device work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CleanupDisposition {
    /// It never had a device.
    NotNeeded,
    /// All of it is known to be over.
    Proven,
    /// Its end could not be proven in time.
    Quarantined,
    /// A word that this version does not know.
    #[serde(other)]
    Unknown,
}

/// What became of an attempt's granted bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CapacityDisposition {
    /// It never had any.
    NotGranted,
    /// They go back to the line right after the report is published.
    Returned,
    /// Some are held by a buffer that outlives the attempt; the rest goes back.
    Retained,
    /// They stay charged until a late proof.
    Quarantined,
    /// A word that this version does not know.
    #[serde(other)]
    Unknown,
}

/// A failure with its typed facts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// The group of errors.
    pub kind: ErrorKind,
    /// The stable name.
    pub code: ErrorCode,
    /// The facts that this code has.
    #[serde(default)]
    pub facts: FailureFacts,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Self {
            kind: error.kind(),
            code: error.code(),
            facts: error.facts(),
        }
    }
}

/// The facts of a failure; each code has its own few.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FailureFacts {
    /// Requests that waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
    /// How many might wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<u64>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ns: Option<u64>,
    /// How long it might have taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_ns: Option<u64>,
    /// Bytes asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_bytes: Option<u64>,
    /// The most that one device could give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_bytes: Option<u64>,
    /// Devices that were looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices: Option<u32>,
    /// The code that the caller or the runtime gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_code: Option<String>,
}

/// What admission did with an attempt.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AdmissionFacts {
    /// Bytes that the request asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_bytes: Option<u64>,
    /// Bytes that were granted; the request's, never fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted_bytes: Option<u64>,
    /// Its place in the order of submission to the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// The device of the grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<u32>,
    /// The device's generation at the grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_generation: Option<u64>,
}

/// When each step of an attempt happened, in nanoseconds on the backend's clock.
/// A step that did not happen is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AttemptTimestamps {
    /// The observation permit was taken.
    pub begun_at_ns: u64,
    /// Planning started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_at_ns: Option<u64>,
    /// The admission request consumed the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_at_ns: Option<u64>,
    /// The ticket entered the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_at_ns: Option<u64>,
    /// Its grant was placed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted_at_ns: Option<u64>,
    /// The caller took the handle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_at_ns: Option<u64>,
    /// The handle was first asked for device resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_work_at_ns: Option<u64>,
    /// The outcome was fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at_ns: Option<u64>,
    /// Its device work was known to be over, or given up on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleaned_at_ns: Option<u64>,
    /// The report was sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed_at_ns: Option<u64>,
}

/// A change of a device's health.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HealthTransition {
    /// The device.
    pub device: u32,
    /// The generation that closed.
    pub generation: u64,
}

/// Bytes that an attempt held on its device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MemoryFacts {
    /// The most at one time.
    #[serde(default)]
    pub peak_bytes: u64,
    /// What was still held when the report was sealed.
    #[serde(default)]
    pub held_bytes: u64,
}

/// Device time of an attempt, by lane, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LaneTimes {
    /// Time inside native stages and their waits for the compute lane.
    #[serde(default)]
    pub lease_wait_ns: u64,
    /// Leases of the compute lane that the attempt took.
    #[serde(default)]
    pub leases: u64,
}
