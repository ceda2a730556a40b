//! Distributions of durations.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

#[cfg(test)]
mod tests;

/// Longest duration told apart from longer ones, in microseconds: one hour.
const LONGEST_US: u64 = 3_600_000_000;

/// Durations as they come in, to within a thousandth.
#[derive(Clone, Debug)]
pub(crate) struct Durations(Histogram<u64>);

impl Durations {
    pub(crate) fn new() -> Durations {
        let histogram = Histogram::new_with_bounds(1, LONGEST_US, 3);
        Durations(histogram.expect("the bounds are constants that the histogram accepts"))
    }

    pub(crate) fn record(&mut self, duration: Duration) {
        let us = u64::try_from(duration.as_micros()).unwrap_or(LONGEST_US);
        self.0.saturating_record(us);
    }

    pub(crate) fn summary(&self) -> Summary {
        Summary {
            count: self.0.len(),
            p50_us: self.0.value_at_quantile(0.5),
            p99_us: self.0.value_at_quantile(0.99),
            max_us: self.0.max(),
        }
    }
}

impl Default for Durations {
    fn default() -> Self {
        Durations::new()
    }
}

impl FromIterator<Duration> for Durations {
    fn from_iter<I: IntoIterator<Item = Duration>>(durations: I) -> Self {
        let mut all = Durations::new();
        durations
            .into_iter()
            .for_each(|duration| all.record(duration));
        all
    }
}

/// What is told of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Summary {
    pub(crate) count: u64,
    pub(crate) p50_us: u64,
    pub(crate) p99_us: u64,
    pub(crate) max_us: u64,
}
