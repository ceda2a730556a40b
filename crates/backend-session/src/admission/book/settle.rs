//! From the grant to the return of its bytes.

use super::entry::{Carried, Deadline, Ended, Grant, Held, Moves, Stage};
use super::{Book, Sequence, facts};
use crate::admission::ledger::DeviceIndex;
use crate::attempt::{Event, Verdict};
use crate::error::{EndedBy, Error};
use crate::identity::AttemptId;
use std::time::Duration;

impl<C: Carried> Book<C> {
    /// Notes a placed grant on its ticket.
    pub(super) fn place(
        &mut self,
        id: AttemptId,
        sequence: Sequence,
        bytes: u64,
        device: DeviceIndex,
        moves: &mut Moves<C>,
    ) {
        let now_ns = self.now_ns;
        let account = self.ledger.account(device);
        let grant = Grant {
            device,
            ordinal: account.ordinal,
            generation: account.generation,
            has_runtime: !account.is_ledger_only,
            bytes,
            sequence,
        };
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        let Some(ticket) = entry.ticket.as_mut() else {
            return;
        };
        ticket.stage = Stage::Granted(grant);
        self.deadlines.clear(id, ticket, Deadline::Queue);
        let claim_at = now_ns.saturating_add(self.limits.claim_ns);
        self.deadlines.set(id, ticket, Deadline::Claim, claim_at);
        if let Some(execution_ns) = ticket.execution_ns {
            let at = now_ns.saturating_add(execution_ns);
            self.deadlines.set(id, ticket, Deadline::Execution, at);
        }
        entry.facts.advance(Event::Admit, now_ns);
        entry.facts.admission.granted_bytes = Some(bytes);
        entry.facts.admission.device = Some(grant.ordinal);
        entry.facts.admission.device_generation = Some(grant.generation);
        facts::record_grant(&self.recorder, &entry.facts);
        moves.wakers.extend(ticket.waker.take());
    }

    /// Ends one attempt and grants nothing.
    pub(super) fn end_one(
        &mut self,
        id: AttemptId,
        verdict: &Verdict,
        moves: &mut Moves<C>,
    ) -> bool {
        let now_ns = self.now_ns;
        let Some(entry) = self.entries.get_mut(&id) else {
            return false;
        };
        if !entry.facts.end(verdict, now_ns) {
            return false;
        }
        if let Some(completion) = entry.completion.as_mut() {
            completion.decide(verdict);
        }
        facts::record_end(&self.recorder, &entry.facts);
        let stage = entry.ticket.as_ref().map(|ticket| ticket.stage);
        match stage {
            None => self.leave(id, moves),
            Some(Stage::Queued) => {
                self.tally.ended += 1;
                self.leave(id, moves);
            }
            Some(Stage::Granted(grant)) => self.settle(id, grant, moves),
            Some(Stage::Running(grant)) => self.await_proof(id, grant, verdict, moves),
            // The facts ended with the ticket, so these are not reached.
            Some(Stage::Ending(_) | Stage::Settling(_) | Stage::Quarantined(_)) => {}
        }
        true
    }

    /// The attempt's device work is over, by the evidence of its runtime. For one
    /// in quarantine, `retained` says what buffers still hold of its bytes.
    pub(crate) fn prove(
        &mut self,
        id: AttemptId,
        retained: impl FnOnce() -> u64,
        now_ns: u64,
        moves: &mut Moves<C>,
    ) {
        self.tick(now_ns);
        self.accept_proof(id, retained, moves);
        self.pump(moves);
        self.rearm(moves);
    }

    /// True while the attempt is in quarantine.
    pub(crate) fn is_quarantined(&self, id: AttemptId) -> bool {
        let ticket = self
            .entries
            .get(&id)
            .and_then(|entry| entry.ticket.as_ref());
        ticket.is_some_and(|ticket| matches!(ticket.stage, Stage::Quarantined(_)))
    }

