//! The proof thread: attempts that have ended while their device work goes on.
//!
//! It exists where a device has a runtime. Each attempt is watched until its
//! work is proven to be over; whatever the book decided in between (the proof
//! limit, say), the proof is told to it once.

use super::Shared;
use crate::admission::Moves;
use crate::attempt::{QueryCompletion, Record};
use crate::identity::AttemptId;
use crate::work::Left;
use runtime_sync::unmodelled::Arc;
use runtime_sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::time::Duration;

/// How long one attempt is waited for before the others are looked at.
const SLICE: Duration = Duration::from_millis(2);

/// Attempts whose proof is missing.
#[derive(Debug)]
pub(super) struct Proofs {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    pending: VecDeque<Arc<Record>>,
    /// Attempts for which no proof will come; their devices are kept for ever.
    hopeless: Vec<Arc<Record>>,
    is_stopping: bool,
}

impl Proofs {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                pending: VecDeque::new(),
                hopeless: Vec::new(),
                is_stopping: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Lets the thread end once nothing is pending.
    pub(super) fn stop(&self) {
        self.state.lock().is_stopping = true;
        self.changed.notify_all();
    }

    fn push(&self, record: Arc<Record>) {
        self.state.lock().pending.push_back(record);
        self.changed.notify_all();
    }

    /// The next one to look at, and how long to wait for it.
    fn next(&self) -> Option<Arc<Record>> {
        let mut state = self.state.lock();
        loop {
            if let Some(record) = state.pending.pop_front() {
                return Some(record);
            }
            if state.is_stopping {
                return None;
            }
            state = self.changed.wait(state);
        }
    }

    /// Keeps a record in line, and lets a little time pass: its work may be held
    /// up by a lease, which the runtime does not wait for.
    fn defer(&self, record: Arc<Record>) {
        let mut state = self.state.lock();
        state.pending.push_back(record);
        drop(self.changed.wait_timeout(state, SLICE));
    }
}

impl Shared {
    /// Looks for the proof of an ended attempt: it is there, or waited for.
    pub(super) fn seek_proof(
        &self,
        id: AttemptId,
        record: &Arc<Record>,
    ) -> Option<Moves<QueryCompletion>> {
        let moves = self.conclude(id, record, Duration::ZERO);
        if moves.is_none() {
            self.proofs.push(record.clone());
        }
        moves
    }

    /// The body of the proof thread.
    pub(super) fn run_proofs(&self) {
        while let Some(record) = self.proofs.next() {
            match self.conclude(record.id, &record, SLICE) {
                Some(moves) => self.carry_out(moves),
                None => self.proofs.defer(record),
            }
        }
    }

    /// Tells the book how an attempt's work ended; `None` while it goes on.
    fn conclude(
        &self,
        id: AttemptId,
        record: &Arc<Record>,
        limit: Duration,
    ) -> Option<Moves<QueryCompletion>> {
        let left = record.work.left(limit);
        let now_ns = self.clock.now_ns();
        let mut moves = Moves::new();
        match left {
            Left::Some => return None,
            Left::Nothing => {
                let is_late = {
                    let mut book = self.book.lock();
                    let is_late = book.is_quarantined(id);
                    book.prove(id, || record.work.retain(), now_ns, &mut moves);
                    is_late
                };
                if is_late {
                    drop(record.work.take());
                }
            }
            Left::Unproven => {
                self.book.lock().give_up(id, now_ns, &mut moves);
                self.proofs.state.lock().hopeless.push(record.clone());
            }
        }
        Some(moves)
    }
}
