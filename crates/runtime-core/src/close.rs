//! Closing a runtime, and what that found.

use std::time::{Duration, Instant};

use runtime_sync::{Condvar, Mutex};

use crate::runtime::Runtime;
use crate::statistics::Statistics;

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
        let until = deadline_of(start, deadline);
        let domain = self.domain();
        match domain.closing.enter(until) {
            Turn::Report(report) => return report,
            Turn::Late => {
                let now = domain.scheduler.lock().statistics;
                return self.report(start, now, 0);
            }
            Turn::First => {}
        }
        let scheduler = &domain.scheduler;
        let before = scheduler.lock().statistics;
        scheduler.close();
        let mut cancelled = 0;
        if !scheduler.wait_drained(until) {
            let drained = scheduler.lock().statistics;
            scheduler.cancel_held();
            let now = scheduler.lock().statistics;
            cancelled = now.cancelled.saturating_sub(drained.cancelled);
        }
        domain.join_reapers(until);
        let report = self.report(start, before, cancelled);
        tracing::info!(label = %domain.label, ?report, "runtime closed");
        domain.closing.finish(report.clone());
        report
    }

    fn report(&self, start: Instant, before: Statistics, cancelled: u64) -> CloseReport {
        let domain = self.domain();
        let register = &domain.scheduler.register;
        let (quarantined, leaked_bytes) = (register.count(), register.bytes());
        let still_held_bytes = domain.budget.used_bytes();
        let state = domain.scheduler.lock();
        let ended = state.statistics.ended().saturating_sub(before.ended());
        CloseReport {
            completed: ended.saturating_sub(cancelled),
            cancelled,
            unfinished: state.statistics.in_flight,
            quarantined,
            stage_running: state.line.has_stage(),
            still_held_bytes,
            leaked_bytes,
            elapsed: start.elapsed(),
        }
    }
}

/// The one close that drains, and those that wait for its report.
#[derive(Debug)]
pub(crate) struct Closing {
    state: Mutex<State>,
    done: Condvar,
}

#[derive(Debug, Default)]
struct State {
    begun: bool,
    report: Option<CloseReport>,
}

enum Turn {
    /// This close drains.
    First,
    /// Another one did.
    Report(CloseReport),
    /// Another one still does, longer than this one waits.
    Late,
}

impl Closing {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new(State::default()),
            done: Condvar::new(),
        }
    }

    fn enter(&self, until: Instant) -> Turn {
        let mut state = self.state.lock();
        if !std::mem::replace(&mut state.begun, true) {
            return Turn::First;
        }
        loop {
            if let Some(report) = &state.report {
                return Turn::Report(report.clone());
            }
            let now = Instant::now();
            if now >= until {
                return Turn::Late;
            }
            let (guard, _) = self.done.wait_timeout(state, until - now);
            state = guard;
        }
    }

    fn finish(&self, report: CloseReport) {
        self.state.lock().report = Some(report);
        self.done.notify_all();
    }
}

/// When a wait that begins at `start` ends; a century where the sum cannot be
/// told by the clock.
pub(crate) fn deadline_of(start: Instant, limit: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);
    start.checked_add(limit.min(CENTURY)).unwrap_or(start)
}
