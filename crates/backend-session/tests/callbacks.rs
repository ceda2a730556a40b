//! Foreign code that the backend calls: wakers, sinks and activity leases.

#![allow(clippy::unwrap_used, clippy::panic, reason = "callbacks of tests")]

mod support;

use backend_session::{
    AttemptBegin, Ending, GpuBackend, Outcome, QueryAdmissionRequest, QueryAttemptReport,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Wake, Waker};
use std::time::Duration;
use support::{LONG, Stage, eventually, report, stage, stage_with};

/// Sends what closing said, where it is told to.
struct Closing {
    backend: GpuBackend,
    said: mpsc::Sender<(bool, String, String)>,
}

impl Closing {
    fn try_to_close(&self) {
        let wins = self.backend.close();
        let blocking = self.backend.close_and_wait(LONG).unwrap_err();
        let mut future = Box::pin(self.backend.close_async(LONG));
        let polled = support::poll_with(future.as_mut(), Waker::noop());
        let std::task::Poll::Ready(Err(awaited)) = polled else {
            panic!("the wait was not refused");
        };
        let said = (
            wins,
            blocking.code().to_string(),
            awaited.code().to_string(),
        );
        self.said.send(said).unwrap();
    }
}

/// Closes when it is dropped.
struct Lease(Closing);

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.try_to_close();
    }
}

struct ClosingWaker(Closing, AtomicBool);

impl Wake for ClosingWaker {
    fn wake(self: Arc<Self>) {
        if !self.1.swap(true, Ordering::Relaxed) {
            self.0.try_to_close();
        }
    }
}

fn refused() -> (bool, String, String) {
    let code = "wait_inside_callback".to_owned();
    (true, code.clone(), code)
}

fn closing(stage: &Stage) -> (Closing, mpsc::Receiver<(bool, String, String)>) {
    let (said, heard) = mpsc::channel();
    let backend = stage.backend.clone();
    (Closing { backend, said }, heard)
}

#[test]
fn an_activity_may_signal_close_only() {
    let stage = stage();
    let (closing, heard) = closing(&stage);
    let (attempt, ..) = stage
        .submit_with(1, |request| request.activity(Lease(closing)))
        .granted();
    attempt.finish(Ending::Succeeded).unwrap();
    assert_eq!(heard.recv_timeout(LONG).unwrap(), refused());
    stage.close();
}

#[test]
fn a_waker_may_signal_close_only() {
    let stage = stage();
    let (closing, heard) = closing(&stage);
    let AttemptBegin {
        attempt,
        mut receiver,
    } = stage.begin();
    let waker = Arc::new(ClosingWaker(closing, AtomicBool::new(false)));
    let polled = support::poll_with(
        std::pin::Pin::new(&mut receiver),
        &Waker::from(waker.clone()),
    );
    assert!(polled.is_pending());
    attempt.finish(Ending::Succeeded).unwrap();
    assert_eq!(heard.recv_timeout(LONG).unwrap(), refused());
    stage.close();
}

#[test]
fn a_sink_may_signal_close_only() {
    let (give, take) = mpsc::channel::<Closing>();
    let stage = stage_with(|builder| {
        builder
            .ledger_device(0, 100)
            .sink(move |_: &Arc<QueryAttemptReport>| {
                take.recv().unwrap().try_to_close();
            })
    });
    let (closing, heard) = closing(&stage);
    give.send(closing).unwrap();
    drop(stage.begin());
    assert_eq!(heard.recv_timeout(LONG).unwrap(), refused());
    stage.close();
}

#[test]
fn a_panicking_sink_loses_nothing() {
    let (give, take) = mpsc::channel();
    let stage = stage_with(|builder| {
        builder
            .ledger_device(0, 100)
            .sink(|_: &Arc<QueryAttemptReport>| panic!("a sink fails"))
            .sink(move |report: &Arc<QueryAttemptReport>| give.send(report.attempt).unwrap())
    });
    let (attempt, receiver, _handle) = stage.submit(1).granted();
    let id = attempt.id();
    attempt.finish(Ending::Succeeded).unwrap();
    assert_eq!(report(receiver).outcome, Outcome::Succeeded);
    assert_eq!(take.recv_timeout(LONG).unwrap(), id);
    let counts = stage.session.attempt_counters_snapshot();
    assert_eq!((counts.attempts_begun, counts.reports_ready), (1, 1));
    eventually("the panic is counted", || {
        stage.session.diagnostics().unwrap().delivery.panics == 1
    });
    stage.close();
}

#[test]
fn permits_leave_in_their_order() {
    // The gate's counts, as the sink and as the activity's destructor see them.
    struct Probe(GpuBackend, mpsc::Sender<(u32, u32)>);
    impl Probe {
        fn look(&self) {
            let word = self.0.gate();
            let seen = (word.gpu_permits, word.observation_permits);
            self.1.send(seen).unwrap();
        }
    }
    struct Last(Probe);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.look();
        }
    }
    let (give, take) = mpsc::channel::<Probe>();
    let stage = stage_with(|builder| {
        builder
            .ledger_device(0, 100)
            .sink(move |_: &Arc<QueryAttemptReport>| {
                take.recv().unwrap().look();
            })
    });
    for (bytes, expected) in [(101, Outcome::Rejected), (1, Outcome::Succeeded)] {
        let (told, seen) = mpsc::channel();
        let at_delivery = Probe(stage.backend.clone(), told.clone());
        let last = Last(Probe(stage.backend.clone(), told));
        give.send(at_delivery).unwrap();
        let submitted = stage.submit_with(bytes, |request| request.activity(last));
        let _ = submitted.attempt.finish(Ending::Succeeded);
        assert_eq!(report(submitted.receiver).outcome, expected);
        assert_eq!(seen.recv_timeout(LONG).unwrap(), (0, 1));
        assert_eq!(seen.recv_timeout(LONG).unwrap(), (0, 0));
    }
}