    /// No proof of the attempt's device work will come: it goes into quarantine,
    /// and its device out of service.
    pub(crate) fn give_up(&mut self, id: AttemptId, now_ns: u64, moves: &mut Moves<C>) {
        self.tick(now_ns);
        let stage = self
            .entries
            .get(&id)
            .and_then(|entry| entry.ticket.as_ref())
            .map(|ticket| ticket.stage);
        self.quarantine(id, moves);
        // A fault of an earlier generation says nothing against the present one.
        if let Some(Stage::Ending(grant) | Stage::Quarantined(grant)) = stage
            && self.ledger.account(grant.device).generation == grant.generation
        {
            self.set_open(grant.device, false, now_ns, moves);
        }
        self.rearm(moves);
    }

    /// The owner is gone: on a ledger-only device that is the proof.
    pub(crate) fn owner_left(&mut self, id: AttemptId, now_ns: u64, moves: &mut Moves<C>) {
        self.tick(now_ns);
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        entry.has_owner = false;
        let stage = entry.ticket.as_ref().map(|ticket| ticket.stage);
        if let Some(Stage::Ending(grant) | Stage::Quarantined(grant)) = stage
            && self.ledger.account(grant.device).is_ledger_only
        {
            self.accept_proof(id, || 0, moves);
            self.pump(moves);
        }
        self.rearm(moves);
    }

    /// The report is out: the grant's bytes go back to the line, but for what
    /// buffers still hold by the count of `retained`.
    pub(crate) fn give_back(
        &mut self,
        id: AttemptId,
        retained: impl FnOnce() -> u64,
        now_ns: u64,
        moves: &mut Moves<C>,
    ) {
        self.tick(now_ns);
        let stage = self
            .entries
            .get(&id)
            .and_then(|entry| entry.ticket.as_ref())
            .map(|ticket| ticket.stage);
        if let Some(Stage::Settling(grant)) = stage {
            self.entries.remove(&id);
            self.tally.ended += 1;
            let retained_bytes = retained();
            self.ledger
                .give_back(grant.device, grant.bytes, retained_bytes);
            self.paces[grant.device.place()].note(self.now_ns, grant.bytes);
        }
        self.pump(moves);
        self.rearm(moves);
    }

    /// Closes the line: ends what waits, and grants that nobody took. With
    /// `cancels_running` it ends what runs, too.
    pub(crate) fn close(&mut self, cancels_running: bool, now_ns: u64, moves: &mut Moves<C>) {
        self.tick(now_ns);
        self.is_closed = true;
        let closing: Vec<_> = self
            .entries
            .iter()
            .filter_map(|(id, entry)| {
                let error = match entry.ticket.as_ref().map(|ticket| ticket.stage)? {
                    Stage::Queued | Stage::Granted(_) => Error::AdmissionClosed,
                    Stage::Running(_) if cancels_running => Error::BackendClosing,
                    _ => return None,
                };
                Some((*id, Verdict::failed(EndedBy::Close, error)))
            })
            .collect();
        for (id, verdict) in closing {
            self.end_one(id, &verdict, moves);
        }
        self.rearm(moves);
    }

    /// One deadline has come.
    pub(super) fn fire(&mut self, id: AttemptId, which: Deadline, moves: &mut Moves<C>) {
        let Some(ticket) = self
            .entries
            .get(&id)
            .and_then(|entry| entry.ticket.as_ref())
        else {
            return;
        };
        let verdict = match which {
            Deadline::Queue => {
                let limit = Duration::from_nanos(ticket.queue_ns.unwrap_or(0));
                let error = Error::QueueWaitElapsed {
                    waited: self.waited(id),
                    limit,
                    retry_after: self.retry_after(ticket.devices),
                };
                Verdict::failed(EndedBy::QueueDeadline, error)
            }
            Deadline::Claim => {
                let limit = Duration::from_nanos(self.limits.claim_ns);
                Verdict::failed(EndedBy::ClaimLimit, Error::GrantUnclaimed { limit })
            }
            Deadline::Execution => {
                let limit = Duration::from_nanos(ticket.execution_ns.unwrap_or(0));
                let error = Error::ExecutionDeadlineElapsed { limit };
                Verdict::failed(EndedBy::ExecutionDeadline, error)
            }
            Deadline::Proof => {
                self.quarantine(id, moves);
                return;
            }
        };
        self.end_one(id, &verdict, moves);
    }

