//! One admission for the partitions of one attempt.

mod support;

use backend_session::{
    AttemptBegin, AttemptCanceller, BeginAttemptRequest, Clock, Ending, GpuBackend, Outcome,
    QueryAdmissionRequest,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Poll, Wake, Waker};
use std::time::Duration;
use support::{Wakes, poll_with, report, stage, wait};

#[test]
fn all_partitions_get_one_handle() {
    let stage = stage();
    let AttemptBegin { attempt, .. } = stage.begin();
    let partitions: Vec<_> = (0..8)
        .map(|_| {
            let request = QueryAdmissionRequest::new(60);
            let admission = attempt.admit_shared(request).unwrap();
            std::thread::spawn(move || wait(admission).unwrap())
        })
        .collect();
    for partition in partitions {
        let handle = partition.join().unwrap();
        assert_eq!((handle.sequence(), handle.granted_bytes()), (1, 60));
    }
    assert_eq!(stage.free_bytes(), 40);
    // A partition that comes when all the others are gone gets it too.
    let last = attempt.admit_shared(QueryAdmissionRequest::new(1)).unwrap();
    assert_eq!(wait(last).unwrap().granted_bytes(), 60);
    let late = attempt.request(1).unwrap_err();
    assert_eq!(late.code(), "already_claimed");
    attempt.finish(Ending::Succeeded).unwrap();
    assert_eq!(stage.free_bytes(), 100);
}

#[test]
fn all_partitions_get_one_error() {
    let stage = stage();
    let AttemptBegin { attempt, .. } = stage.begin();
    let first = attempt
        .admit_shared(QueryAdmissionRequest::new(101))
        .unwrap();
    let second = first.clone();
    assert_eq!(wait(first).unwrap_err(), wait(second).unwrap_err());
    assert_eq!(stage.session.attempt_counters_snapshot().reports_ready, 1);
}

#[test]
fn the_first_poller_may_leave() {
    let stage = stage();
    let (holder, ..) = stage.submit(100).granted();
    let AttemptBegin { attempt, .. } = stage.begin();
    let mut partitions: Vec<_> = (0..3)
        .map(|_| {
            let request = QueryAdmissionRequest::new(60);
            let admission = Box::pin(attempt.admit_shared(request).unwrap());
            (admission, Arc::new(Wakes::default()))
        })
        .collect();
    for (admission, wakes) in &mut partitions {
        assert!(poll_with(admission.as_mut(), &wakes.clone().into()).is_pending());
    }
    drop(partitions.remove(0));
    assert!(!attempt.has_ended());
    holder.finish(Ending::Succeeded).unwrap();
    for (admission, wakes) in &mut partitions {
        assert_eq!(wakes.count(), 1);
        let polled = poll_with(admission.as_mut(), &wakes.clone().into());
        assert!(matches!(polled, std::task::Poll::Ready(Ok(_))));
    }
}

/// The deadline of the request that expires.
const SOON: Duration = Duration::from_nanos(5);

/// A clock that nobody is told about: deadlines fire where the next call looks.
#[derive(Debug, Default)]
struct QuietClock {
    now_ns: AtomicU64,
    /// The timer thread is about to sleep until the soonest deadline.
    napping: AtomicBool,
    /// It may sleep; until then it looks at no deadline.
    may_sleep: AtomicBool,
}

impl Clock for QuietClock {
    fn now_ns(&self) -> u64 {
        self.now_ns.load(Ordering::Acquire)
    }

    fn nap(&self, remaining: Duration) -> Option<Duration> {
        if remaining == SOON {
            self.napping.store(true, Ordering::Release);
            while !self.may_sleep.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
        }
        None
    }
}

#[test]
fn a_wake_during_a_poll_is_not_lost() {
    /// Cancels an attempt, inside whoever's call wakes this.
    struct Cancels(AttemptCanceller);
    impl Wake for Cancels {
        fn wake(self: Arc<Self>) {
            self.0.cancel().unwrap();
        }
    }
    let clock = Arc::new(QuietClock::default());
    let backend = GpuBackend::builder()
        .clock(clock.clone())
        .ledger_device(0, 100)
        .build()
        .unwrap();
    let session = backend.session();
    let _holder = wait(session.admit_async_with_request(QueryAdmissionRequest::new(100))).unwrap();
    let begun = session.begin_attempt(BeginAttemptRequest::new()).unwrap();
    let expiring = QueryAdmissionRequest::new(1).queue_deadline(SOON);
    let mut expiring = Box::pin(session.admit_async_with_request(expiring));
    let waker = Waker::from(Arc::new(Cancels(begun.attempt.canceller())));
    assert!(poll_with(expiring.as_mut(), &waker).is_pending());

    // The timer must not find the expired request before the poll below does.
    while !clock.napping.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
    clock.now_ns.store(10, Ordering::Release);
    let request = QueryAdmissionRequest::new(1);
    let mut shared = Box::pin(begun.attempt.admit_shared(request).unwrap());
    // This first poll expires the other request, whose waker cancels this one.
    let polled = poll_with(shared.as_mut(), Waker::noop());
    clock.may_sleep.store(true, Ordering::Release);
    let Poll::Ready(Err(error)) = polled else {
        panic!("the wake was lost: {polled:?}");
    };
    assert_eq!(error.code(), "caller_cancelled");
}

#[test]
fn the_last_to_leave_ends_the_attempt() {
    let stage = stage();
    let (_holder, ..) = stage.submit(100).granted();
    let AttemptBegin { attempt, receiver } = stage.begin();
    let mut first = Box::pin(
        attempt
            .admit_shared(QueryAdmissionRequest::new(60))
            .unwrap(),
    );
    let second = first.clone();
    assert!(poll_with(first.as_mut(), std::task::Waker::noop()).is_pending());
    drop(first);
    assert!(receiver.try_report().is_none());
    drop(second);
    assert_eq!(report(receiver).outcome, Outcome::Dropped);
}
