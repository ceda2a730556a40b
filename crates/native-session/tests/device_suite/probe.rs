//! Sessions over a state that takes notes, and a runtime that may not misuse its
//! device.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use native_session::{NativeSession, NativeSessionBuilder};
use runtime_core::device::scripted::{Controls, ScriptedDevice};
use runtime_core::device::{Device, MemoryPlacement};
use runtime_core::lane::DrainScope;
use runtime_core::{Busy, Completion, Error, Lease, PreparedGraph, Result, Runtime};
use runtime_core::{RuntimeOptions, Statistics};
use runtime_sync::Mutex;
use runtime_sync::unmodelled::Arc;

use crate::fixture::runtime_with;

/// Chooses the device.
const VARIABLE: &str = "LANEKEEPER_TEST_DEVICE";

/// No test gets here unless what it shows is broken.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Long enough for a wait to really wait.
pub(crate) const SHORT: Duration = Duration::from_millis(5);

/// A runtime, and the controls of its device where that is scripted.
pub(crate) struct Bench {
    pub(crate) runtime: Runtime,
    controls: Option<Controls>,
}

pub(crate) fn bench() -> Bench {
    bench_with(RuntimeOptions::default())
}

pub(crate) fn bench_with(options: RuntimeOptions) -> Bench {
    let options = options.label("suite");
    let wanted = std::env::var(VARIABLE).unwrap_or_else(|_| "scripted".to_owned());
    if wanted == "scripted" {
        let device = ScriptedDevice::builder().build();
        let controls = Some(device.controls());
        let device: Box<dyn Device> = Box::new(device);
        let runtime = Runtime::on_device(device, options).unwrap();
        return Bench { runtime, controls };
    }
    Bench {
        runtime: runtime_with(options),
        controls: None,
    }
}

impl Bench {
    /// A session whose fence drains, and its notes.
    pub(crate) fn healthy(&self) -> (Session, Notes) {
        self.fenced_by(|| Ok(()))
    }

    /// A session with this fence, and its notes.
    pub(crate) fn fenced_by(
        &self,
        fence: impl FnMut() -> Result<()> + Send + 'static,
    ) -> (Session, Notes) {
        let probe = Probe::new(fence);
        let notes = probe.notes.clone();
        let builder = NativeSession::builder(&self.runtime);
        (session(builder, probe), notes)
    }

    pub(crate) fn lease(&self) -> Lease {
        self.runtime.lease(DrainScope::default()).unwrap()
    }

    /// A graph on the compute lane with more run slots than any test needs.
    pub(crate) fn compute(&self) -> PreparedGraph {
        let buffer = self
            .runtime
            .allocate(1024, MemoryPlacement::Device)
            .unwrap();
        let mut graph = self.runtime.graph();
        graph.run_slots(16);
        graph.fill(&buffer.view(), 7).unwrap();
        graph.prepare().unwrap()
    }

    /// How many places of the line are free. The line must be quiet.
    pub(crate) fn free_places(&self) -> usize {
        let graph = self.compute();
        let lease = self.lease();
        let mut taken: Vec<Completion> = Vec::new();
        loop {
            match graph.run().submit() {
                Ok(completion) => taken.push(completion),
                Err(Error::Busy(Busy::Capacity { .. })) => break,
                Err(error) => panic!("{error}"),
            }
        }
        drop(lease);
        for completion in &taken {
            completion.wait_timeout(LONG).unwrap();
        }
        taken.len()
    }

    pub(crate) fn statistics(&self) -> Statistics {
        self.runtime.statistics()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Some(controls) = self.controls.as_ref().filter(|_| !std::thread::panicking()) {
            assert_eq!(controls.misuses(), []);
        }
    }
}

/// What happened to a state, oldest first.
#[derive(Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<Vec<&'static str>>>);

impl Notes {
    pub(crate) fn add(&self, note: &'static str) {
        self.0.lock().push(note);
    }

    pub(crate) fn all(&self) -> Vec<&'static str> {
        self.0.lock().clone()
    }
}

/// A state without a device. It notes its fences and its end.
pub(crate) struct Probe {
    pub(crate) notes: Notes,
    pub(crate) number: u32,
    fence: Box<dyn FnMut() -> Result<()> + Send>,
    /// Called by the destructor.
    pub(crate) at_end: Option<Box<dyn FnOnce() + Send>>,
}

impl Probe {
    pub(crate) fn new(fence: impl FnMut() -> Result<()> + Send + 'static) -> Self {
        Self {
            notes: Notes::default(),
            number: 0,
            fence: Box::new(fence),
            at_end: None,
        }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.notes.add("end");
        if let Some(at_end) = self.at_end.take() {
            at_end();
        }
    }
}

fn fence(probe: &mut Probe) -> Result<()> {
    probe.notes.add("fence");
    (probe.fence)()
}

pub(crate) type Session = NativeSession<Probe>;

pub(crate) fn session(builder: NativeSessionBuilder, probe: Probe) -> Session {
    // SAFETY: N1: a probe has no streams and no device memory.
    unsafe { builder.build(probe, fence) }
}

pub(crate) fn run<R>(session: &mut Session, stage: impl FnOnce(&mut Probe) -> R) -> Result<R> {
    // SAFETY: N1: a probe owns no stream, so a stage has nothing to submit to and
    // nothing native to move out.
    unsafe { session.run(stage) }
}

pub(crate) fn try_run<R>(session: &mut Session, stage: impl FnOnce(&mut Probe) -> R) -> Result<R> {
    // SAFETY: N1: as in `run`.
    unsafe { session.try_run(stage) }
}

pub(crate) fn run_within<R>(
    session: &mut Session,
    limit: Duration,
    stage: impl FnOnce(&mut Probe) -> R,
) -> Result<R> {
    // SAFETY: N1: as in `run`.
    unsafe { session.run_within(limit, stage) }
}

pub(crate) fn run_leased<R>(
    session: &mut Session,
    lease: Lease,
    stage: impl FnOnce(&mut Probe) -> R,
) -> Result<R> {
    // SAFETY: N1: as in `run`.
    unsafe { session.run_leased(lease, stage) }
}

pub(crate) fn reclaim(session: Session) -> Probe {
    // SAFETY: N2: a probe never has work on a device.
    unsafe { session.reclaim() }
}

/// The text that `action` panics with.
pub(crate) fn unwound<R>(action: impl FnOnce() -> R) -> &'static str {
    match catch_unwind(AssertUnwindSafe(action)) {
        Ok(_) => panic!("it should have panicked"),
        Err(payload) => payload.downcast_ref::<&str>().copied().unwrap_or("?"),
    }
}

/// A look at a future, by nobody who wants to be woken.
pub(crate) fn look<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Keeps this thread busy for `span`.
pub(crate) fn spend(span: Duration) {
    let started = Instant::now();
    while started.elapsed() < span {
        std::hint::spin_loop();
    }
}

pub(crate) fn is_reentry<R>(answer: &Result<R>) -> bool {
    matches!(answer, Err(Error::Busy(Busy::Reentry)))
}
