//! What the tests of the public interface share.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, of which no program uses all"
)]

use backend_session::{
    Admission, Attempt, AttemptBegin, BeginAttemptRequest, GpuBackend, GpuBackendBuilder,
    GpuBackendSession, ManualClock, QueryAdmissionRequest, QueryAttemptReport, QueryHandle,
};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// Long enough for any step of a test on a busy machine.
pub const LONG: Duration = Duration::from_secs(20);

/// A backend of one ledger of 100 bytes, on a clock that the test advances.
pub struct Stage {
    pub clock: Arc<ManualClock>,
    pub backend: GpuBackend,
    pub session: GpuBackendSession,
}

pub fn stage() -> Stage {
    stage_with(|builder| builder.ledger_device(0, 100))
}

pub fn stage_with(plan: impl FnOnce(GpuBackendBuilder) -> GpuBackendBuilder) -> Stage {
    let clock = Arc::new(ManualClock::new());
    let builder = GpuBackend::builder().clock(clock.clone());
    let backend = plan(builder).build().unwrap();
    let session = backend.session();
    Stage {
        clock,
        backend,
        session,
    }
}

impl Stage {
    pub fn begin(&self) -> AttemptBegin {
        self.session
            .begin_attempt(BeginAttemptRequest::new())
            .unwrap()
    }

    /// An attempt and its admission of `bytes`, polled once.
    pub fn submit(&self, bytes: u64) -> Submitted {
        self.submit_with(bytes, |request| request)
    }

    pub fn submit_with(
        &self,
        bytes: u64,
        ask: impl FnOnce(QueryAdmissionRequest) -> QueryAdmissionRequest,
    ) -> Submitted {
        let AttemptBegin { attempt, receiver } = self.begin();
        let request = ask(attempt.request(bytes).unwrap());
        let mut admission = Box::pin(self.session.admit_async_with_request(request));
        let wakes = Arc::new(Wakes::default());
        let first = poll_with(admission.as_mut(), &Waker::from(wakes.clone()));
        Submitted {
            attempt,
            receiver,
            admission,
            first,
            wakes,
        }
    }

    pub fn free_bytes(&self) -> i64 {
        self.session.backend_metrics_snapshot().facts.devices[0].free_bytes
    }

    pub fn close(&self) {
        self.backend.close_and_wait(LONG).unwrap();
    }
}

/// A request after its first poll.
pub struct Submitted {
    pub attempt: Attempt,
    pub receiver: backend_session::AttemptReceiver,
    pub admission: Pin<Box<Admission>>,
    pub first: Poll<backend_session::Result<QueryHandle>>,
    pub wakes: Arc<Wakes>,
}

impl Submitted {
    /// The handle of a request that was granted at its first poll.
    pub fn granted(self) -> (Attempt, backend_session::AttemptReceiver, QueryHandle) {
        match self.first {
            Poll::Ready(Ok(handle)) => (self.attempt, self.receiver, handle),
            other => panic!("not granted: {other:?}"),
        }
    }

    pub fn is_waiting(&self) -> bool {
        self.first.is_pending()
    }

    pub fn refused(&self) -> backend_session::Error {
        match &self.first {
            Poll::Ready(Err(error)) => error.clone(),
            other => panic!("not refused: {other:?}"),
        }
    }

    pub fn poll(&mut self) -> Poll<backend_session::Result<QueryHandle>> {
        poll_with(self.admission.as_mut(), &Waker::from(self.wakes.clone()))
    }

    /// The error of a request that has ended while it waited.
    pub fn poll_error(&mut self) -> backend_session::Error {
        match self.poll() {
            Poll::Ready(Err(error)) => error,
            other => panic!("has not ended: {other:?}"),
        }
    }

    pub fn poll_handle(&mut self) -> QueryHandle {
        match self.poll() {
            Poll::Ready(Ok(handle)) => handle,
            other => panic!("has no grant: {other:?}"),
        }
    }
}

/// Counts how often a future was woken.
#[derive(Default)]
pub struct Wakes(AtomicUsize);

impl Wakes {
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

pub fn poll_with<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

/// Drives a future on this thread, for at most [`LONG`].
pub fn wait<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    let began = std::time::Instant::now();
    loop {
        if let Poll::Ready(output) = poll_with(future.as_mut(), &waker) {
            return output;
        }
        assert!(began.elapsed() < LONG, "the future does not end");
        park(Duration::from_secs(1));
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test waits outside of every model"
)]
fn park(limit: Duration) {
    std::thread::park_timeout(limit);
}

/// Waits until `is_so`, which another thread makes true.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = std::time::Instant::now();
    while !is_so() {
        assert!(began.elapsed() < LONG, "it never came true: {what}");
        std::thread::yield_now();
    }
}

pub fn report(receiver: backend_session::AttemptReceiver) -> Arc<QueryAttemptReport> {
    wait(receiver)
}
