//! Random operations on a book, against what must always hold.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use super::{Book, Carried, Held, Limits, Moves, Order, Polled};
use crate::admission::ledger::{Account, Ledger};
use crate::attempt::{AttemptFacts, Verdict};
use crate::error::{EndedBy, Error};
use crate::gate::Gate;
use crate::identity::AttemptId;
use crate::report::Priority;
use backend_metrics::{DeviceOrdinal, Recorder};
use proptest::prelude::*;
use runtime_sync::Arc;
use std::collections::{BTreeMap, BTreeSet};
use std::task::Waker;

/// Counts what is decided, and how often.
#[derive(Debug)]
struct Token {
    id: AttemptId,
    decisions: u32,
}

impl Carried for Token {
    type Work = ();

    fn work(&self) {}

    fn enter_gpu(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn decide(&mut self, _verdict: &Verdict) {
        self.decisions += 1;
    }
}

#[derive(Debug, Clone)]
enum Step {
    Submit { bytes: u64, deadline: u64 },
    Claim(usize),
    Cancel(usize),
    Leave(usize),
    GiveBack(usize),
    Pass(u64),
    Reserve(u64),
    Release,
    Resize(u64),
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1u64..130, 0u64..30).prop_map(|(bytes, deadline)| Step::Submit { bytes, deadline }),
        4 => (0usize..64).prop_map(Step::Claim),
        2 => (0usize..64).prop_map(Step::Cancel),
        5 => (0usize..64).prop_map(Step::Leave),
        6 => (0usize..64).prop_map(Step::GiveBack),
        3 => (1u64..8).prop_map(Step::Pass),
        1 => (1u64..50).prop_map(Step::Reserve),
        1 => Just(Step::Release),
        1 => (60u64..120).prop_map(Step::Resize),
        1 => Just(Step::Close),
    ]
}

/// A book and what was seen of it from outside.
struct World {
    book: Book<Token>,
    now_ns: u64,
    open: BTreeSet<AttemptId>,
    /// Ended with a grant whose bytes are not given back yet.
    settling: Vec<AttemptId>,
    reported: BTreeMap<AttemptId, Held>,
    granted: Vec<u64>,
    residents: Vec<u64>,
    has_shrunk: bool,
}

impl World {
    fn new() -> Self {
        let gate = Arc::new(Gate::new(1_000));
        let ledger = Ledger::new(vec![Account::new(0, 100, 3), Account::new(1, 50, 3)]);
        let limits = Limits {
            most_queued: 5,
            claim_ns: 20,
            proof_ns: 10,
        };
        let recorder = Recorder::new([DeviceOrdinal(0), DeviceOrdinal(1)], 3).unwrap();
        Self {
            book: Book::new(gate, ledger, limits, recorder),
            now_ns: 0,
            open: BTreeSet::new(),
            settling: Vec::new(),
            reported: BTreeMap::new(),
            granted: Vec::new(),
            residents: Vec::new(),
            has_shrunk: false,
        }
    }

    fn pick(&self, place: usize) -> Option<AttemptId> {
        self.open
            .iter()
            .nth(place % self.open.len().max(1))
            .copied()
    }

