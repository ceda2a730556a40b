//! How fast a device's bytes come back. Pure.

use std::collections::VecDeque;
use std::time::Duration;

/// Returns that the measurement looks back on.
const WINDOW: usize = 32;
/// Fewer returns than this say nothing.
const LEAST_RETURNS: usize = 8;
/// After this many mean gaps without a return, the rate is out of date.
const STALE_GAPS: u128 = 4;
const SHORTEST_ADVICE: Duration = Duration::from_millis(10);
const LONGEST_ADVICE: Duration = Duration::from_secs(60);

/// The last returns of one device.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    returns: VecDeque<(u64, u64)>,
}

impl Pace {
    /// Notes that `bytes` came back at `now_ns`.
    pub(crate) fn note(&mut self, now_ns: u64, bytes: u64) {
        if self.returns.len() == WINDOW {
            self.returns.pop_front();
        }
        self.returns.push_back((now_ns, bytes));
    }

    /// Bytes per second, if enough came back and lately.
    pub(crate) fn bytes_per_second(&self, now_ns: u64) -> Option<u128> {
        if self.returns.len() < LEAST_RETURNS {
            return None;
        }
        let (first, _) = self.returns.front()?;
        let (last, _) = self.returns.back()?;
        let span = u128::from(last.saturating_sub(*first));
        let gaps = u128::try_from(self.returns.len() - 1).ok()?;
        let silence = u128::from(now_ns.saturating_sub(*last));
        if span == 0 || silence * gaps > STALE_GAPS * span {
            return None;
        }
        let bytes: u128 = self
            .returns
            .iter()
            .skip(1)
            .map(|(_, bytes)| u128::from(*bytes))
            .sum();
        let rate = bytes * 1_000_000_000 / span;
        (rate > 0).then_some(rate)
    }
}

/// How long a backlog of `queued_bytes` takes at `bytes_per_second`.
pub(crate) fn advice(queued_bytes: u64, bytes_per_second: u128) -> Duration {
    let wait_ns = u128::from(queued_bytes) * 1_000_000_000 / bytes_per_second.max(1);
    let wait = Duration::from_nanos(u64::try_from(wait_ns).unwrap_or(u64::MAX));
    wait.clamp(SHORTEST_ADVICE, LONGEST_ADVICE)
}

#[cfg(all(test, not(runtime_loom)))]
mod tests;
