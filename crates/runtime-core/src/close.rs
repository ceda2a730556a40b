//! Closing a runtime, and what that found.

use std::time::{Duration, Instant};

use crate::lane::scheduler::SLICE;
use crate::runtime::Runtime;

/// What closing found. Every later close answers the same.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CloseReport {
    /// Submissions that ended while the runtime drained.
    pub completed: u64,
    /// Submissions that were still on the host at the deadline, and were
    /// cancelled.
    pub cancelled: u64,
    /// Submissions that the device had not finished by the deadline.
    pub unfinished: u64,
    /// Entries in quarantine.
    pub quarantined: u64,
    /// A native stage held the compute lane at the end; it goes on.
    pub stage_running: bool,
    /// Bytes that buffers still hold, of the runtime's own budget.
    pub still_held_bytes: u64,
    /// Bytes in quarantine, which are never freed.
    pub leaked_bytes: u64,
    /// How long the close took.
    pub elapsed: Duration,
}

impl Runtime {
    /// Stops admission, lets what is in flight end within `deadline`, cancels
    /// what is still on the host then, and says what is left. A running native
    /// stage is reported, not waited for past the deadline.
    ///
    /// The first call's deadline bounds the drain. Other calls wait for its
    /// report, at most as long as they say, and otherwise report what they see.
    pub fn close(&self, deadline: Duration) -> CloseReport {
        let start = Instant::now();
        let domain = self.domain();
        let scheduler = &domain.scheduler;
        if let Some(report) = domain.close_report.lock().clone() {
            return report;
        }
        let until = start.checked_add(deadline).unwrap_or(start + SLICE);
        let before = scheduler.lock().statistics;
        scheduler.close();
        let cancelled_by_us = if scheduler.wait_drained(until) {
            0
        } else {
            scheduler.cancel_held()
        };
        self.join_reapers(until);
        let state = scheduler.lock();
        let ended = |statistics: &crate::Statistics| {
            statistics.succeeded + statistics.failed + statistics.cancelled + statistics.uncertain
        };
        let report = CloseReport {
            completed: ended(&state.statistics) - ended(&before) - cancelled_by_us,
            cancelled: cancelled_by_us,
            unfinished: state.statistics.in_flight,
            quarantined: scheduler.register.count(),
            stage_running: state.line.has_stage(),
            still_held_bytes: domain.budget.used_bytes(),
            leaked_bytes: scheduler.register.bytes(),
            elapsed: start.elapsed(),
        };
        drop(state);
        tracing::info!(label = %domain.label, ?report, "runtime closed");
        domain.close_report.lock().get_or_insert(report).clone()
    }

    /// Joins the reapers once all have ended; one that still watches a device
    /// goes on by itself.
    fn join_reapers(&self, until: Instant) {
        let domain = self.domain();
        let here = runtime_sync::thread::current().id();
        let reapers = std::mem::take(&mut *domain.reapers.lock());
        // A waker that closes runs on a reaper, which cannot wait for itself.
        let own = reapers.iter().any(|reaper| reaper.thread().id() == here);
        if !domain.scheduler.wait_reapers(u32::from(own), until) {
            return;
        }
        for reaper in reapers {
            if reaper.thread().id() != here && reaper.join().is_err() {
                tracing::error!("a reaper panicked");
            }
        }
    }
}
