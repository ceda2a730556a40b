//! The snapshot: facts of one instant, and what was recorded up to it.
//!
//! JSON: a field that a reader does not know is ignored; a field that is
//! missing takes its default, except the schema and what makes up one row (its
//! labels and its number); a label value that a reader does not know reads as
//! `Other`. [`SCHEMA`] rises only when a field changes its meaning; a snapshot
//! of a higher schema does not decode.

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};

use crate::facts::SessionFacts;
use crate::histogram::{BUCKET_BOUNDS_NS, HistogramSnapshot};
use crate::label::{Band, DeviceOrdinal, Lane, Outcome};

/// The schema that this version of the crate writes, and the highest it reads.
pub const SCHEMA: u32 = 1;

/// One coherent picture of a backend.
///
/// [`facts`](Self::facts) describe one instant, numbered by their generation.
/// Counters and histograms hold every event recorded before that instant and
/// may hold some that came after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BackendMetricsSnapshot {
    /// The meaning of the fields; see [`SCHEMA`].
    #[serde(deserialize_with = "known_schema")]
    pub schema: u32,
    /// What the backend copied in one section.
    #[serde(default)]
    pub facts: SessionFacts,
    /// How many priority bands the backend has.
    #[serde(default)]
    pub bands: u8,
    /// Upper bounds, inclusive, of the buckets of every histogram.
    #[serde(default = "bounds_of_schema_1")]
    pub bucket_bounds_ns: Vec<u64>,
    /// Requests that ended, by outcome and band; no rows of zero.
    #[serde(default)]
    pub requests: Vec<RequestCount>,
    /// Waits for admission, granted or not; no empty rows.
    #[serde(default)]
    pub admission_wait: Vec<AdmissionWait>,
    /// Time from grant to end; no empty rows.
    #[serde(default)]
    pub execution: Vec<ExecutionTime>,
    /// Waits for a lane; no empty rows.
    #[serde(default)]
    pub lane_wait: Vec<LaneWait>,
    /// For how long compute leases were held.
    #[serde(default)]
    pub compute_lease_hold: HistogramSnapshot,
    /// Time from the close signal to its report.
    #[serde(default)]
    pub close: HistogramSnapshot,
    /// Events dropped because their device or band was not among those the
    /// recorder was built with.
    #[serde(default)]
    pub unlabelled_events: u64,
}

impl BackendMetricsSnapshot {
    /// The generation of the facts; rises from snapshot to snapshot.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.facts.generation
    }

    /// How many requests of `band` ended with `outcome`.
    #[must_use]
    pub fn requests_total(&self, outcome: Outcome, band: Band) -> u64 {
        self.requests
            .iter()
            .filter(|row| row.outcome == outcome && row.band == band)
            .map(|row| row.count)
            .sum()
    }

    /// Every histogram, whatever its labels.
    pub(crate) fn histograms(&self) -> impl Iterator<Item = &HistogramSnapshot> {
        let waits = self.admission_wait.iter().map(|row| &row.waits);
        let durations = self.execution.iter().map(|row| &row.durations);
        let lane_waits = self.lane_wait.iter().map(|row| &row.waits);
        waits
            .chain(durations)
            .chain(lane_waits)
            .chain([&self.compute_lease_hold, &self.close])
    }
}

/// How many requests of one band ended with one outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RequestCount {
    /// How they ended; never [`Outcome::Granted`].
    pub outcome: Outcome,
    /// Their priority band.
    pub band: Band,
    /// How many.
    pub count: u64,
}

/// For how long the requests of one band waited until one outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AdmissionWait {
    /// What ended the waits: a grant or a refusal.
    pub outcome: Outcome,
    /// The priority band.
    pub band: Band,
    /// The waits.
    pub waits: HistogramSnapshot,
}

/// For how long attempts ran on one device until one outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExecutionTime {
    /// The device of the grants.
    pub device: DeviceOrdinal,
    /// How the attempts ended.
    pub outcome: Outcome,
    /// The times from grant to end.
    pub durations: HistogramSnapshot,
}

/// For how long work waited for one lane of one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LaneWait {
    /// The device.
    pub device: DeviceOrdinal,
    /// The lane.
    pub lane: Lane,
    /// The waits.
    pub waits: HistogramSnapshot,
}

fn known_schema<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let schema = u32::deserialize(deserializer)?;
    if schema > SCHEMA {
        return Err(D::Error::custom(format_args!(
            "snapshot schema {schema} is newer than {SCHEMA}"
        )));
    }
    Ok(schema)
}

fn bounds_of_schema_1() -> Vec<u64> {
    BUCKET_BOUNDS_NS.to_vec()
}

#[cfg(test)]
#[cfg(not(runtime_loom))]
mod tests;
