//! The book: every open attempt, its ticket, the line and the ledger. Pure.
//!
//! One lock outside protects the whole book, so whatever moves a ticket moves
//! it once, and any two facts read together belong to one instant.
//!
//! | ticket | completion is | its bytes are |
//! |---|---|---|
//! | queued | here | not granted |
//! | granted | here | granted, nobody took the handle |
//! | running | here | granted |
//! | ending | here | granted; the outcome is fixed, the proof is missing |
//! | settling | with whoever moved the ticket | granted until the report is out |
//! | quarantined | with whoever moved the ticket | quarantined |
//!
//! A completion leaves the book exactly once, in [`Ended`], and whoever gets it
//! finishes it without the lock. Nothing here calls foreign code: wakers go in
//! and out by value, and are cloned, woken and dropped elsewhere.

mod change;
mod entry;
mod facts;
mod settle;

pub(crate) use entry::{Carried, Deadline, Ended, Grant, Held, Moves, Order, Polled};
pub(crate) use facts::BANDS;

use super::ledger::Ledger;
use super::line::{Line, Sequence, Waiting};
use super::pace::{Pace, advice};
use crate::attempt::{AttemptFacts, Event, Verdict};
use crate::error::{EndedBy, Error};
use crate::gate::Gate;
use crate::identity::AttemptId;
use backend_metrics::Recorder;
use entry::{Deadlines, Entry, Stage, Ticket};
use runtime_sync::Arc;
use std::collections::BTreeMap;
use std::task::Waker;
use std::time::Duration;

/// Everything that one lock protects.
#[derive(Debug)]
pub(crate) struct Book<C: Carried> {
    gate: Arc<Gate>,
    pub(super) ledger: Ledger,
    pub(super) line: Line,
    entries: BTreeMap<AttemptId, Entry<C>>,
    deadlines: Deadlines,
    paces: Vec<Pace>,
    limits: Limits,
    is_closed: bool,
    now_ns: u64,
    next_attempt: u64,
    next_sequence: Sequence,
    /// Rises with every change, so it numbers the instants.
    event: u64,
    tally: Tally,
    recorder: Recorder,
}

/// The bounds of a book.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) most_queued: usize,
    pub(crate) claim_ns: u64,
    pub(crate) proof_ns: u64,
}

/// Counts since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Tickets that entered the line.
    pub(crate) submitted: u64,
    /// Tickets that left, with their bytes returned or never granted.
    pub(crate) ended: u64,
}

impl<C: Carried> Book<C> {
    /// An empty book.
    pub(crate) fn new(gate: Arc<Gate>, ledger: Ledger, limits: Limits, recorder: Recorder) -> Self {
        let paces = ledger.devices().map(|_| Pace::default()).collect();
        Self {
            gate,
            ledger,
            line: Line::default(),
            entries: BTreeMap::new(),
            deadlines: Deadlines::default(),
            paces,
            limits,
            is_closed: false,
            now_ns: 0,
            next_attempt: 1,
            next_sequence: 1,
            event: 0,
            tally: Tally::default(),
            recorder,
        }
    }

    /// Enters a begun attempt; `draft` makes its facts and completion.
    pub(crate) fn begin(
        &mut self,
        now_ns: u64,
        draft: impl FnOnce(AttemptId, u64) -> (AttemptFacts, C),
    ) -> AttemptId {
        self.tick(now_ns);
        let id = AttemptId::new(self.next_attempt);
        self.next_attempt += 1;
        let (facts, completion) = draft(id, self.now_ns);
        self.entries.insert(id, Entry::new(facts, completion));
        id
    }

    /// Planning starts; false if the attempt has ended or is further.
    pub(crate) fn plan(&mut self, id: AttemptId, now_ns: u64) -> bool {
        self.tick(now_ns);
        let now_ns = self.now_ns;
        self.entries
            .get_mut(&id)
            .is_some_and(|entry| entry.facts.advance(Event::Plan, now_ns))
    }

    /// Puts an attempt's request into the line, or ends the attempt with the
    /// reason why not. Does nothing to an attempt that has ended; otherwise
    /// `prepare` gets the completion before anything can take it.
    pub(crate) fn submit(
        &mut self,
        id: AttemptId,
        order: Order,
        prepare: impl FnOnce(&mut C),
        now_ns: u64,
        moves: &mut Moves<C>,
    ) {
        self.tick(now_ns);
        let now_ns = self.now_ns;
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        let Some(completion) = entry.completion.as_mut() else {
            return;
        };
        if entry.facts.has_ended() || entry.ticket.is_some() {
            return;
        }
        prepare(completion);
        // The gate decides before planning starts: a loser ends where it stood.
        if let Err(closing) = completion.enter_gpu() {
            self.end(id, &Verdict::failed(EndedBy::Close, closing), now_ns, moves);
            return;
        }
        entry.facts.advance(Event::Plan, now_ns);
        entry.facts.advance(Event::Claim, now_ns);
        entry.facts.priority = order.priority;
        if order.tenant.is_some() {
            entry.facts.tenant.clone_from(&order.tenant);
        }
        entry.facts.admission.requested_bytes = Some(order.bytes);
        if let Some(refused) = self.refusal(&order) {
            self.end(id, &refused, now_ns, moves);
            return;
        }
        self.pump(moves);
        let depth = self.line.depth();
        self.enqueue(id, &order);
        self.pump(moves);
        let is_waiting = self
            .entries
            .get(&id)
            .and_then(|entry| entry.ticket.as_ref())
            .is_some_and(|ticket| ticket.stage == Stage::Queued);
        if is_waiting && depth >= self.limits.most_queued {
            self.withdraw(id, depth, moves);
        } else {
            self.tally.submitted += 1;
        }
        self.rearm(moves);
    }

