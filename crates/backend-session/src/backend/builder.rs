//! Building a backend.

use super::close::CloseDesk;
use super::delivery::{Delivery, ReportSink};
use super::device::{DeviceSlot, Generation};
use super::proofs::Proofs;
use super::{GpuBackend, Shared};
use crate::admission::{
    Account, BANDS, Book, Ledger, Limits, MOST_CAPACITY_BYTES, MOST_DEVICES, check_range,
};
use crate::attempt::Abandoned;
use crate::clock::{Bell, Clock, MonotonicClock, whole_ns};
use crate::error::{Error, Field, Result, ThreadRole};
use crate::gate::{Gate, MOST_OPEN_ATTEMPTS};
use crate::identity::GpuBackendCoreIdentity;
use backend_metrics::{DeviceOrdinal, Recorder};
use runtime_core::Runtime;
use runtime_sync::thread::{JoinHandle, spawn_named};
use runtime_sync::unmodelled::{Arc, AtomicBool, AtomicUsize};
use runtime_sync::{Arc as ModelledArc, Mutex};
use std::fmt;
use std::time::Duration;

/// The most that any queue of a backend may be told to hold.
const MOST_QUEUED: usize = 1 << 24;

/// The number of every device's first generation.
const FIRST: u64 = 1;

/// What a backend is built from. Every bound has a default.
#[must_use = "a builder does nothing until it builds"]
pub struct GpuBackendBuilder {
    devices: Vec<Planned>,
    most_open: u32,
    most_queued: usize,
    most_running: u32,
    abandoned: Option<usize>,
    most_sink_reports: usize,
    most_queue_wait: Option<Duration>,
    claim_limit: Duration,
    proof_limit: Duration,
    sinks: Vec<Box<dyn ReportSink>>,
    clock: Arc<dyn Clock>,
}

/// A device that the backend shall have.
struct Planned {
    ordinal: u32,
    capacity_bytes: u64,
    label: String,
    /// Absent for a ledger.
    runtime: Option<Runtime>,
}

impl GpuBackendBuilder {
    pub(super) fn new() -> Self {
        Self {
            devices: Vec::new(),
            most_open: 65_536,
            most_queued: 16_384,
            most_running: 1_024,
            abandoned: None,
            most_sink_reports: 1_024,
            most_queue_wait: None,
            claim_limit: Duration::from_secs(30),
            proof_limit: Duration::from_secs(10),
            sinks: Vec::new(),
            clock: Arc::new(MonotonicClock::new()),
        }
    }

    /// Adds a device that is a ledger alone: admission, attempts and reports for
    /// work that runs through something else. Nothing is opened for it.
    ///
    /// The end of an attempt's work there is proven by its owner's leaving.
    pub fn ledger_device(mut self, ordinal: u32, capacity_bytes: u64) -> Self {
        self.devices.push(Planned {
            ordinal,
            capacity_bytes,
            label: format!("ledger {ordinal}"),
            runtime: None,
        });
        self
    }

    /// Adds a device with a runtime, of whose memory grants get `capacity_bytes`
    /// at most; they are set aside in the runtime's budget. Its ordinal is the
    /// smallest that no device added before has.
    ///
    /// The backend holds one handle of the runtime until its close is
    /// GPU-quiescent.
    pub fn device(mut self, runtime: Runtime, capacity_bytes: u64) -> Self {
        let is_taken = |ordinal: &u32| {
            let mut devices = self.devices.iter();
            devices.any(|device| device.ordinal == *ordinal)
        };
        let ordinal = (0..).find(|ordinal| !is_taken(ordinal)).unwrap_or(u32::MAX);
        self.devices.push(Planned {
            ordinal,
            capacity_bytes,
            label: runtime.label().to_owned(),
            runtime: Some(runtime),
        });
        self
    }

    /// At most so many attempts are open at once, those included whose report is
    /// being delivered. 65,536 by default, at most 2,147,483,647.
    pub fn max_open_attempts(mut self, most: u32) -> Self {
        self.most_open = most;
        self
    }

    /// At most so many requests wait in the line; zero: none waits. 16,384 by
    /// default, at most 16,777,216.
    pub fn max_queued(mut self, most: usize) -> Self {
        self.most_queued = most;
        self
    }

    /// At most so many attempts hold a grant of one device. 1,024 by default.
    pub fn max_running_per_device(mut self, most: u32) -> Self {
        self.most_running = most;
        self
    }

    /// Keeps at most so many reports that nobody waits for, oldest first. Without
    /// it none is kept, nor counted as abandoned.
    pub fn completion_queue(mut self, most: usize) -> Self {
        self.abandoned = Some(most);
        self
    }

    /// At most so many reports wait for the sinks; 1,024 by default. A report
    /// beyond them is lost to the sinks, which the later reports say.
    pub fn max_sink_reports(mut self, most: usize) -> Self {
        self.most_sink_reports = most;
        self
    }

    /// No request waits longer than this, whatever its own deadline.
    pub fn max_queue_wait(mut self, limit: Duration) -> Self {
        self.most_queue_wait = Some(limit);
        self
    }

    /// A grant whose handle nobody takes for so long is revoked; 30 s by default.
    pub fn claim_limit(mut self, limit: Duration) -> Self {
        self.claim_limit = limit;
        self
    }

    /// An attempt that has ended, but whose device work is not proven to be over
    /// for so long, is reported as quarantined and keeps its bytes; 10 s by
    /// default.
    pub fn proof_limit(mut self, limit: Duration) -> Self {
        self.proof_limit = limit;
        self
    }

