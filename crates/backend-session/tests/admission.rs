//! The line: who is granted, refused, expired or cancelled.

mod support;

use backend_session::{
    CapacityDisposition, Disposition, EndedBy, Ending, Error, ErrorKind, Outcome,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::{eventually, report, stage, stage_with, wait};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_full_queue_refuses_with_its_bound() {
    let stage = stage_with(|builder| builder.ledger_device(0, 100).max_queued(1));
    let (holder, ..) = stage.submit(100).granted();
    let waiting = stage.submit(1);
    assert!(waiting.is_waiting());
    let refused = stage.submit(1);
    let error = refused.refused();
    assert_eq!(error.kind(), ErrorKind::ServiceOverloaded);
    assert_eq!(error.code(), "admission_queue_full");
    assert!(matches!(
        error,
        Error::AdmissionQueueFull {
            depth: 1,
            bound: 1,
            ..
        }
    ));
    let report = report(refused.receiver);
    assert_eq!(report.outcome, Outcome::Rejected);
    assert_eq!(report.disposition, Disposition::Fallback);
    assert_eq!(report.admission.sequence, None);
    assert_eq!(report.admission.granted_bytes, None);
    let failure = report.first_failure.as_ref().unwrap();
    assert_eq!(
        (failure.facts.depth, failure.facts.bound),
        (Some(1), Some(1))
    );
    // Its permits are back: the holder's and the waiting one's are left.
    eventually("the permits return", || {
        let word = stage.backend.gate();
        (word.observation_permits, word.gpu_permits) == (2, 2)
    });
    let tickets = stage.session.backend_metrics_snapshot().facts.tickets;
    assert_eq!((tickets.submitted, tickets.queued), (2, 1));
    drop(holder);
}

#[test]
fn a_newcomer_sweeps_expired_waiters() {
    let stage = stage_with(|builder| builder.ledger_device(0, 100).max_queued(1));
    let (_holder, ..) = stage.submit(100).granted();
    let old = stage.submit_with(1, |request| request.queue_deadline(SECOND));
    assert!(old.is_waiting());
    stage.clock.advance(SECOND);
    assert!(stage.submit(1).is_waiting());
    assert_eq!(report(old.receiver).outcome, Outcome::Expired);
}

#[test]
fn only_the_expired_waiter_ends() {
    let stage = stage();
    let (_holder, ..) = stage.submit(100).granted();
    let mut first = stage.submit_with(1, |request| request.queue_deadline(SECOND));
    let second = stage.submit(1);
    stage.clock.advance(SECOND - Duration::from_nanos(1));
    assert!(first.poll().is_pending());
    // Nobody polls, releases or drives an executor: the timer fires alone.
    stage.clock.advance(Duration::from_nanos(1));
    eventually("the deadline fires", || first.wakes.count() == 1);
    let error = first.poll_error();
    assert_eq!(error.kind(), ErrorKind::ServiceOverloaded);
    assert_eq!(error.code(), "queue_wait_elapsed");
    let report = report(first.receiver);
    assert_eq!(report.outcome, Outcome::Expired);
    assert_eq!(report.admission_wait_ns(), Some(1_000_000_000));
    assert!(second.receiver.try_report().is_none());
    assert_eq!(second.wakes.count(), 0);
}

#[test]
fn the_real_clock_fires_deadlines_too() {
    let backend = backend_session::GpuBackend::builder()
        .ledger_device(0, 100)
        .build()
        .unwrap();
    let session = backend.session();
    let request = backend_session::QueryAdmissionRequest::new(100);
    let holder = wait(session.admit_async_with_request(request)).unwrap();
    let limit = Duration::from_millis(20);
    // By the second time the timer sleeps towards the holder's far deadline.
    for _ in 0..2 {
        let request = backend_session::QueryAdmissionRequest::new(1).queue_deadline(limit);
        let error = wait(session.admit_async_with_request(request)).unwrap_err();
        let Error::QueueWaitElapsed { waited, .. } = error else {
            panic!("{error:?}");
        };
        assert!(waited >= limit);
    }
    drop(holder);
}

#[test]
fn a_deadline_of_zero_is_refused_at_once() {
    let stage = stage();
    let refused = stage.submit_with(1, |request| request.queue_deadline(Duration::ZERO));
    assert_eq!(refused.refused().code(), "queue_wait_elapsed");
    assert_eq!(report(refused.receiver).outcome, Outcome::Expired);
}

#[test]
fn a_passed_deadline_is_never_granted() {
    let stage = stage();
    let (holder, ..) = stage.submit(100).granted();
    let mut waiting = stage.submit_with(1, |request| request.queue_deadline(SECOND));
    // The release comes at the very instant of the deadline.
    stage.clock.advance(SECOND);
    holder.finish(Ending::Succeeded).unwrap();
    assert_eq!(waiting.poll_error().code(), "queue_wait_elapsed");
    assert_eq!(report(waiting.receiver).admission.granted_bytes, None);
}

#[test]
fn after_the_grant_the_execution_deadline_counts() {
    let stage = stage();
    let (holder, ..) = stage.submit(100).granted();
    let mut waiting = stage.submit_with(10, |request| {
        request
            .queue_deadline(SECOND)
            .execution_deadline(3 * SECOND)
    });
    holder.finish(Ending::Succeeded).unwrap();
    let handle = waiting.poll_handle();
    stage.clock.advance(2 * SECOND);
    assert!(!handle.has_ended());
    stage.clock.advance(SECOND);
    eventually("the execution deadline fires", || handle.has_ended());
    let late = waiting.attempt.finish(Ending::Succeeded).unwrap_err();
    assert!(matches!(
        late,
        Error::AlreadyEnded {
            which: EndedBy::ExecutionDeadline,
            ..
        }
    ));
    let report = report(waiting.receiver);
    assert_eq!(report.outcome, Outcome::TimedOut);
    assert_eq!(report.capacity, CapacityDisposition::Returned);
}

#[test]
fn a_cancelled_waiter_wakes_and_leaves_its_place() {
    let stage = stage();
    let (holder, ..) = stage.submit(60).granted();
    let mut head = stage.submit(90);
    let mut next = stage.submit(40);
    assert!(head.is_waiting() && next.is_waiting());
    head.attempt.canceller().cancel().unwrap();
    assert_eq!(head.wakes.count(), 1);
    let error = head.poll_error();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(error.code(), "caller_cancelled");
    assert_eq!(report(head.receiver).outcome, Outcome::Cancelled);
    // The place in the line is free, and the next one fits beside the holder.
    assert_eq!(next.wakes.count(), 1);
    assert_eq!(next.poll_handle().granted_bytes(), 40);
    assert_eq!(stage.free_bytes(), 0);
    drop(holder);
    assert_eq!(stage.free_bytes(), 60);
}

#[test]
fn error_and_report_name_the_same_end() {
    let stage = stage();
    let (_holder, ..) = stage.submit(100).granted();
    let mut waiting = stage.submit_with(1, |request| request.queue_deadline(SECOND));
    stage.clock.advance(SECOND);
    eventually("the deadline fires", || waiting.wakes.count() == 1);
    let late = waiting.attempt.canceller().cancel().unwrap_err();
    assert!(matches!(
        late,
        Error::AlreadyEnded {
            which: EndedBy::QueueDeadline,
            ..
        }
    ));
    let error = waiting.poll_error();
    let report = report(waiting.receiver);
    let failure = report.first_failure.as_ref().unwrap();
    assert_eq!(failure.code, error.code());
}

#[test]
fn a_dropped_waiting_future_is_reported_once() {
    let stage = stage();
    let (holder, ..) = stage.submit(100).granted();
    let waiting = stage.submit(1);
    drop(waiting.admission);
    let report = report(waiting.receiver);
    assert_eq!(report.outcome, Outcome::Dropped);
    assert_eq!(report.capacity, CapacityDisposition::NotGranted);
    holder.finish(Ending::Succeeded).unwrap();
    assert_eq!(stage.free_bytes(), 100);
    assert_eq!(
        waiting
            .attempt
            .finish(Ending::Succeeded)
            .unwrap_err()
            .kind(),
        ErrorKind::AlreadyEnded
    );
    assert_eq!(stage.session.attempt_counters_snapshot().reports_ready, 2);
}

#[test]
fn a_dropped_granted_future_returns_its_bytes() {
    let stage = stage();
    let (holder, ..) = stage.submit(100).granted();
    let waiting = stage.submit(30);
    holder.finish(Ending::Succeeded).unwrap();
    assert_eq!(stage.free_bytes(), 70);
    drop(waiting.admission);
    let report = report(waiting.receiver);
    assert_eq!(report.outcome, Outcome::Dropped);
    assert_eq!(report.admission.granted_bytes, Some(30));
    assert_eq!(report.capacity, CapacityDisposition::Returned);
    assert_eq!(stage.free_bytes(), 100);
}

#[test]
fn an_unclaimed_grant_is_revoked() {
    let stage = stage_with(|builder| builder.ledger_device(0, 100).claim_limit(SECOND));
    let (holder, ..) = stage.submit(100).granted();
    let mut waiting = stage.submit(30);
    holder.finish(Ending::Succeeded).unwrap();
    assert_eq!(stage.free_bytes(), 70);
    // The future is never polled again.
    stage.clock.advance(SECOND);
    eventually("the grant is revoked", || stage.free_bytes() == 100);
    assert_eq!(waiting.poll_error().code(), "grant_unclaimed");
    assert_eq!(report(waiting.receiver).outcome, Outcome::Dropped);
}

#[test]
fn an_unclaimed_grant_can_be_cancelled() {
    let stage = stage();
    let (holder, ..) = stage.submit(100).granted();
    let waiting = stage.submit(30);
    holder.finish(Ending::Succeeded).unwrap();
    waiting.attempt.canceller().cancel().unwrap();
    // Nobody ever held the handle, so there is nothing to wait for.
    let report = waiting.receiver.try_report().unwrap();
    assert_eq!(report.outcome, Outcome::Cancelled);
    assert_eq!(stage.free_bytes(), 100);
}

#[test]
fn what_never_fits_is_refused_at_once() {
    let stage = stage();
    let refused = stage.submit(101);
    let error = refused.refused();
    assert_eq!(error.kind(), ErrorKind::NeverFits);
    assert_eq!(
        error,
        Error::NeverFits {
            requested_bytes: 101,
            largest_bytes: 100
        }
    );
    assert_eq!(report(refused.receiver).outcome, Outcome::Rejected);
    assert!(!stage.submit(1).is_waiting());
}

#[test]
fn a_shrunk_device_ends_what_never_fits() {
    let stage = stage();
    let (holder, ..) = stage.submit(50).granted();
    let mut large = stage.submit(80);
    let mut small = stage.submit(1);
    stage.backend.set_capacity(0, 60).unwrap();
    assert_eq!(large.poll_error().kind(), ErrorKind::NeverFits);
    // The request behind it is granted.
    assert_eq!(small.poll_handle().granted_bytes(), 1);
    assert_eq!(stage.free_bytes(), 9);
    drop(holder);
}

#[test]
fn a_size_is_never_clamped() {
    let stage = stage();
    let (first, ..) = stage.submit(60).granted();
    let mut whole = stage.submit(100);
    assert!(whole.is_waiting());
    assert_eq!(stage.free_bytes(), 40);
    first.finish(Ending::Succeeded).unwrap();
    let handle = whole.poll_handle();
    assert_eq!(handle.granted_bytes(), 100);
}

#[test]
fn a_crowd_gets_one_place() {
    const CROWD: usize = 64;
    let stage = stage_with(|builder| builder.ledger_device(0, 100));
    let start = Arc::new(AtomicUsize::new(0));
    let crowd: Vec<_> = (0..CROWD)
        .map(|_| {
            let (session, start) = (stage.session.clone(), start.clone());
            std::thread::spawn(move || {
                let request = backend_session::QueryAdmissionRequest::new(60);
                let mut admission = Box::pin(session.admit_async_with_request(request));
                // All poll for the first time together.
                start.fetch_add(1, Ordering::AcqRel);
                eventually("all have come", || start.load(Ordering::Acquire) == CROWD);
                let waker = std::task::Waker::noop();
                let first = support::poll_with(admission.as_mut(), waker);
                (first, admission)
            })
        })
        .collect();
    let polled: Vec<_> = crowd.into_iter().map(|one| one.join().unwrap()).collect();
    let granted = polled.iter().filter(|(first, _)| first.is_ready()).count();
    assert_eq!(granted, 1);
    assert_eq!(stage.free_bytes(), 40);
    let tickets = stage.session.backend_metrics_snapshot().facts.tickets;
    assert_eq!((tickets.running, tickets.queued), (1, 63));
}

#[test]
fn the_line_is_served_in_order() {
    let stage = stage();
    let (holder, ..) = stage.submit(100).granted();
    let mut first = stage.submit(70);
    let mut second = stage.submit(70);
    let mut third = stage.submit(30);
    holder.finish(Ending::Succeeded).unwrap();
    // The third would fit beside the first, but the second is before it.
    assert_eq!(first.poll_handle().granted_bytes(), 70);
    assert!(second.poll().is_pending() && third.poll().is_pending());
    first.attempt.finish(Ending::Succeeded).unwrap();
    assert_eq!(second.poll_handle().granted_bytes(), 70);
    assert_eq!(third.poll_handle().granted_bytes(), 30);
}

#[test]
fn retry_after_comes_from_measured_returns() {
    let stage = stage_with(|builder| builder.ledger_device(0, 100).max_queued(1));
    let overload = || {
        let (holder, ..) = stage.submit(100).granted();
        let mut waiting = stage.submit(50);
        let error = stage.submit(1).refused();
        holder.finish(Ending::Succeeded).unwrap();
        drop(waiting.poll_handle());
        stage.clock.advance(SECOND);
        waiting.attempt.finish(Ending::Succeeded).unwrap();
        error
    };
    assert_eq!(overload().retry_after(), None);
    for _ in 0..4 {
        overload();
    }
    // 100 and 50 bytes a second come back, and 50 wait.
    let advice = overload().retry_after().unwrap();
    assert!(advice > Duration::from_millis(200), "{advice:?}");
    assert!(advice < Duration::from_millis(500), "{advice:?}");
}
