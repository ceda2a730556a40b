//! Places and turns: who may enter the bounded line, and which stage is next.
//!
//! Pure. A *place* is the right to be one of the unpublished submissions. A
//! *ticket* is a native stage's position in the one sequence that it shares
//! with submissions. A *waiter* has neither: it waits for a place, in turn.
//!
//! Invariants:
//! - submissions and places promised to waiters never exceed the limit;
//! - a stage enters only while those and the waiting stages stay below it;
//! - at most one stage is active, and it holds no place;
//! - waiters are served in turn; a waiting stage that only other stages keep
//!   out does not hold up submissions, or a stage's own uploads could not pass.

use std::collections::VecDeque;

/// What a stage waits for before it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum DrainScope {
    /// Every older submission.
    #[default]
    All,
    /// Every older submission that has work on the compute lane; older transfers
    /// go on beside the stage.
    Compute,
}

/// The name of a waiter, and later of its ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TurnId(u64);

/// What a waiter waits to enter as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entrant {
    Submission,
    Stage(DrainScope),
}

/// How far a turn has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Waits for a place.
    AwaitsPlace,
    /// A submission that may take the place that it was promised.
    Promised,
    /// A stage that waits for the lane.
    AwaitsLane,
    /// A stage that has the lane.
    Active,
    /// Ended by close or loss, or never there.
    Gone,
}

#[derive(Debug)]
struct Waiter<W> {
    id: TurnId,
    entrant: Entrant,
    signal: W,
}

#[derive(Debug)]
struct Ticket<W> {
    id: TurnId,
    sequence: u64,
    scope: DrainScope,
    signal: W,
}

#[derive(Debug, Clone, Copy)]
struct Active {
    id: TurnId,
    sequence: u64,
}

#[derive(Debug)]
pub(crate) struct Turns<W> {
    limit: u32,
    /// Unpublished submissions, and places promised to waiters.
    places: u32,
    last_id: u64,
    waiters: VecDeque<Waiter<W>>,
    promised: Vec<TurnId>,
    tickets: VecDeque<Ticket<W>>,
    active: Option<Active>,
}

