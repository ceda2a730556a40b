//! What ends a running attempt on a ledger: its owner's leaving, or the quarantine.

mod support;

use backend_session::{CapacityDisposition, CleanupDisposition, Ending, ErrorKind, Outcome};
use std::time::Duration;
use support::{eventually, report, stage, stage_with};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_cancelled_attempt_keeps_bytes_until_proven() {
    let stage = stage();
    let (attempt, receiver, handle) = stage.submit(60).granted();
    attempt.canceller().cancel().unwrap();
    assert_eq!(handle.check().unwrap_err().kind(), ErrorKind::AttemptEnded);
    // Its owner may still use the device: neither report nor bytes yet.
    let mut waiting = stage.submit(50);
    assert!(waiting.is_waiting() && receiver.try_report().is_none());
    assert_eq!(stage.free_bytes(), 40);
    drop(attempt);
    let report = report(receiver);
    assert_eq!(report.outcome, Outcome::Cancelled);
    assert_eq!(report.cleanup, CleanupDisposition::Proven);
    assert_eq!(waiting.poll_handle().granted_bytes(), 50);
}

#[test]
fn without_proof_the_bytes_are_quarantined() {
    let stage = stage_with(|builder| builder.ledger_device(0, 100).proof_limit(SECOND));
    let (attempt, receiver, _handle) = stage.submit(60).granted();
    attempt.canceller().cancel().unwrap();
    stage.clock.advance(SECOND);
    let first = report(receiver.clone());
    assert_eq!(first.outcome, Outcome::Cancelled);
    assert_eq!(first.cleanup, CleanupDisposition::Quarantined);
    assert_eq!(first.capacity, CapacityDisposition::Quarantined);
    let facts = stage.session.backend_metrics_snapshot().facts;
    assert_eq!(facts.tickets.quarantined, 1);
    assert_eq!(facts.devices[0].quarantined_bytes, 60);
    assert_eq!(facts.devices[0].free_bytes, 40);
    // The device goes on serving what fits beside the quarantine.
    let (other, ..) = stage.submit(40).granted();
    other.finish(Ending::Succeeded).unwrap();
    let mut waiting = stage.submit(100);
    assert!(waiting.is_waiting());

    // The late proof returns the bytes once, and the report stays as it was.
    drop(attempt);
    assert_eq!(waiting.poll_handle().granted_bytes(), 100);
    assert_eq!(report(receiver), first);
    waiting.attempt.finish(Ending::Succeeded).unwrap();
    assert_eq!(stage.free_bytes(), 100);
    let facts = stage.session.backend_metrics_snapshot().facts;
    assert_eq!((facts.tickets.quarantined, facts.tickets.ended), (0, 3));
}

#[test]
fn a_callers_timeout_changes_nothing() {
    let stage = stage();
    let (attempt, receiver, handle) = stage.submit(60).granted();
    stage.clock.advance(3_600 * SECOND);
    assert!(!handle.has_ended() && receiver.try_report().is_none());
    assert_eq!(stage.free_bytes(), 40);
    attempt.finish(Ending::Succeeded).unwrap();
    assert_eq!(report(receiver).outcome, Outcome::Succeeded);
}

#[test]
fn a_quarantine_does_not_idle_the_device() {
    let stage = stage_with(|builder| builder.ledger_device(0, 100).proof_limit(SECOND));
    let (stuck, ..) = stage.submit(60).granted();
    let mut large = stage.submit(90);
    let mut small = stage.submit(30);
    assert!(large.is_waiting() && small.is_waiting());
    stuck.canceller().cancel().unwrap();
    stage.clock.advance(SECOND);
    // Nothing larger than 40 can come while the quarantine lasts.
    eventually("the small one is granted", || small.wakes.count() == 1);
    assert_eq!(small.poll_handle().granted_bytes(), 30);
    assert!(large.poll().is_pending());
    drop(stuck);
    small.attempt.finish(Ending::Succeeded).unwrap();
    assert_eq!(large.poll_handle().granted_bytes(), 90);
}