    fn waited(&self, id: AttemptId) -> Duration {
        let since = self
            .entries
            .get(&id)
            .and_then(|entry| entry.facts.at.queued_at_ns)
            .unwrap_or(self.now_ns);
        Duration::from_nanos(self.now_ns.saturating_sub(since))
    }

    /// An attempt without a grant leaves the book.
    fn leave(&mut self, id: AttemptId, moves: &mut Moves<C>) {
        let Some(entry) = self.entries.remove(&id) else {
            return;
        };
        let waker = entry.ticket.and_then(|mut ticket| {
            self.line.remove(ticket.sequence, ticket.devices);
            self.deadlines.clear_all(id, &mut ticket);
            ticket.waker
        });
        if let Some(completion) = entry.completion {
            moves.ended.push(Ended {
                completion,
                facts: entry.facts,
                held: Held::Nothing,
                waker,
            });
        }
    }

    /// A running attempt waits for the proof that its work is over.
    fn await_proof(
        &mut self,
        id: AttemptId,
        grant: Grant,
        verdict: &Verdict,
        moves: &mut Moves<C>,
    ) {
        let is_ledger_only = self.ledger.account(grant.device).is_ledger_only;
        let proof_at = self.now_ns.saturating_add(self.limits.proof_ns);
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        if is_ledger_only && (verdict.is_by_owner() || !entry.has_owner) {
            self.settle(id, grant, moves);
            return;
        }
        let (Some(ticket), Some(completion)) = (entry.ticket.as_mut(), &entry.completion) else {
            return;
        };
        ticket.stage = Stage::Ending(grant);
        self.deadlines.clear_all(id, ticket);
        self.deadlines.set(id, ticket, Deadline::Proof, proof_at);
        if !is_ledger_only {
            moves.proofs.push((id, completion.work()));
        }
    }

    fn accept_proof(
        &mut self,
        id: AttemptId,
        retained: impl FnOnce() -> u64,
        moves: &mut Moves<C>,
    ) {
        let stage = self
            .entries
            .get(&id)
            .and_then(|entry| entry.ticket.as_ref())
            .map(|ticket| ticket.stage);
        match stage {
            Some(Stage::Ending(grant)) => self.settle(id, grant, moves),
            Some(Stage::Quarantined(grant)) => {
                self.entries.remove(&id);
                self.tally.ended += 1;
                let retained_bytes = retained();
                self.ledger
                    .give_back_quarantined(grant.device, grant.bytes, retained_bytes);
            }
            _ => {}
        }
    }

    /// The work is over: the completion leaves, the bytes wait for the report.
    fn settle(&mut self, id: AttemptId, grant: Grant, moves: &mut Moves<C>) {
        self.release(id, Stage::Settling(grant), Held::Grant(grant), moves);
    }

    /// The work is not known to be over: the completion leaves, the bytes stay.
    fn quarantine(&mut self, id: AttemptId, moves: &mut Moves<C>) {
        let stage = self
            .entries
            .get(&id)
            .and_then(|entry| entry.ticket.as_ref())
            .map(|ticket| ticket.stage);
        if let Some(Stage::Ending(grant)) = stage {
            self.ledger.quarantine(grant.device, grant.bytes);
            self.release(
                id,
                Stage::Quarantined(grant),
                Held::Quarantined(grant),
                moves,
            );
        }
    }

    fn release(&mut self, id: AttemptId, stage: Stage, held: Held, moves: &mut Moves<C>) {
        let now_ns = self.now_ns;
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        let Some(ticket) = entry.ticket.as_mut() else {
            return;
        };
        ticket.stage = stage;
        self.deadlines.clear_all(id, ticket);
        let waker = ticket.waker.take();
        entry.facts.at.cleaned_at_ns = Some(now_ns);
        if let Some(completion) = entry.completion.take() {
            moves.ended.push(Ended {
                completion,
                facts: entry.facts.clone(),
                held,
                waker,
            });
        }
    }
}