    fn take(&mut self, step: Step) {
        let (now_ns, mut moves) = (self.now_ns, Moves::new());
        let device = self.book.find(0).unwrap();
        match step {
            Step::Submit { bytes, deadline } => self.submit(bytes, deadline, &mut moves),
            Step::Claim(place) => {
                let Some(id) = self.pick(place) else { return };
                let polled = self.book.poll(id, Waker::noop().clone(), now_ns);
                if let Polled::Granted(grant, _) = polled {
                    assert!(!self.reported.contains_key(&id));
                    self.granted.push(grant.sequence);
                }
            }
            Step::Cancel(place) => {
                let Some(id) = self.pick(place) else { return };
                let verdict = Verdict::failed(EndedBy::Cancel, Error::CallerCancelled);
                self.book.end(id, &verdict, now_ns, &mut moves);
            }
            Step::Leave(place) => {
                let Some(id) = self.pick(place) else { return };
                let verdict = Verdict::failed(EndedBy::Drop, Error::AttemptDropped);
                self.book.end(id, &verdict, now_ns, &mut moves);
                self.book.owner_left(id, now_ns, &mut moves);
                self.open.remove(&id);
            }
            Step::GiveBack(place) => {
                if !self.settling.is_empty() {
                    let id = self.settling.remove(place % self.settling.len());
                    self.book.give_back(id, || 0, now_ns, &mut moves);
                }
            }
            Step::Pass(span) => {
                self.now_ns += span;
                self.book.expire(self.now_ns, &mut moves);
            }
            Step::Reserve(bytes) => {
                if self.book.reserve(device, bytes, now_ns, &mut moves).is_ok() {
                    self.residents.push(bytes);
                }
            }
            Step::Release => {
                if let Some(bytes) = self.residents.pop() {
                    self.book
                        .release_resident(device, bytes, 0, now_ns, &mut moves);
                }
            }
            Step::Resize(bytes) => {
                let before = self.book.ledger.account(device).capacity_bytes;
                self.has_shrunk |= bytes < before;
                self.book.resize(device, bytes, now_ns, &mut moves);
            }
            Step::Close => self.book.close(false, now_ns, &mut moves),
        }
        self.note(moves);
    }

    fn submit(&mut self, bytes: u64, deadline: u64, moves: &mut Moves<Token>) {
        let draft = |id, now_ns| {
            let facts = AttemptFacts::begun(id, None, None, Priority::Normal, now_ns);
            (facts, Token { id, decisions: 0 })
        };
        let id = self.book.begin(self.now_ns, draft);
        self.open.insert(id);
        let order = Order {
            bytes,
            devices: self.book.ledger.select(|_, _| true),
            priority: Priority::Normal,
            tenant: None,
            queue_ns: Some(deadline),
            execution_ns: deadline.is_multiple_of(3).then_some(deadline),
        };
        self.book.submit(id, order, |_| (), self.now_ns, moves);
    }

    /// Every completion leaves once, decided once.
    fn note(&mut self, moves: Moves<Token>) {
        for ended in moves.ended {
            assert_eq!(ended.completion.decisions, 1);
            assert_eq!(ended.completion.id, ended.facts.id);
            let before = self.reported.insert(ended.facts.id, ended.held);
            assert!(before.is_none(), "two reports of {}", ended.facts.id);
            if let Held::Grant(_) = ended.held {
                self.settling.push(ended.facts.id);
            }
        }
    }

    fn check(&mut self) {
        let facts = self.book.facts(self.now_ns);
        facts.check().unwrap();
        for device in &facts.devices {
            assert!(device.running_attempts <= 3);
            // Nothing is given beyond what there is; only a smaller capacity can
            // leave more held than that.
            assert!(device.free_bytes >= 0 || self.has_shrunk);
        }
        assert!(facts.tickets.queued <= 5);
    }
}

proptest! {
    #[test]
    fn every_attempt_is_reported_once(steps in prop::collection::vec(step(), 1..120)) {
        let mut world = World::new();
        for step in steps {
            world.take(step);
            world.check();
        }
        // Everybody leaves, every byte comes back, and nothing is left.
        while let Some(id) = world.pick(0) {
            world.take(Step::Leave(0));
            prop_assert!(world.reported.contains_key(&id));
        }
        while !world.settling.is_empty() {
            world.take(Step::GiveBack(0));
        }
        world.check();
        let facts = world.book.facts(world.now_ns);
        prop_assert_eq!(facts.tickets.submitted, facts.tickets.ended);
        for device in &facts.devices {
            prop_assert_eq!(device.granted_bytes + device.quarantined_bytes, 0);
        }
    }
}
