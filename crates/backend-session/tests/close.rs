//! Closing, and what waits for what.

mod support;

use backend_session::{
    AttemptBegin, BeginAttemptRequest, Disposition, Ending, Error, ErrorKind, GpuBackend, Outcome,
    QueryAttemptReport,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use support::{LONG, eventually, report, stage, stage_with, wait};

#[test]
fn nothing_begins_after_close() {
    let stage = stage();
    assert!(!stage.session.is_closing());
    assert!(stage.backend.close());
    assert!(stage.session.is_closing());
    let begin = BeginAttemptRequest::new();
    let error = stage.session.begin_attempt(begin).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(error.code(), "backend_closing");
    let request = backend_session::QueryAdmissionRequest::new(1);
    let error = wait(stage.session.admit_async_with_request(request)).unwrap_err();
    assert_eq!(error.code(), "backend_closing");
    let counts = stage.session.attempt_counters_snapshot();
    assert_eq!((counts.attempts_begun, counts.reports_ready), (0, 0));
}

#[test]
fn many_closers_have_one_winner() {
    for _ in 0..50 {
        let stage = stage();
        let wins = Arc::new(AtomicUsize::new(0));
        let closers: Vec<_> = (0..4)
            .map(|_| {
                let (backend, wins) = (stage.backend.clone(), wins.clone());
                std::thread::spawn(move || {
                    wins.fetch_add(usize::from(backend.close()), Ordering::Relaxed);
                })
            })
            .collect();
        for closer in closers {
            closer.join().unwrap();
        }
        assert_eq!(wins.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn the_last_handle_signals_close() {
    let stage = stage();
    let (session, clone) = (stage.session.clone(), stage.backend.clone());
    drop(stage);
    assert!(!session.is_closing());
    drop(clone);
    assert!(session.is_closing());
}

#[test]
fn sessions_neither_delay_nor_prevent_close() {
    let stage = stage();
    let sessions: Vec<_> = (0..10).map(|_| stage.backend.session()).collect();
    let closed = stage.backend.close_and_wait(LONG).unwrap();
    assert!(closed.is_clean());
    for session in sessions {
        assert!(session.same_backend(&stage.session));
        assert_eq!(session.attempt_counters_snapshot().attempts_begun, 0);
    }
    let other = support::stage();
    assert!(!other.session.same_backend(&stage.session));
    assert_ne!(other.session.identity(), stage.session.identity());
}

#[test]
fn an_open_attempt_holds_its_scope_open() {
    let stage = stage();
    let AttemptBegin { attempt, receiver } = stage.begin();
    let error = stage.backend.close_and_wait(Duration::ZERO).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CloseTimeout);
    // It holds no device, so the GPU scope ends without it.
    eventually("the devices are free", || {
        stage.backend.close_progress().is_gpu_quiescent
    });
    let error = stage
        .backend
        .close_and_wait(Duration::from_millis(1))
        .unwrap_err();
    assert_eq!(
        error,
        Error::CloseTimeout {
            gpu_open: false,
            observation_open: true
        }
    );
    drop(attempt);
    let closed = stage.backend.close_and_wait(LONG).unwrap();
    assert_eq!(closed.attempts_begun, 1);
    assert_eq!(report(receiver).outcome, Outcome::Dropped);
    // The report is made once and shared.
    let again = stage.backend.close_and_wait(LONG).unwrap();
    assert!(Arc::ptr_eq(&closed, &again));
}

#[test]
fn a_running_attempt_holds_both_scopes_open() {
    let stage = stage();
    let (attempt, _receiver, _handle) = stage.submit(1).granted();
    let error = stage
        .backend
        .close_and_wait(Duration::from_millis(1))
        .unwrap_err();
    assert_eq!(
        error,
        Error::CloseTimeout {
            gpu_open: true,
            observation_open: true
        }
    );
    attempt.finish(Ending::Succeeded).unwrap();
    stage.close();
}

#[test]
fn observation_outlives_close() {
    let stage = stage_with(|builder| builder.ledger_device(0, 1).completion_queue(4));
    let kept = stage.begin();
    drop(kept.attempt);
    let lost = stage.begin();
    drop(lost.receiver);
    drop(lost.attempt);
    // A receiver that holds its report does not delay close.
    stage.close();
    assert_eq!(report(kept.receiver).outcome, Outcome::Dropped);
    assert_eq!(stage.session.attempt_counters_snapshot().reports_ready, 2);
    assert_eq!(stage.session.take_abandoned_attempt_reports(9).len(), 1);
    stage.session.backend_metrics_snapshot().check().unwrap();
    assert!(stage.session.is_closing());
    for error in [
        stage.session.diagnostics().unwrap_err(),
        stage.session.device_telemetry_snapshots().unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert_eq!(error.code(), "backend_closing");
    }
}

#[test]
fn a_blocked_sink_delays_observation_alone() {
    let (release, blocked) = mpsc::channel::<()>();
    let stage = stage_with(|builder| {
        builder
            .ledger_device(0, 1)
            .sink(move |_: &Arc<QueryAttemptReport>| {
                let _ = blocked.recv();
            })
    });
    let (attempt, receiver, _handle) = stage.submit(1).granted();
    attempt.finish(Ending::Succeeded).unwrap();
    assert!(receiver.try_report().is_some());
    stage.backend.close();
    eventually("the devices are free", || {
        stage.backend.close_progress().is_gpu_quiescent
    });
    assert!(!stage.backend.close_progress().is_observation_quiescent);
    // A replacement may use the device meanwhile.
    assert!(!support::stage().submit(1).is_waiting());
    drop(release);
    stage.close();
}

#[test]
fn a_waiter_fails_before_close_returns() {
    let stage = stage();
    let (holder, ..) = stage.submit(100).granted();
    let mut waiting = stage.submit(1);
    stage.backend.close();
    eventually("the line is drained", || waiting.wakes.count() == 1);
    let report = waiting.receiver.try_report().unwrap();
    assert_eq!(report.outcome, Outcome::Closed);
    let error = waiting.poll_error();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(error.code(), "admission_closed");
    drop(holder);
    stage.close();
    let tickets = stage.session.backend_metrics_snapshot().facts.tickets;
    assert_eq!((tickets.submitted, tickets.ended), (2, 2));
}

#[test]
fn nothing_is_granted_once_close_is_signalled() {
    for _ in 0..50 {
        let stage = stage();
        let (holder, ..) = stage.submit(100).granted();
        let mut waiting = stage.submit(1);
        stage.backend.close();
        // The bytes return while the close thread has yet to drain the line.
        drop(holder);
        stage.close();
        assert_eq!(waiting.poll_error().code(), "admission_closed");
    }
}

#[test]
fn an_unclaimed_grant_ends_with_the_line() {
    let stage = stage();
    let (holder, ..) = stage.submit(100).granted();
    let mut waiting = stage.submit(1);
    holder.finish(Ending::Succeeded).unwrap();
    // It has its grant, and is never polled again.
    stage.close();
    assert_eq!(report(waiting.receiver.clone()).outcome, Outcome::Closed);
    assert_eq!(waiting.poll_error().code(), "admission_closed");
}

#[test]
fn an_unplanned_attempt_never_plans_after_close() {
    let stage = stage();
    let AttemptBegin { attempt, receiver } = stage.begin();
    stage.backend.close();
    assert_eq!(attempt.plan().unwrap_err().code(), "backend_closing");
    let report = report(receiver);
    assert_eq!(report.disposition, Disposition::Unplanned);
    assert_eq!(report.outcome, Outcome::Closed);
    assert_eq!(report.timestamps.planned_at_ns, None);
    let failure = report.first_failure.as_ref().unwrap();
    assert_eq!(failure.code, "backend_closing");
}

#[test]
fn admission_after_close_reports_backend_closing() {
    let stage = stage();
    let AttemptBegin { attempt, receiver } = stage.begin();
    attempt.plan().unwrap();
    stage.backend.close();
    let request = attempt.request(1).unwrap();
    let error = wait(stage.session.admit_async_with_request(request)).unwrap_err();
    assert_eq!(error.code(), "backend_closing");
    let report = report(receiver);
    assert_eq!(report.disposition, Disposition::Fallback);
    assert_eq!(report.outcome, Outcome::Closed);
    stage.close();
}

#[test]
fn close_may_cancel_what_runs() {
    let stage = stage();
    let (attempt, receiver, handle) = stage.submit(1).granted();
    stage.backend.close_and_cancel();
    eventually("the attempt ends", || handle.has_ended());
    // The device's work is over when its owner says so.
    assert!(receiver.try_report().is_none());
    drop(attempt);
    let report = report(receiver);
    assert_eq!(report.outcome, Outcome::Closed);
    assert_eq!(
        report.first_failure.as_ref().unwrap().code,
        "backend_closing"
    );
    stage.close();
}

#[test]
fn close_can_be_awaited_for_a_limit() {
    let stage = stage();
    let AttemptBegin { attempt, .. } = stage.begin();
    let mut closed = Box::pin(stage.backend.close_async(Duration::from_secs(1)));
    let wakes = Arc::new(support::Wakes::default());
    let waker = std::task::Waker::from(wakes.clone());
    assert!(support::poll_with(closed.as_mut(), &waker).is_pending());
    stage.clock.advance(Duration::from_secs(1));
    eventually("the wait ends", || wakes.count() == 1);
    let error = wait(closed).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CloseTimeout);
    let patient = stage.backend.close_async(LONG);
    drop(attempt);
    assert!(wait(patient).unwrap().is_clean());
}

#[test]
fn unproven_work_keeps_its_bytes_over_close() {
    let stage = stage_with(|builder| {
        builder
            .ledger_device(0, 100)
            .proof_limit(Duration::from_secs(1))
    });
    let (attempt, receiver, _handle) = stage.submit(30).granted();
    stage.backend.close_and_cancel();
    eventually("the attempt ends", || attempt.has_ended());
    stage.clock.advance(Duration::from_secs(1));
    let closed = stage.backend.close_and_wait(LONG).unwrap();
    assert!(!closed.is_clean());
    assert_eq!(closed.devices[0].quarantined_bytes, 30);
    assert_eq!(
        report(receiver).capacity,
        backend_session::CapacityDisposition::Quarantined
    );
    drop(attempt);
    assert_eq!(stage.free_bytes(), 100);
}

#[test]
fn a_failed_build_claims_nothing() {
    // A device of no bytes is found after the others were planned.
    let built = GpuBackend::builder()
        .ledger_device(0, 1)
        .ledger_device(1, 0)
        .build();
    assert!(built.is_err());
}