    /// What became of a submitted request; the handle's grant at most once.
    pub(crate) fn poll(&mut self, id: AttemptId, waker: Waker, now_ns: u64) -> Polled {
        self.tick(now_ns);
        let now_ns = self.now_ns;
        let Some(entry) = self.entries.get_mut(&id) else {
            return Polled::Gone(waker);
        };
        let Some(ticket) = entry.ticket.as_mut() else {
            return Polled::Gone(waker);
        };
        match ticket.stage {
            Stage::Queued => Polled::Waiting(ticket.waker.replace(waker)),
            Stage::Granted(grant) => {
                ticket.stage = Stage::Running(grant);
                entry.facts.at.running_at_ns = Some(now_ns);
                self.deadlines.clear(id, ticket, Deadline::Claim);
                Polled::Granted(grant, waker)
            }
            _ => Polled::Gone(waker),
        }
    }

    /// Fixes an attempt's outcome; false if it was fixed before.
    pub(crate) fn end(
        &mut self,
        id: AttemptId,
        verdict: &Verdict,
        now_ns: u64,
        moves: &mut Moves<C>,
    ) -> bool {
        self.tick(now_ns);
        let is_first = self.end_one(id, verdict, moves);
        if is_first {
            self.pump(moves);
        }
        self.rearm(moves);
        is_first
    }

    /// Ends everything whose time has come.
    pub(crate) fn expire(&mut self, now_ns: u64, moves: &mut Moves<C>) {
        self.tick(now_ns);
        self.pump(moves);
        self.rearm(moves);
    }

    /// The next deadline, which the timer sleeps towards from now on.
    pub(crate) fn arm(&mut self) -> Option<u64> {
        self.deadlines.arm()
    }

    fn tick(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        self.event += 1;
    }

    /// Expires what is due, then grants in turn.
    fn pump(&mut self, moves: &mut Moves<C>) {
        while let Some((id, deadline)) = self.deadlines.pop_due(self.now_ns) {
            self.fire(id, deadline, moves);
        }
        // The close thread drains what waits from the moment that the gate
        // closes, so nothing is granted between the two.
        while !self.is_closed && !self.gate.is_closing() {
            let Some((sequence, waiting, device)) = self.line.next_grant(&self.ledger) else {
                break;
            };
            let (id, devices) = (waiting.attempt, waiting.devices);
            let Some(waiting) = self.line.remove(sequence, devices) else {
                break;
            };
            self.ledger.grant(device, waiting.bytes);
            self.place(id, sequence, waiting.bytes, device, moves);
        }
    }

    fn refusal(&self, order: &Order) -> Option<Verdict> {
        if let Some(error) = self.ledger.refusal(order.bytes, order.devices) {
            return Some(Verdict::failed(EndedBy::Rejection, error));
        }
        if order.queue_ns == Some(0) {
            let error = Error::QueueWaitElapsed {
                waited: Duration::ZERO,
                limit: Duration::ZERO,
                retry_after: self.retry_after(order.devices),
            };
            return Some(Verdict::failed(EndedBy::QueueDeadline, error));
        }
        self.is_closed
            .then(|| Verdict::failed(EndedBy::Close, Error::AdmissionClosed))
    }

    fn enqueue(&mut self, id: AttemptId, order: &Order) {
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        entry.facts.at.queued_at_ns = Some(self.now_ns);
        entry.facts.admission.sequence = Some(sequence);
        let mut ticket = Ticket::queued(sequence, order);
        if let Some(queue_ns) = order.queue_ns {
            let at = self.now_ns.saturating_add(queue_ns);
            self.deadlines.set(id, &mut ticket, Deadline::Queue, at);
        }
        entry.ticket = Some(ticket);
        self.line.push(
            sequence,
            Waiting {
                attempt: id,
                bytes: order.bytes,
                devices: order.devices,
                since_ns: self.now_ns,
            },
        );
    }

    /// Takes back the request that found the queue full.
    fn withdraw(&mut self, id: AttemptId, depth: usize, moves: &mut Moves<C>) {
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        let Some(mut ticket) = entry.ticket.take() else {
            return;
        };
        entry.facts.at.queued_at_ns = None;
        entry.facts.admission.sequence = None;
        self.line.remove(ticket.sequence, ticket.devices);
        self.deadlines.clear_all(id, &mut ticket);
        moves.wakers.extend(ticket.waker);
        let error = Error::AdmissionQueueFull {
            depth: count(depth),
            bound: count(self.limits.most_queued),
            retry_after: self.retry_after(ticket.devices),
        };
        self.end_one(id, &Verdict::failed(EndedBy::Rejection, error), moves);
    }

    /// When a retry makes sense; see the pace of returns.
    fn retry_after(&self, devices: super::ledger::DeviceSet) -> Option<Duration> {
        let rates = self
            .ledger
            .devices()
            .filter(|(device, _)| devices.contains(*device))
            .filter_map(|(device, _)| self.paces[device.place()].bytes_per_second(self.now_ns));
        let rate: u128 = rates.sum();
        (rate > 0).then(|| advice(self.line.queued_bytes(), rate))
    }

    fn rearm(&mut self, moves: &mut Moves<C>) {
        moves.is_sooner |= self.deadlines.is_sooner();
    }
}

/// A length as a count of the public interface.
pub(super) fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod models;
#[cfg(all(test, not(runtime_loom)))]
mod props;
#[cfg(all(test, not(runtime_loom)))]
mod tests;
