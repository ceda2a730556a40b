//! Rivals for one ticket. Each model checks that the completion leaves the book
//! exactly once, whoever moves the ticket, and that the bytes come back.

#![allow(clippy::unwrap_used, reason = "helpers of models")]

use super::{Book, Carried, Grant, Limits, Moves, Order, Polled};
use crate::admission::ledger::{Account, Ledger};
use crate::attempt::{AttemptFacts, Verdict};
use crate::error::{EndedBy, Error};
use crate::gate::{Gate, GpuPermit, ObservationPermit};
use crate::identity::AttemptId;
use crate::report::Priority;
use backend_metrics::{DeviceOrdinal, Recorder};
use runtime_sync::{Arc, Mutex, model, thread};
use std::task::Waker;

/// The permits alone: what the protocol is about.
#[derive(Debug)]
struct Permits {
    gpu: Option<GpuPermit>,
    observation: ObservationPermit,
}

impl Carried for Permits {
    type Work = ();

    fn work(&self) {}

    fn enter_gpu(&mut self) -> Result<(), Error> {
        self.gpu = Some(self.observation.enter_gpu()?);
        Ok(())
    }

    fn decide(&mut self, _verdict: &Verdict) {}
}

struct Scene {
    gate: Arc<Gate>,
    book: Mutex<Book<Permits>>,
}

fn scene() -> Arc<Scene> {
    let gate = Arc::new(Gate::new(8));
    let recorder = Recorder::new([DeviceOrdinal(0)], 3).unwrap();
    let limits = Limits {
        most_queued: 4,
        claim_ns: 1_000,
        proof_ns: 1_000,
    };
    let ledger = Ledger::new(vec![Account::new(0, 10, 4)]);
    let book = Book::new(gate.clone(), ledger, limits, recorder);
    Arc::new(Scene {
        gate,
        book: Mutex::new(book),
    })
}

impl Scene {
    fn begin(&self) -> Option<AttemptId> {
        let observation = ObservationPermit::begin(&self.gate).ok()?;
        Some(self.book.lock().begin(0, |id, now_ns| {
            let facts = AttemptFacts::begun(id, None, None, Priority::Normal, now_ns);
            let gpu = None;
            (facts, Permits { gpu, observation })
        }))
    }

    fn submit(&self, id: AttemptId) -> u32 {
        let mut moves = Moves::new();
        let mut book = self.book.lock();
        let order = Order {
            bytes: 6,
            devices: book.ledger.select(|_, _| true),
            priority: Priority::Normal,
            tenant: None,
            queue_ns: None,
            execution_ns: None,
        };
        book.submit(id, order, |_| (), 0, &mut moves);
        drop(book);
        self.carry_out(moves)
    }

    fn claim(&self, id: AttemptId) -> Option<Grant> {
        match self.book.lock().poll(id, Waker::noop().clone(), 0) {
            Polled::Granted(grant, _) => Some(grant),
            Polled::Waiting(_) | Polled::Gone(_) => None,
        }
    }

    fn end(&self, id: AttemptId, by: EndedBy, error: Error) -> (bool, u32) {
        let mut moves = Moves::new();
        let verdict = Verdict::failed(by, error);
        let is_first = self.book.lock().end(id, &verdict, 0, &mut moves);
        (is_first, self.carry_out(moves))
    }

    fn owner_leaves(&self, id: AttemptId) -> u32 {
        let mut ended = self.end(id, EndedBy::Drop, Error::AttemptDropped).1;
        let mut moves = Moves::new();
        self.book.lock().owner_left(id, 0, &mut moves);
        ended += self.carry_out(moves);
        ended
    }

    /// As the backend does: report, bytes, GPU permit, observation permit. Says
    /// how many reports there would be.
    fn carry_out(&self, moves: Moves<Permits>) -> u32 {
        let mut reports = 0;
        let mut open = vec![moves];
        while let Some(moves) = open.pop() {
            for ended in moves.ended {
                reports += 1;
                if matches!(ended.held, super::Held::Grant(_)) {
                    let mut more = Moves::new();
                    self.book
                        .lock()
                        .give_back(ended.facts.id, || 0, 0, &mut more);
                    open.push(more);
                }
                drop(ended.completion.gpu);
                drop(ended.completion.observation);
            }
        }
        reports
    }

    fn assert_empty(&self) {
        let mut book = self.book.lock();
        let facts = book.facts(0);
        assert_eq!(facts.devices[0].free_bytes, 10);
        assert_eq!(facts.tickets.submitted, facts.tickets.ended);
        drop(book);
        let word = self.gate.snapshot();
        assert_eq!((word.observation_permits, word.gpu_permits), (0, 0));
    }
}

#[test]
fn cancel_against_grant_reports_once() {
    model("line: cancel against grant and claim", || {
        let scene = scene();
        let first = scene.begin().unwrap();
        scene.submit(first);
        let second = scene.begin().unwrap();
        scene.submit(second);
        // The first one's end grants the second; its rivals cancel and claim it.
        let other = scene.clone();
        let releaser = thread::spawn_named("releaser", move || other.owner_leaves(first));
        let other = scene.clone();
        let canceller = thread::spawn_named("canceller", move || {
            other.end(second, EndedBy::Cancel, Error::CallerCancelled)
        });
        let claimed = scene.claim(second).is_some();
        let released = releaser.unwrap().join().unwrap();
        let (is_first, cancelled) = canceller.unwrap().join().unwrap();
        assert!(is_first);
        let left = scene.owner_leaves(second);
        assert_eq!(released, 1);
        // A running attempt is reported when its owner leaves, any other at once.
        assert_eq!(cancelled + left, 1);
        assert!(claimed || cancelled == 1);
        scene.assert_empty();
    });
}

#[test]
fn an_insert_racing_the_drain_is_drained() {
    model("line: insert against the drain of close", || {
        let scene = scene();
        let holder = scene.begin().unwrap();
        scene.submit(holder);
        assert!(scene.claim(holder).is_some());
        let closing = scene.clone();
        let closer = thread::spawn_named("closer", move || {
            closing.gate.wait_closing();
            let mut moves = Moves::new();
            closing.book.lock().close(false, 0, &mut moves);
            let drained = closing.carry_out(moves);
            closing.gate.wait_observation_quiescent();
            drained
        })
        .unwrap();
        scene.gate.set_closer(closer.thread().clone());
        let other = scene.clone();
        let inserter = thread::spawn_named("inserter", move || {
            let Some(id) = other.begin() else {
                return (0, 0);
            };
            (1, other.submit(id))
        });
        scene.gate.close();
        let released = scene.owner_leaves(holder);
        let (begun, refused) = inserter.unwrap().join().unwrap();
        let drained = closer.join().unwrap();
        // Refused at the gate, or in the line when it was drained; never granted.
        assert_eq!(released, 1);
        assert_eq!(refused + drained, begun);
        scene.assert_empty();
    });
}
