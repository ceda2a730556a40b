//! The recorder: tallies that many threads add to and one snapshot reads.
//!
//! Tallies are kept in shards, and a thread always adds to the same one, so
//! that threads rarely share a cache line; a snapshot adds the shards up. An
//! event costs a few uncontended atomic additions and never locks, allocates
//! or fails, so it may be recorded under any lock and in any destructor.
//! The recorder holds no protocol: nothing waits for, or decides by, a tally.

mod shard;

use std::time::Duration;

use runtime_sync::unmodelled::Arc;
use thiserror::Error;

use crate::facts::SessionFacts;
use crate::histogram::BUCKET_BOUNDS_NS;
use crate::label::{Band, DeviceOrdinal, Ending, Lane, Refusal};
use crate::snapshot::{BackendMetricsSnapshot, SCHEMA};

use shard::{Shape, Shards};

/// What a backend records about itself.
///
/// Clones share one set of tallies. The label values are fixed when it is
/// built; an event with another device or band is counted in
/// [`BackendMetricsSnapshot::unlabelled_events`] and nowhere else.
#[derive(Clone, Debug)]
pub struct Recorder {
    shards: Arc<Shards>,
}

impl Recorder {
    /// The most devices of one recorder.
    pub const MOST_DEVICES: usize = 64;
    /// The most priority bands of one recorder.
    pub const MOST_BANDS: u8 = 16;

    /// A recorder for `devices` and the bands 0 to `bands - 1`.
    ///
    /// # Errors
    /// No band, more bands than [`MOST_BANDS`](Self::MOST_BANDS), more devices
    /// than [`MOST_DEVICES`](Self::MOST_DEVICES), or a device named twice.
    pub fn new(
        devices: impl IntoIterator<Item = DeviceOrdinal>,
        bands: u8,
    ) -> Result<Self, RecorderError> {
        if bands == 0 {
            return Err(RecorderError::NoBands);
        }
        if bands > Self::MOST_BANDS {
            return Err(RecorderError::TooManyBands {
                asked: bands,
                limit: Self::MOST_BANDS,
            });
        }
        let mut known = Vec::new();
        for device in devices {
            if known.contains(&device) {
                return Err(RecorderError::DeviceTwice { device });
            }
            if known.len() == Self::MOST_DEVICES {
                return Err(RecorderError::TooManyDevices {
                    limit: Self::MOST_DEVICES,
                });
            }
            known.push(device);
        }
        Ok(Self {
            shards: Arc::new(Shards::new(Shape {
                devices: known.into_boxed_slice(),
                bands,
            })),
        })
    }

    /// A request of `band` was granted after `wait`.
    pub fn granted(&self, band: Band, wait: Duration) {
        self.shards.granted(band, wait);
    }

    /// A request of `band` ended without a grant after `wait`, which is zero
    /// for one that was refused at once.
    pub fn refused(&self, refusal: Refusal, band: Band, wait: Duration) {
        self.shards.refused(refusal, band, wait);
    }

    /// A granted request of `band` ended; `ran` is the time since its grant on
    /// `device`.
    pub fn ended(&self, ending: Ending, band: Band, device: DeviceOrdinal, ran: Duration) {
        self.shards.ended(ending, band, device, ran);
    }

    /// Work waited for `lane` of `device`.
    pub fn lane_wait(&self, device: DeviceOrdinal, lane: Lane, wait: Duration) {
        self.shards.lane_wait(device, lane, wait);
    }

    /// A compute lease was held for `hold`.
    pub fn compute_lease_hold(&self, hold: Duration) {
        self.shards.mine().compute_lease_hold.record(hold);
    }

    /// Close took `took` from its signal to its report.
    pub fn closed(&self, took: Duration) {
        self.shards.mine().close.record(took);
    }

    /// The facts with everything recorded so far.
    ///
    /// Call it after the section that copied the facts: it holds every event
    /// that was recorded before that section, and may hold later ones.
    #[must_use]
    pub fn snapshot(&self, facts: SessionFacts) -> BackendMetricsSnapshot {
        BackendMetricsSnapshot {
            schema: SCHEMA,
            facts,
            bands: self.shards.shape().bands,
            bucket_bounds_ns: BUCKET_BOUNDS_NS.to_vec(),
            requests: self.shards.requests(),
            admission_wait: self.shards.admission_wait(),
            execution: self.shards.execution(),
            lane_wait: self.shards.lane_waits(),
            compute_lease_hold: self.shards.total(|shard| Some(&shard.compute_lease_hold)),
            close: self.shards.total(|shard| Some(&shard.close)),
            unlabelled_events: self.shards.unlabelled(),
        }
    }
}

/// Why no recorder was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecorderError {
    /// A backend has at least one priority band.
    #[error("a recorder needs at least one priority band")]
    NoBands,
    /// More bands than a recorder may have series for.
    #[error("{asked} priority bands, but at most {limit}")]
    TooManyBands {
        /// Bands asked for.
        asked: u8,
        /// The most.
        limit: u8,
    },
    /// More devices than a recorder may have series for.
    #[error("more than {limit} devices")]
    TooManyDevices {
        /// The most.
        limit: usize,
    },
    /// Two devices with one ordinal could not be told apart.
    #[error("device {device} is named twice")]
    DeviceTwice {
        /// The ordinal.
        device: DeviceOrdinal,
    },
}

#[cfg(test)]
#[cfg(not(runtime_loom))]
mod props;
#[cfg(test)]
#[cfg(not(runtime_loom))]
mod tests;
