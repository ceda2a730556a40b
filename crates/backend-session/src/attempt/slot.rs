//! The place where one report appears.
//!
//! Publishing is one section under the slot's lock: the report is set, counted,
//! and kept among the abandoned ones if no receiver exists at that moment. A
//! receiver is counted under the same lock, so a clone made while a report is
//! being published either counts before it, and is served, or finds it there.
//! Lock order: slot, then abandoned.

use super::abandoned::Abandoned;
use runtime_sync::{Arc, Mutex};
use std::collections::BTreeMap;
use std::task::Waker;

/// The place of one report.
#[derive(Debug)]
pub(crate) struct Slot<R> {
    state: Mutex<State<R>>,
}

#[derive(Debug)]
struct State<R> {
    report: Option<Arc<R>>,
    receivers: u64,
    next_key: u64,
    wakers: BTreeMap<u64, Waker>,
}

impl<R> Slot<R> {
    /// An empty slot without receivers.
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                report: None,
                receivers: 0,
                next_key: 0,
                wakers: BTreeMap::new(),
            }),
        }
    }

    /// Counts one more receiver; the number is its key for waiting.
    pub(crate) fn join(&self) -> u64 {
        let mut state = self.state.lock();
        state.receivers += 1;
        state.next_key += 1;
        state.next_key
    }

    /// One receiver is gone; its waker is to be dropped without the lock.
    #[must_use]
    pub(crate) fn part(&self, key: u64) -> Option<Waker> {
        let mut state = self.state.lock();
        state.receivers -= 1;
        state.wakers.remove(&key)
    }

    /// The report, if it is there.
    pub(crate) fn read(&self) -> Option<Arc<R>> {
        self.state.lock().report.clone()
    }

    /// The report, or a promise to wake `waker`.
    ///
    /// What comes back with the report, or instead of it, is an older waker of
    /// this receiver, to be dropped without the lock.
    pub(crate) fn wait(&self, key: u64, waker: Waker) -> (Option<Arc<R>>, Option<Waker>) {
        let mut state = self.state.lock();
        if let Some(report) = &state.report {
            return (Some(report.clone()), Some(waker));
        }
        (None, state.wakers.insert(key, waker))
    }

    /// Publishes `report`, counts and routes it; the receivers' wakers come back.
    ///
    /// A second report for one slot is not taken: nothing is counted.
    #[must_use]
    pub(crate) fn publish(&self, report: Arc<R>, abandoned: &Abandoned<R>) -> Vec<Waker> {
        let mut state = self.state.lock();
        if state.report.is_some() {
            return Vec::new();
        }
        abandoned.route(&report, state.receivers > 0);
        state.report = Some(report);
        std::mem::take(&mut state.wakers).into_values().collect()
    }
}

#[cfg(test)]
mod models;
#[cfg(all(test, not(runtime_loom)))]
mod tests;
