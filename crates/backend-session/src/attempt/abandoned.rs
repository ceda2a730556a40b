//! Reports that nobody waits for, and the counts of all reports.
//!
//! The three counts and the queue are under one lock, which is a leaf: it is
//! taken under a report's slot lock and takes none itself. A report is counted
//! ready before it is counted pushed or overflowed, in one section, so their sum
//! never exceeds the reports that are ready. The count of begun attempts is
//! raised before its report can exist and read after the lock, so it is never
//! the smaller one.

use backend_metrics::AttemptBackendCountersSnapshot;
use runtime_sync::atomic::{AtomicU64, Ordering};
use runtime_sync::{Arc, Mutex};
use std::collections::VecDeque;

/// The queue of abandoned reports and the counts.
#[derive(Debug)]
pub(crate) struct Abandoned<R> {
    begun: AtomicU64,
    kept: Mutex<Kept<R>>,
    /// Zero for a backend without a completion queue.
    most: usize,
}

#[derive(Debug)]
struct Kept<R> {
    queue: VecDeque<Arc<R>>,
    ready: u64,
    pushed: u64,
    overflowed: u64,
}

impl<R> Abandoned<R> {
    /// An empty queue for at most `most` reports; zero: none is kept.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            begun: AtomicU64::new(0),
            kept: Mutex::new(Kept {
                queue: VecDeque::new(),
                ready: 0,
                pushed: 0,
                overflowed: 0,
            }),
            most,
        }
    }

    /// Counts one attempt that began.
    pub(crate) fn count_begun(&self) {
        // Release pairs with the Acquire of `counts`.
        self.begun.fetch_add(1, Ordering::Release);
    }

    /// Counts one report that became ready, and keeps it when nobody waits.
    pub(crate) fn route(&self, report: &Arc<R>, is_awaited: bool) {
        let mut kept = self.kept.lock();
        kept.ready += 1;
        if is_awaited || self.most == 0 {
            return;
        }
        if kept.queue.len() < self.most {
            kept.queue.push_back(report.clone());
            kept.pushed += 1;
        } else {
            kept.overflowed += 1;
        }
    }

    /// The oldest kept reports, at most `most` of them.
    pub(crate) fn take(&self, most: usize) -> Vec<Arc<R>> {
        let mut kept = self.kept.lock();
        let count = most.min(kept.queue.len());
        kept.queue.drain(..count).collect()
    }

    /// All four counts.
    pub(crate) fn counts(&self) -> AttemptBackendCountersSnapshot {
        let (ready, pushed, overflowed) = {
            let kept = self.kept.lock();
            (kept.ready, kept.pushed, kept.overflowed)
        };
        let mut counts = AttemptBackendCountersSnapshot::default();
        counts.reports_ready = ready;
        counts.completion_queue_pushed = pushed;
        counts.completion_queue_overflowed = overflowed;
        // Read last, so that it covers every report counted above.
        counts.attempts_begun = self.begun.load(Ordering::Acquire);
        counts
    }
}
