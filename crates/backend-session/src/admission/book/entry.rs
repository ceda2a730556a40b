//! What the book keeps of one attempt, and what moves in and out of it.

use crate::admission::ledger::{DeviceIndex, DeviceSet};
use crate::admission::line::Sequence;
use crate::attempt::{AttemptFacts, Verdict};
use crate::error::Error;
use crate::identity::AttemptId;
use crate::report::Priority;
use std::collections::BTreeSet;
use std::task::Waker;

/// What an attempt carries through the book and gets back at its end.
pub(crate) trait Carried {
    /// What names the attempt's device work outside the book.
    type Work;

    /// The attempt's device work.
    fn work(&self) -> Self::Work;

    /// Enters the GPU scope.
    fn enter_gpu(&mut self) -> Result<(), Error>;

    /// Tells everybody who holds the attempt what ended it; called once, under
    /// the lock, so that no later call can disagree.
    fn decide(&mut self, verdict: &Verdict);
}

/// A request as the book takes it.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    pub(crate) bytes: u64,
    pub(crate) devices: DeviceSet,
    pub(crate) priority: Priority,
    pub(crate) tenant: Option<String>,
    /// How long it may wait; zero: not at all.
    pub(crate) queue_ns: Option<u64>,
    /// How long it may run, from the grant.
    pub(crate) execution_ns: Option<u64>,
}

/// The right to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) device: DeviceIndex,
    pub(crate) ordinal: u32,
    pub(crate) generation: u64,
    pub(crate) has_runtime: bool,
    pub(crate) bytes: u64,
    pub(crate) sequence: Sequence,
}

/// What a poll of a request finds.
#[derive(Debug)]
pub(crate) enum Polled {
    /// It waits; an older waker of it comes back.
    Waiting(Option<Waker>),
    /// It has its grant, which is now taken.
    Granted(Grant, Waker),
    /// It has ended.
    Gone(Waker),
}

/// What one section under the lock leaves to be done outside it.
#[derive(Debug)]
pub(crate) struct Moves<C: Carried> {
    /// Attempts whose completion has left the book.
    pub(crate) ended: Vec<Ended<C>>,
    /// Futures that may look again.
    pub(crate) wakers: Vec<Waker>,
    /// Attempts whose device work is to be revoked and waited for.
    pub(crate) proofs: Vec<(AttemptId, C::Work)>,
    /// The timer sleeps too long.
    pub(crate) is_sooner: bool,
}

impl<C: Carried> Moves<C> {
    /// Nothing to do yet.
    pub(crate) fn new() -> Self {
        Self {
            ended: Vec::new(),
            wakers: Vec::new(),
            proofs: Vec::new(),
            is_sooner: false,
        }
    }
}

/// An attempt whose completion has left the book.
#[derive(Debug)]
pub(crate) struct Ended<C> {
    pub(crate) completion: C,
    pub(crate) facts: AttemptFacts,
    pub(crate) held: Held,
    /// The future that waited for the grant.
    pub(crate) waker: Option<Waker>,
}

/// What an ended attempt still holds of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    /// It never had a grant.
    Nothing,
    /// A grant, to be given back when the report is out.
    Grant(Grant),
    /// Bytes in the quarantine.
    Quarantined(Grant),
}

/// One open attempt.
#[derive(Debug)]
pub(super) struct Entry<C> {
    pub(super) facts: AttemptFacts,
    pub(super) completion: Option<C>,
    pub(super) ticket: Option<Ticket>,
    pub(super) has_owner: bool,
}

impl<C> Entry<C> {
    pub(super) fn new(facts: AttemptFacts, completion: C) -> Self {
        Self {
            facts,
            completion: Some(completion),
            ticket: None,
            has_owner: true,
        }
    }
}

/// A request on its way.
#[derive(Debug)]
pub(super) struct Ticket {
    pub(super) stage: Stage,
    pub(super) sequence: Sequence,
    pub(super) devices: DeviceSet,
    pub(super) waker: Option<Waker>,
    pub(super) queue_ns: Option<u64>,
    pub(super) execution_ns: Option<u64>,
    deadlines: [Option<u64>; 4],
}

impl Ticket {
    pub(super) fn queued(sequence: Sequence, order: &Order) -> Self {
        Self {
            stage: Stage::Queued,
            sequence,
            devices: order.devices,
            waker: None,
            queue_ns: order.queue_ns,
            execution_ns: order.execution_ns,
            deadlines: [None; 4],
        }
    }
}

/// Where a ticket is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Queued,
    Granted(Grant),
    Running(Grant),
    Ending(Grant),
    Settling(Grant),
    Quarantined(Grant),
}

/// What ends by the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Deadline {
    /// The wait in the line.
    Queue,
    /// The time to take a grant.
    Claim,
    /// The time to run.
    Execution,
    /// The time to prove that the work is over.
    Proof,
}

impl Deadline {
    const ALL: [Self; 4] = [Self::Queue, Self::Claim, Self::Execution, Self::Proof];

    fn place(self) -> usize {
        match self {
            Self::Queue => 0,
            Self::Claim => 1,
            Self::Execution => 2,
            Self::Proof => 3,
        }
    }
}

/// Every deadline, soonest first.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    soonest: BTreeSet<(u64, AttemptId, Deadline)>,
    /// What the timer sleeps towards; `None`: it sleeps until it is rung.
    armed_ns: Option<u64>,
}

impl Deadlines {
    pub(super) fn set(&mut self, id: AttemptId, ticket: &mut Ticket, which: Deadline, at_ns: u64) {
        self.clear(id, ticket, which);
        ticket.deadlines[which.place()] = Some(at_ns);
        self.soonest.insert((at_ns, id, which));
    }

    pub(super) fn clear(&mut self, id: AttemptId, ticket: &mut Ticket, which: Deadline) {
        if let Some(at_ns) = ticket.deadlines[which.place()].take() {
            self.soonest.remove(&(at_ns, id, which));
        }
    }

    pub(super) fn clear_all(&mut self, id: AttemptId, ticket: &mut Ticket) {
        for which in Deadline::ALL {
            self.clear(id, ticket, which);
        }
    }

    pub(super) fn pop_due(&mut self, now_ns: u64) -> Option<(AttemptId, Deadline)> {
        let (at_ns, id, which) = *self.soonest.first()?;
        if at_ns > now_ns {
            return None;
        }
        self.soonest.pop_first();
        Some((id, which))
    }

    pub(super) fn arm(&mut self) -> Option<u64> {
        self.armed_ns = self.soonest.first().map(|(at_ns, ..)| *at_ns);
        self.armed_ns
    }

    pub(super) fn is_sooner(&self) -> bool {
        match (self.soonest.first(), self.armed_ns) {
            (Some((at_ns, ..)), Some(armed_ns)) => *at_ns < armed_ns,
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}