impl<W> Turns<W> {
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            limit,
            places: 0,
            last_id: 0,
            waiters: VecDeque::new(),
            promised: Vec::new(),
            tickets: VecDeque::new(),
            active: None,
        }
    }

    pub(crate) fn limit(&self) -> u32 {
        self.limit
    }

    /// Takes a place at once, unless none is free or others wait for one.
    pub(crate) fn try_place(&mut self) -> bool {
        let passes_one = self
            .waiters
            .iter()
            .any(|waiter| waiter.entrant == Entrant::Submission);
        if passes_one || self.places >= self.limit {
            return false;
        }
        self.places += 1;
        true
    }

    /// Takes a ticket at once, unless no place is free or stages wait for one.
    pub(crate) fn try_ticket(
        &mut self,
        scope: DrainScope,
        sequence: u64,
        signal: W,
    ) -> Option<TurnId> {
        if !self.waiters.is_empty() || !self.stage_fits() {
            return None;
        }
        let id = self.next_id();
        self.tickets.push_back(Ticket {
            id,
            sequence,
            scope,
            signal,
        });
        Some(id)
    }

    /// Waits for a place, behind all who wait already.
    pub(crate) fn wait(&mut self, entrant: Entrant, signal: W) -> TurnId {
        let id = self.next_id();
        self.waiters.push_back(Waiter {
            id,
            entrant,
            signal,
        });
        id
    }

    fn next_id(&mut self) -> TurnId {
        self.last_id += 1;
        TurnId(self.last_id)
    }

    fn stage_fits(&self) -> bool {
        let waiting = u32::try_from(self.tickets.len()).unwrap_or(u32::MAX);
        self.places.saturating_add(waiting) < self.limit
    }

    /// A submission was published, or a promised place is given back.
    pub(crate) fn return_place(&mut self) {
        self.places -= 1;
    }

    /// Uses a promised place; false when there is no such promise.
    pub(crate) fn take_promise(&mut self, id: TurnId) -> bool {
        match self.promised.iter().position(|promised| *promised == id) {
            Some(place) => {
                self.promised.swap_remove(place);
                true
            }
            None => false,
        }
    }

    pub(crate) fn turn(&self, id: TurnId) -> Turn {
        if self.active.is_some_and(|active| active.id == id) {
            Turn::Active
        } else if self.tickets.iter().any(|ticket| ticket.id == id) {
            Turn::AwaitsLane
        } else if self.promised.contains(&id) {
            Turn::Promised
        } else if self.waiters.iter().any(|waiter| waiter.id == id) {
            Turn::AwaitsPlace
        } else {
            Turn::Gone
        }
    }

    /// Gives up a turn that has not become a submission or an active stage.
    /// The signal comes back, so that its owner drops it outside of any lock.
    pub(crate) fn leave(&mut self, id: TurnId) -> Option<W> {
        if let Some(place) = self.waiters.iter().position(|waiter| waiter.id == id) {
            return self.waiters.remove(place).map(|waiter| waiter.signal);
        }
        if let Some(place) = self.tickets.iter().position(|ticket| ticket.id == id) {
            return self.tickets.remove(place).map(|ticket| ticket.signal);
        }
        if self.take_promise(id) {
            self.return_place();
        }
        None
    }

    /// The active stage gives the lane back; false when it is not the active one.
    pub(crate) fn release(&mut self, id: TurnId) -> bool {
        if self.active.is_some_and(|active| active.id == id) {
            self.active = None;
            return true;
        }
        false
    }

    /// Serves waiters and admits the next stage, as far as both go.
    ///
    /// `next_sequence` numbers a stage that takes its ticket now, `drained` says
    /// whether everything older than a sequence number, in a scope, is published.
    pub(crate) fn settle(
        &mut self,
        mut next_sequence: impl FnMut() -> u64,
        drained: impl Fn(DrainScope, u64) -> bool,
        wakes: &mut Vec<W>,
    ) {
        loop {
            let served = self.serve(&mut next_sequence, wakes);
            let admitted = self.admit(&drained, wakes);
            if !served && !admitted {
                return;
            }
        }
    }

    fn serve(&mut self, next_sequence: &mut impl FnMut() -> u64, wakes: &mut Vec<W>) -> bool {
        let stage_fits = self.stage_fits();
        let submission_fits = self.places < self.limit;
        // Stages keep their order among themselves, and so do submissions.
        let Some(place) = self.waiters.iter().position(|waiter| match waiter.entrant {
            Entrant::Submission => submission_fits,
            Entrant::Stage(_) => stage_fits,
        }) else {
            return false;
        };
        let Some(waiter) = self.waiters.remove(place) else {
            return false;
        };
        match waiter.entrant {
            Entrant::Submission => {
                self.places += 1;
                self.promised.push(waiter.id);
                wakes.push(waiter.signal);
            }
            Entrant::Stage(scope) => self.tickets.push_back(Ticket {
                id: waiter.id,
                sequence: next_sequence(),
                scope,
                signal: waiter.signal,
            }),
        }
        true
    }

    fn admit(&mut self, drained: &impl Fn(DrainScope, u64) -> bool, wakes: &mut Vec<W>) -> bool {
        if self.active.is_some() {
            return false;
        }
        let Some(ticket) = self
            .tickets
            .pop_front_if(|ticket| drained(ticket.scope, ticket.sequence))
        else {
            return false;
        };
        self.active = Some(Active {
            id: ticket.id,
            sequence: ticket.sequence,
        });
        wakes.push(ticket.signal);
        true
    }

    /// True when compute work with this sequence number must wait for a stage.
    pub(crate) fn bars(&self, sequence: u64) -> bool {
        let active = self.active.map(|active| active.sequence);
        let waiting = self.tickets.front().map(|ticket| ticket.sequence);
        active
            .into_iter()
            .chain(waiting)
            .any(|stage| stage < sequence)
    }

    /// True while somebody waits for a place or for the lane.
    pub(crate) fn anyone_waits(&self) -> bool {
        !self.waiters.is_empty() || !self.tickets.is_empty()
    }

    pub(crate) fn waiting_stages(&self) -> usize {
        self.tickets.len()
    }

    pub(crate) fn has_active(&self) -> bool {
        self.active.is_some()
    }

    /// Ends every turn that has not become a submission or an active stage.
    pub(crate) fn end_all(&mut self, wakes: &mut Vec<W>) {
        wakes.extend(self.waiters.drain(..).map(|waiter| waiter.signal));
        wakes.extend(self.tickets.drain(..).map(|ticket| ticket.signal));
    }
}
