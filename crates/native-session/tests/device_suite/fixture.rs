//! The runtime under test, and a state whose end can be chosen.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use native_session::NativeSession;
use runtime_core::device::Device;
use runtime_core::device::scripted::ScriptedDevice;
use runtime_core::{Error, Result, Runtime, RuntimeOptions};

/// Longer than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn runtime() -> Runtime {
    runtime_with(RuntimeOptions::default())
}

pub(crate) fn runtime_with(options: RuntimeOptions) -> Runtime {
    Runtime::on_device(open(), options.label("suite")).unwrap()
}

fn open() -> Box<dyn Device> {
    match std::env::var("LANEKEEPER_TEST_DEVICE") {
        Ok(wanted) if wanted != "scripted" => named(&wanted),
        _ => Box::new(ScriptedDevice::builder().build()),
    }
}

#[cfg(feature = "vulkan")]
fn named(wanted: &str) -> Box<dyn Device> {
    use runtime_core::device::DeviceSelector;
    use runtime_core::device::vulkan::{VulkanDevice, VulkanOptions, enumerate};

    let listed = enumerate(None).unwrap();
    let by_uuid = listed.iter().find(|info| info.uuid.to_string() == wanted);
    let selector = match by_uuid {
        Some(info) => DeviceSelector::Uuid(info.uuid),
        None => DeviceSelector::Named(wanted.into()),
    };
    let options = VulkanOptions::default()
        .selector(selector)
        .allow_software(true);
    Box::new(VulkanDevice::open(options).unwrap())
}

#[cfg(not(feature = "vulkan"))]
fn named(wanted: &str) -> Box<dyn Device> {
    panic!("{wanted} is wanted, and only `scripted` is in this build");
}

/// What happened to a model; outlives it.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    fences: AtomicU32,
    drops: AtomicU32,
}

impl Tally {
    pub(crate) fn fences(&self) -> u32 {
        self.fences.load(Ordering::SeqCst)
    }

    pub(crate) fn drops(&self) -> u32 {
        self.drops.load(Ordering::SeqCst)
    }
}

/// How a model's fence ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fence {
    Drains,
    Fails,
    Panics,
}

/// A foreign state: what a stage enqueues is only done by the fence.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) values: Vec<u32>,
    pub(crate) enqueued: Option<u32>,
    pub(crate) fence: Fence,
    /// How long the fence takes.
    pub(crate) fence_takes: Duration,
    tally: Arc<Tally>,
}

impl Model {
    pub(crate) fn new() -> (Self, Arc<Tally>) {
        let tally = Arc::new(Tally::default());
        let model = Self {
            values: vec![0; 4],
            enqueued: None,
            fence: Fence::Drains,
            fence_takes: Duration::ZERO,
            tally: tally.clone(),
        };
        (model, tally)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.tally.drops.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the stream is broken")]
pub(crate) struct Broken;

pub(crate) fn drain(model: &mut Model) -> Result<()> {
    model.tally.fences.fetch_add(1, Ordering::SeqCst);
    std::thread::sleep(model.fence_takes);
    match model.fence {
        Fence::Drains => {
            if let Some(word) = model.enqueued.take() {
                model.values.fill(word);
            }
            Ok(())
        }
        Fence::Fails => Err(Error::foreign(Broken)),
        Fence::Panics => panic_any("fence"),
    }
}

pub(crate) fn session(runtime: &Runtime) -> (NativeSession<Model>, Arc<Tally>) {
    named_session(runtime, "model")
}

pub(crate) fn named_session(runtime: &Runtime, label: &str) -> (NativeSession<Model>, Arc<Tally>) {
    let (model, tally) = Model::new();
    let builder = NativeSession::builder(runtime).label(label);
    // SAFETY: the model has no stream, so there is nothing to drain.
    (unsafe { builder.build(model, drain) }, tally)
}

/// A stage that touches nothing but the model and what it borrows.
pub(crate) fn run<R>(
    session: &mut NativeSession<Model>,
    stage: impl FnOnce(&mut Model) -> R,
) -> Result<R> {
    // SAFETY: the model has no stream; the stages of the suite touch no buffer
    // of the runtime, and those that wait for it do so to be refused.
    unsafe { session.run(stage) }
}

pub(crate) fn try_run<R>(
    session: &mut NativeSession<Model>,
    stage: impl FnOnce(&mut Model) -> R,
) -> Result<R> {
    // SAFETY: as in `run`.
    unsafe { session.try_run(stage) }
}

pub(crate) fn run_within<R>(
    session: &mut NativeSession<Model>,
    limit: Duration,
    stage: impl FnOnce(&mut Model) -> R,
) -> Result<R> {
    // SAFETY: as in `run`.
    unsafe { session.run_within(limit, stage) }
}

/// What a panic carries, of something that must panic.
pub(crate) fn payload<R>(call: impl FnOnce() -> R) -> &'static str {
    let caught: std::result::Result<R, Box<dyn Any + Send>> = catch_unwind(AssertUnwindSafe(call));
    let payload = caught.err().expect("a panic");
    payload.downcast_ref::<&str>().copied().unwrap()
}

/// Blocks until this many stages wait for the lane.
pub(crate) fn await_waiting(runtime: &Runtime, stages: u64) {
    while runtime.statistics().stages_waiting != stages {
        std::thread::yield_now();
    }
}