    /// Adds a sink that gets every report.
    pub fn sink(mut self, sink: impl ReportSink + 'static) -> Self {
        self.sinks.push(Box::new(sink));
        self
    }

    /// Takes time from `clock` instead of the machine's.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Builds the backend and starts its threads: close first, before there is any
    /// device, then timer and delivery, and with a runtime one for proofs.
    ///
    /// # Errors
    /// `OutOfRange`, `DuplicateDevice`, `ThreadRefused`, or `Runtime` when a
    /// runtime's budget cannot set its capacity aside; whatever was built
    /// until then is taken down.
    pub fn build(self) -> Result<GpuBackend> {
        self.check()?;
        let ordinals = self.devices.iter().map(|device| device.ordinal);
        let recorder = Recorder::new(ordinals.map(DeviceOrdinal), BANDS).map_err(|_| {
            // Number and uniqueness of the devices were checked above.
            Error::DuplicateDevice { ordinal: 0 }
        })?;
        let accounts = self
            .devices
            .iter()
            .map(|device| Account {
                is_ledger_only: device.runtime.is_none(),
                ..Account::new(device.ordinal, device.capacity_bytes, self.most_running)
            })
            .collect();
        let gate = ModelledArc::new(Gate::new(self.most_open));
        let limits = Limits {
            most_queued: self.most_queued,
            claim_ns: whole_ns(self.claim_limit),
            proof_ns: whole_ns(self.proof_limit),
        };
        let ledger = Ledger::new(accounts);
        let book = Book::new(gate.clone(), ledger, limits, recorder.clone());
        let shared = Arc::new(Shared {
            identity: GpuBackendCoreIdentity::mint(),
            gate,
            clock: self.clock,
            book: Mutex::new(book),
            abandoned: Abandoned::new(self.abandoned.unwrap_or(0)),
            recorder,
            delivery: Delivery::new(self.most_sink_reports, !self.sinks.is_empty()),
            devices: self
                .devices
                .iter()
                .map(|device| DeviceSlot::new(device.label.clone()))
                .collect(),
            proofs: Proofs::new(),
            close_desk: CloseDesk::new(),
            bell: Bell::new(),
            is_timer_over: AtomicBool::new(false),
            handles: AtomicUsize::new(1),
            most_queue_wait: self.most_queue_wait,
        });
        // From here on a failure drops this one handle, which signals close.
        let backend = GpuBackend::new(shared.clone());
        let has_runtimes = self.devices.iter().any(|device| device.runtime.is_some());
        start_threads(&shared, self.sinks, has_runtimes)?;
        for (slot, device) in shared.devices.iter().zip(self.devices) {
            if let Some(runtime) = device.runtime {
                let generation = Generation::new(FIRST, runtime, device.capacity_bytes)?;
                drop(slot.attach(generation));
            }
        }
        shared.clock.keep_bell(shared.bell.clone());
        Ok(backend)
    }

    fn check(&self) -> Result<()> {
        let most_queued = wide(MOST_QUEUED);
        let devices = wide(self.devices.len());
        check_range(Field::Devices, devices, 1, wide(MOST_DEVICES))?;
        let ranges = [
            (
                Field::OpenAttempts,
                u64::from(self.most_open),
                1,
                u64::from(MOST_OPEN_ATTEMPTS),
            ),
            (
                Field::QueuedRequests,
                wide(self.most_queued),
                0,
                most_queued,
            ),
            (
                Field::RunningAttempts,
                u64::from(self.most_running),
                1,
                u64::from(u32::MAX),
            ),
            (
                Field::AbandonedReports,
                wide(self.abandoned.unwrap_or(1)),
                1,
                most_queued,
            ),
            (
                Field::SinkReports,
                wide(self.most_sink_reports),
                1,
                most_queued,
            ),
        ];
        for (field, value, least, most) in ranges {
            check_range(field, value, least, most)?;
        }
        for (place, device) in self.devices.iter().enumerate() {
            check_range(
                Field::CapacityBytes,
                device.capacity_bytes,
                1,
                MOST_CAPACITY_BYTES,
            )?;
            let ordinal = device.ordinal;
            if self.devices[..place]
                .iter()
                .any(|other| other.ordinal == ordinal)
            {
                return Err(Error::DuplicateDevice { ordinal });
            }
        }
        Ok(())
    }
}

impl fmt::Debug for GpuBackendBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GpuBackendBuilder")
            .field("devices", &self.devices.len())
            .field("max_open_attempts", &self.most_open)
            .field("max_queued", &self.most_queued)
            .field("sinks", &self.sinks.len())
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}

/// Starts the threads; they end by themselves once close is complete.
fn start_threads(
    shared: &Arc<Shared>,
    sinks: Vec<Box<dyn ReportSink>>,
    has_runtimes: bool,
) -> Result<()> {
    let closing = shared.clone();
    let closer = start(ThreadRole::Close, "lanekeeper-close", move || {
        closing.run_close()
    })?;
    shared.gate.set_closer(closer.thread().clone());
    let timing = shared.clone();
    start(ThreadRole::Timer, "lanekeeper-timer", move || {
        timing.run_timer()
    })?;
    let delivery = shared.delivery.clone();
    let body = move || delivery.run(sinks);
    start(ThreadRole::Delivery, "lanekeeper-deliver", body)?;
    if has_runtimes {
        let proving = shared.clone();
        start(ThreadRole::Proof, "lanekeeper-proof", move || {
            proving.run_proofs()
        })?;
    }
    Ok(())
}

fn start(
    role: ThreadRole,
    name: &str,
    body: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>> {
    spawn_named(name, body).map_err(|error| Error::ThreadRefused {
        role,
        cause: error.kind(),
    })
}

fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
