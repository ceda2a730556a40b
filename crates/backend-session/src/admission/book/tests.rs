#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use super::{Book, Carried, Held, Limits, Moves, Order, Polled};
use crate::admission::ledger::{Account, Ledger};
use crate::attempt::{AttemptFacts, Verdict};
use crate::error::{EndedBy, Error};
use crate::gate::Gate;
use crate::identity::AttemptId;
use crate::report::Priority;
use backend_metrics::{DeviceOrdinal, Recorder};
use runtime_sync::Arc;
use std::task::Waker;

#[derive(Debug)]
struct Nothing;

impl Carried for Nothing {
    type Work = ();

    fn work(&self) {}

    fn enter_gpu(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn decide(&mut self, _verdict: &Verdict) {}
}

/// A book of one device of 10 bytes, with its gate.
fn book() -> (Book<Nothing>, Arc<Gate>) {
    let gate = Arc::new(Gate::new(8));
    let limits = Limits {
        most_queued: 4,
        claim_ns: 100,
        proof_ns: 100,
    };
    let recorder = Recorder::new([DeviceOrdinal(0)], 3).unwrap();
    let ledger = Ledger::new(vec![Account::new(0, 10, 4)]);
    (Book::new(gate.clone(), ledger, limits, recorder), gate)
}

fn submit(book: &mut Book<Nothing>, bytes: u64, moves: &mut Moves<Nothing>) -> AttemptId {
    let id = book.begin(0, |id, now_ns| {
        let facts = AttemptFacts::begun(id, None, None, Priority::Normal, now_ns);
        (facts, Nothing)
    });
    let order = Order {
        bytes,
        devices: book.ledger.select(|_, _| true),
        priority: Priority::Normal,
        tenant: None,
        queue_ns: None,
        execution_ns: None,
    };
    book.submit(id, order, |_| (), 0, moves);
    id
}

fn is_granted(book: &mut Book<Nothing>, id: AttemptId) -> bool {
    matches!(book.poll(id, Waker::noop().clone(), 0), Polled::Granted(..))
}

#[test]
fn bytes_wait_for_the_report() {
    let cancel = || Verdict::failed(EndedBy::Cancel, Error::CallerCancelled);
    let leave = || Verdict::failed(EndedBy::Drop, Error::AttemptDropped);
    for verdict in [cancel(), leave()] {
        let (mut book, _gate) = book();
        let mut moves = Moves::new();
        let first = submit(&mut book, 10, &mut moves);
        let second = submit(&mut book, 10, &mut moves);
        assert!(is_granted(&mut book, first));
        book.end(first, &verdict, 0, &mut moves);
        book.owner_left(first, 0, &mut moves);
        // Its work is over, and whoever moved it has yet to write the report.
        assert!(matches!(moves.ended[0].held, Held::Grant(_)));
        assert!(!is_granted(&mut book, second));
        book.give_back(first, || 0, 0, &mut moves);
        assert!(is_granted(&mut book, second));
    }
}

#[test]
fn a_closing_gate_stops_the_line() {
    let (mut book, gate) = book();
    let mut moves = Moves::new();
    let first = submit(&mut book, 10, &mut moves);
    let second = submit(&mut book, 10, &mut moves);
    assert!(is_granted(&mut book, first));
    gate.close();
    // The line is not drained yet, and the bytes come back.
    let leave = Verdict::failed(EndedBy::Drop, Error::AttemptDropped);
    book.end(first, &leave, 0, &mut moves);
    book.give_back(first, || 0, 0, &mut moves);
    assert!(!is_granted(&mut book, second));
}

#[test]
fn a_closed_line_takes_nobody() {
    let (mut book, _gate) = book();
    let mut moves = Moves::new();
    book.close(false, 0, &mut moves);
    submit(&mut book, 1, &mut moves);
    let facts = &moves.ended[0].facts;
    assert_eq!(facts.error_code().unwrap(), "admission_closed");
}

#[test]
fn the_clock_never_goes_back() {
    let (mut book, _gate) = book();
    let mut moves = Moves::new();
    let first = submit(&mut book, 10, &mut moves);
    book.expire(50, &mut moves);
    // The claim limit counts from the grant at 0, whatever a poll says later.
    let second = submit(&mut book, 10, &mut moves);
    assert!(!is_granted(&mut book, second));
    book.expire(10, &mut moves);
    assert!(moves.ended.is_empty());
    book.expire(100, &mut moves);
    assert_eq!(moves.ended[0].facts.id, first);
    assert_eq!(moves.ended[0].facts.at.ended_at_ns, Some(100));
}