#[test]
fn receivers_wake_after_the_gpu_permit() {
    struct Looks(GpuBackend, mpsc::Sender<(u32, u32)>);
    impl Wake for Looks {
        fn wake(self: Arc<Self>) {
            let word = self.0.gate();
            let seen = (word.gpu_permits, word.observation_permits);
            self.1.send(seen).unwrap();
        }
    }
    let stage = stage();
    let (told, seen) = mpsc::channel();
    let looks = || Waker::from(Arc::new(Looks(stage.backend.clone(), told.clone())));
    let (attempt, mut receiver, _handle) = stage.submit(1).granted();
    let polled = support::poll_with(std::pin::Pin::new(&mut receiver), &looks());
    assert!(polled.is_pending());
    attempt.finish(Ending::Succeeded).unwrap();
    assert_eq!(seen.recv_timeout(LONG).unwrap(), (0, 1));

    let AttemptBegin {
        attempt,
        mut receiver,
    } = stage.begin();
    let polled = support::poll_with(std::pin::Pin::new(&mut receiver), &looks());
    assert!(polled.is_pending());
    let request = attempt.request(101).unwrap();
    let refused = support::wait(stage.session.admit_async_with_request(request));
    assert_eq!(refused.unwrap_err().code(), "never_fits");
    assert_eq!(seen.recv_timeout(LONG).unwrap(), (0, 1));
}

#[test]
fn a_grant_finds_the_earlier_report_readable() {
    // When the waiter's waker runs, it has its grant.
    struct Looks(backend_session::AttemptReceiver, AtomicBool);
    impl Wake for Looks {
        fn wake(self: Arc<Self>) {
            self.1
                .store(self.0.try_report().is_some(), Ordering::Release);
        }
    }
    let stage = stage();
    let (holder, receiver, _handle) = stage.submit(100).granted();
    let looks = Arc::new(Looks(receiver, AtomicBool::new(false)));
    let request = QueryAdmissionRequest::new(1);
    let mut admission = Box::pin(stage.session.admit_async_with_request(request));
    let waker = Waker::from(looks.clone());
    assert!(support::poll_with(admission.as_mut(), &waker).is_pending());
    holder.finish(Ending::Succeeded).unwrap();
    assert!(looks.1.load(Ordering::Acquire));
}

#[test]
fn a_panicking_activity_harms_nobody() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("a lease fails");
        }
    }
    let stage = stage();
    for _ in 0..2 {
        let (attempt, receiver, _handle) = stage
            .submit_with(1, |request| request.activity(Panics))
            .granted();
        attempt.finish(Ending::Succeeded).unwrap();
        assert_eq!(report(receiver).outcome, Outcome::Succeeded);
    }
    stage.close();
}

#[test]
fn a_crowd_survives_a_panicking_waker() {
    const CROWD: usize = 10_000;
    struct Counting(std::sync::atomic::AtomicUsize, usize);
    impl Wake for Counting {
        fn wake(self: Arc<Self>) {
            let number = self.0.fetch_add(1, Ordering::AcqRel);
            assert!(number != self.1, "a waker fails");
        }
    }
    let (release, blocked) = mpsc::channel::<()>();
    let stage = stage_with(|builder| {
        builder
            .ledger_device(0, 100)
            .sink(move |_: &Arc<QueryAttemptReport>| {
                let _ = blocked.recv();
            })
    });
    let (holder, ..) = stage.submit(100).granted();
    let wakes = Arc::new(Counting(Default::default(), 2));
    let waker = Waker::from(wakes.clone());
    let mut crowd: Vec<_> = (0..CROWD)
        .map(|_| {
            let request = QueryAdmissionRequest::new(1).queue_deadline(Duration::from_secs(1));
            let mut admission = Box::pin(stage.session.admit_async_with_request(request));
            assert!(support::poll_with(admission.as_mut(), &waker).is_pending());
            admission
        })
        .collect();
    stage.clock.advance(Duration::from_secs(1));
    eventually("all are woken", || wakes.0.load(Ordering::Acquire) == CROWD);
    for admission in &mut crowd {
        let polled = support::poll_with(admission.as_mut(), &waker);
        let std::task::Poll::Ready(Err(error)) = polled else {
            panic!("it has not ended");
        };
        assert_eq!(error.code(), "queue_wait_elapsed");
    }
    let counts = stage.session.attempt_counters_snapshot();
    assert_eq!(counts.reports_ready, u64::try_from(CROWD).unwrap());
    drop(release);
    drop(holder);
    stage.close();
}

#[test]
fn reports_beyond_the_sinks_are_counted() {
    let (release, blocked) = mpsc::channel::<()>();
    let (give, seen) = mpsc::channel();
    let stage = stage_with(|builder| {
        builder.ledger_device(0, 100).max_sink_reports(1).sink(
            move |report: &Arc<QueryAttemptReport>| {
                give.send(report.attempt.number()).unwrap();
                let _ = blocked.recv();
            },
        )
    });
    drop(stage.begin());
    // The first is inside the sink, the second waits, the third finds no room.
    assert_eq!(seen.recv_timeout(LONG).unwrap(), 1);
    drop(stage.begin());
    drop(stage.begin());
    let AttemptBegin { attempt, receiver } = stage.begin();
    drop(attempt);
    assert_eq!(report(receiver).observation_losses, 1);
    drop(release);
    stage.close();
    assert_eq!(seen.iter().collect::<Vec<_>>(), [2]);
}
