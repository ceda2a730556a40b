//! Histograms of durations over fixed buckets.
//!
//! A bucket counts the durations that are at most its bound and above the
//! bound before it; one more bucket counts what is beyond the last bound. The
//! number of durations is the sum of the buckets and is stored nowhere else,
//! so that it can never disagree with them.

use std::time::Duration;

use runtime_sync::unmodelled::{AtomicU64, Ordering};
use serde::{Deserialize, Serialize};

/// Upper bounds of the buckets, inclusive: 0.1 ms to 60 s.
pub const BUCKET_BOUNDS_NS: [u64; 16] = [
    100_000,
    250_000,
    600_000,
    1_500_000,
    4_000_000,
    10_000_000,
    25_000_000,
    60_000_000,
    150_000_000,
    400_000_000,
    1_000_000_000,
    2_500_000_000,
    6_000_000_000,
    15_000_000_000,
    30_000_000_000,
    60_000_000_000,
];

/// A longer duration adds this much to a histogram's sum: one year.
///
/// A single absurd duration would otherwise wrap the sum, which holds 584 years.
pub const LONGEST_RECORDED: Duration = Duration::from_nanos(LONGEST_NS);

const LONGEST_NS: u64 = 365 * 24 * 3_600 * 1_000_000_000;

const BUCKETS: usize = BUCKET_BOUNDS_NS.len() + 1;

/// A histogram that is being recorded into by any number of threads.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    sum_ns: AtomicU64,
}

impl Histogram {
    pub(crate) fn record(&self, duration: Duration) {
        let duration_ns = clamp_ns(duration);
        // Relaxed: tallies have no partner. Whoever must see an event in a
        // snapshot is ordered after it by the lock that orders the facts.
        if let Some(bucket) = self.buckets.get(bucket_of(duration_ns)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.sum_ns.fetch_add(duration_ns, Ordering::Relaxed);
    }

    pub(crate) fn add_to(&self, total: &mut HistogramSnapshot) {
        // Relaxed: as in `record`.
        for (total, bucket) in total.buckets.iter_mut().zip(&self.buckets) {
            *total = total.wrapping_add(bucket.load(Ordering::Relaxed));
        }
        total.sum_ns = total
            .sum_ns
            .wrapping_add(self.sum_ns.load(Ordering::Relaxed));
    }
}

/// What a histogram held when it was read.
///
/// The bounds of the buckets are those of the snapshot that carries it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HistogramSnapshot {
    /// Durations per bucket, not cumulated; the last is beyond every bound.
    /// Empty in a snapshot whose writer did not have this histogram.
    pub buckets: Vec<u64>,
    /// The sum of all durations. A duration that is being recorded while the
    /// snapshot is taken may be in a bucket and not yet in the sum.
    pub sum_ns: u64,
}

impl HistogramSnapshot {
    /// Nothing recorded yet, in every bucket.
    pub(crate) fn zero() -> Self {
        Self {
            buckets: vec![0; BUCKETS],
            sum_ns: 0,
        }
    }

    /// How many durations were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets
            .iter()
            .fold(0, |count, bucket| count.saturating_add(*bucket))
    }

    /// Adds the durations of another histogram over the same bounds.
    pub(crate) fn add(&mut self, other: &Self) {
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (mine, others) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine = mine.saturating_add(*others);
        }
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
    }
}

/// The index of the first bucket whose bound `duration_ns` does not exceed.
fn bucket_of(duration_ns: u64) -> usize {
    BUCKET_BOUNDS_NS.partition_point(|bound_ns| *bound_ns < duration_ns)
}

fn clamp_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).map_or(LONGEST_NS, |duration_ns| duration_ns.min(LONGEST_NS))
}

#[cfg(test)]
#[cfg(not(runtime_loom))]
mod props;
#[cfg(test)]
#[cfg(not(runtime_loom))]
mod tests;
