//! Attempts from begin to report, on a ledger-only device.

mod support;

use backend_session::{
    AttemptBegin, BeginAttemptRequest, CapacityDisposition, CleanupDisposition, Disposition,
    Ending, ErrorKind, Outcome, QueryAdmissionRequest,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use support::{report, stage, wait};

#[test]
fn the_whole_lifecycle_needs_no_driver() {
    let stage = stage();
    let (attempt, receiver, handle) = stage.submit(60).granted();
    assert_eq!((handle.device_ordinal(), handle.granted_bytes()), (0, 60));
    assert_eq!(stage.free_bytes(), 40);
    assert!(handle.check().is_ok());
    attempt.finish(Ending::Succeeded).unwrap();

    let report = report(receiver);
    assert_eq!(report.outcome, Outcome::Succeeded);
    assert_eq!(report.disposition, Disposition::Native);
    assert_eq!(report.cleanup, CleanupDisposition::Proven);
    assert_eq!(report.capacity, CapacityDisposition::Returned);
    assert_eq!(report.admission.granted_bytes, Some(60));
    assert_eq!(report.first_failure, None);
    assert_eq!(stage.free_bytes(), 100);
    assert_eq!(handle.check().unwrap_err().kind(), ErrorKind::AttemptEnded);
    stage.close();
}

#[test]
fn a_dropped_owner_is_reported() {
    let stage = stage();
    let AttemptBegin { attempt, receiver } = stage.begin();
    drop(attempt);
    let report = report(receiver);
    assert_eq!(report.outcome, Outcome::Dropped);
    assert_eq!(report.disposition, Disposition::Unplanned);
    assert_eq!(report.cleanup, CleanupDisposition::NotNeeded);
}

#[test]
fn a_planned_attempt_may_fall_back() {
    let stage = stage();
    let AttemptBegin { attempt, receiver } = stage.begin();
    attempt.plan().unwrap();
    attempt.finish(Ending::Succeeded).unwrap();
    let report = report(receiver);
    assert_eq!(report.disposition, Disposition::Fallback);
    assert_eq!(report.outcome, Outcome::Succeeded);
}

#[test]
fn a_client_error_is_reported_as_such() {
    let stage = stage();
    let (attempt, receiver, _handle) = stage.submit(1).granted();
    let code = "division_by_zero".to_owned();
    attempt.finish(Ending::Failed { code }).unwrap();
    let report = report(receiver);
    assert_eq!(report.outcome, Outcome::Failed);
    assert_eq!(report.disposition, Disposition::Partial);
    let failure = report.first_failure.as_ref().unwrap();
    assert_eq!(failure.code, "client_failed");
    assert_eq!(
        failure.facts.source_code.as_deref(),
        Some("division_by_zero")
    );
}

#[test]
fn a_panic_is_reported_and_goes_on() {
    let stage = stage();
    let (attempt, receiver, handle) = stage.submit(10).granted();
    let outcome = catch_unwind(AssertUnwindSafe(move || {
        let _owner = attempt;
        panic!("the query fails");
    }));
    let message = outcome.unwrap_err();
    assert_eq!(message.downcast_ref(), Some(&"the query fails"));
    assert_eq!(report(receiver).outcome, Outcome::Panicked);
    assert_eq!(handle.check().unwrap_err().kind(), ErrorKind::AttemptEnded);
    let counts = stage.session.attempt_counters_snapshot();
    assert_eq!(counts.reports_ready, 1);
    assert_eq!(stage.free_bytes(), 100);
}

#[test]
fn the_first_end_stands() {
    let stage = stage();
    let AttemptBegin { attempt, receiver } = stage.begin();
    let canceller = attempt.canceller();
    canceller.clone().cancel().unwrap();
    let late = attempt.finish(Ending::Succeeded).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::AlreadyEnded);
    assert_eq!(late.to_string(), "attempt 1 had ended before: cancel");
    assert_eq!(canceller.cancel().unwrap_err(), late);
    assert_eq!(report(receiver).outcome, Outcome::Cancelled);
    assert_eq!(stage.session.attempt_counters_snapshot().reports_ready, 1);
}

#[test]
fn an_attempt_is_claimed_once() {
    let stage = stage();
    let AttemptBegin { attempt, .. } = stage.begin();
    let claim = attempt.claim().unwrap();
    let before = stage.session.backend_metrics_snapshot().facts.tickets;
    let second = attempt.claim().unwrap_err();
    assert_eq!(second.kind(), ErrorKind::AlreadyClaimed);
    let after = stage.session.backend_metrics_snapshot().facts.tickets;
    assert_eq!(before, after);
    assert!(!attempt.has_ended());
    // An unused claim comes back; a used one does not.
    drop(claim);
    let request = attempt.request(1).unwrap();
    let handle = wait(stage.session.admit_async_with_request(request)).unwrap();
    assert_eq!(
        attempt.claim().unwrap_err().kind(),
        ErrorKind::AlreadyClaimed
    );
    drop(handle);
}

#[test]
fn a_dropped_handle_releases_nothing() {
    let stage = stage();
    let (attempt, _receiver, handle) = stage.submit(70).granted();
    drop(handle);
    assert_eq!(stage.free_bytes(), 30);
    attempt.finish(Ending::Succeeded).unwrap();
    assert_eq!(stage.free_bytes(), 100);
}

#[test]
fn a_request_without_claim_owns_its_attempt() {
    let stage = stage();
    let request = QueryAdmissionRequest::new(10).correlation("own");
    let handle = wait(stage.session.admit_async_with_request(request)).unwrap();
    let receiver = handle.receiver();
    let clone = handle.clone();
    drop(handle);
    assert!(!clone.has_ended());
    drop(clone);
    let first = report(receiver);
    assert_eq!(first.outcome, Outcome::Dropped);
    assert_eq!(first.correlation.as_deref(), Some("own"));

    let request = QueryAdmissionRequest::new(10);
    let handle = wait(stage.session.admit_async_with_request(request)).unwrap();
    let owner = handle.take_attempt().unwrap();
    assert!(handle.take_attempt().is_none());
    owner.finish(Ending::Succeeded).unwrap();
    assert_eq!(report(handle.receiver()).outcome, Outcome::Succeeded);
}

#[test]
fn a_claim_of_another_backend_is_refused() {
    let (here, there) = (stage(), stage());
    let AttemptBegin { attempt, .. } = there.begin();
    let request = attempt.request(1).unwrap();
    let error = wait(here.session.admit_async_with_request(request)).unwrap_err();
    assert_eq!(error.code(), "foreign_attempt");
    assert!(!attempt.has_ended());
    assert!(attempt.claim().is_ok());
}

#[test]
fn names_and_sizes_are_bounded() {
    let stage = stage();
    let long = "x".repeat(257);
    let begin = BeginAttemptRequest::new().tenant(long.clone());
    let error = stage.session.begin_attempt(begin).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    for request in [
        QueryAdmissionRequest::new(0),
        QueryAdmissionRequest::new(1).tenant(long),
    ] {
        let error = wait(stage.session.admit_async_with_request(request)).unwrap_err();
        assert_eq!(error.code(), "out_of_range");
    }
    assert_eq!(stage.session.attempt_counters_snapshot().attempts_begun, 0);
}
