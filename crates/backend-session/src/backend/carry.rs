//! Carrying out what the book decided, without its lock.
//!
//! Order before a grant: GPU permit, publish, wake, sinks, observation permit,
//! activity. After one: publish, return the bytes and grant again, GPU permit,
//! wake, sinks, observation permit, activity. So nothing is granted on bytes
//! whose report does not exist yet, and close never sees a report missing.

use super::Shared;
use super::delivery::Job;
use crate::admission::{Ended, Held, Moves};
use crate::attempt::{AttemptFacts, CleanupFacts, Event, QueryCompletion, Record};
use crate::callout;
use crate::identity::AttemptId;
use crate::report::{CapacityDisposition, CleanupDisposition, QueryAttemptReport};
use runtime_sync::Arc;
use std::collections::VecDeque;
use std::task::Waker;

impl Shared {
    /// Carries out `moves`, and what follows from them, until nothing is left.
    pub(super) fn carry_out(&self, moves: Moves<QueryCompletion>) {
        let mut open = VecDeque::from([moves]);
        while let Some(moves) = open.pop_front() {
            if moves.is_sooner {
                self.bell.ring();
            }
            callout::wake_all(moves.wakers);
            for (id, record) in moves.proofs {
                record.work.revoke();
                open.extend(self.seek_proof(id, &record));
            }
            for ended in moves.ended {
                open.extend(self.finish(ended));
            }
        }
    }

    /// Everything that is owed at the end of one attempt.
    fn finish(&self, ended: Ended<QueryCompletion>) -> Option<Moves<QueryCompletion>> {
        let Ended {
            completion,
            facts,
            held,
            waker,
        } = ended;
        let QueryCompletion {
            gpu,
            publisher,
            observation,
            activity,
        } = completion;
        let (id, found) = (facts.id, publisher.work.facts());
        // Before a grant no device is held, and the permit goes first. After one
        // it outlives the return of the bytes.
        let gpu = if held == Held::Nothing {
            drop(gpu);
            None
        } else {
            gpu
        };
        let (report, mut wakers) = self.publish(&publisher, facts, held, found);
        let moves = matches!(held, Held::Grant(_)).then(|| self.give_back(id, &publisher));
        if !matches!(held, Held::Quarantined(_)) {
            // The device is let go without a lock, and before its permit.
            drop(publisher.work.take());
        }
        drop(gpu);
        wakers.extend(waker);
        callout::wake_all(wakers);
        self.delivery.push(Job {
            report,
            observation,
            activity,
        });
        moves
    }

    fn give_back(&self, id: AttemptId, record: &Record) -> Moves<QueryCompletion> {
        let now_ns = self.clock.now_ns();
        let mut moves = Moves::new();
        self.book
            .lock()
            .give_back(id, || record.work.retain(), now_ns, &mut moves);
        moves
    }

    /// Seals the report and makes it readable.
    fn publish(
        &self,
        record: &Record,
        mut facts: AttemptFacts,
        held: Held,
        found: CleanupFacts,
    ) -> (Arc<QueryAttemptReport>, Vec<Waker>) {
        let (cleanup, capacity) = match held {
            Held::Nothing => (
                CleanupDisposition::NotNeeded,
                CapacityDisposition::NotGranted,
            ),
            Held::Grant(_) if found.memory.held_bytes > 0 => {
                (CleanupDisposition::Proven, CapacityDisposition::Retained)
            }
            Held::Grant(_) => (CleanupDisposition::Proven, CapacityDisposition::Returned),
            Held::Quarantined(_) => (
                CleanupDisposition::Quarantined,
                CapacityDisposition::Quarantined,
            ),
        };
        if let Held::Quarantined(grant) = held {
            // A subscriber is foreign code, too.
            callout::run(|| {
                tracing::warn!(
                    backend = %self.identity,
                    attempt = %record.id,
                    device = grant.ordinal,
                    bytes = grant.bytes,
                    "no proof that the attempt's work is over: its bytes stay charged"
                );
            });
        }
        let lost = self.delivery.lost();
        let now_ns = self.clock.now_ns();
        let report = facts.seal(self.identity, cleanup, capacity, found, lost, now_ns);
        let report = Arc::new(report);
        let wakers = record.slot.publish(report.clone(), &self.abandoned);
        facts.advance(Event::Publish, now_ns);
        (report, wakers)
    }
}
