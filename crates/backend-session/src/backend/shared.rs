//! What all values of one backend share.
//!
//! Lock order: the line (`book`), then a report's slot, then the abandoned
//! reports. The close desk, the delivery queue and a device's slot are leaves.
//! Foreign code runs under none of them.

use super::close::CloseDesk;
use super::delivery::Delivery;
use super::device::DeviceSlot;
use super::proofs::Proofs;
use crate::admission::{Book, DeviceFilter, DeviceIndex, Moves, Order, Polled};
use crate::attempt::{
    Abandoned, Attempt, AttemptFacts, BeginAttemptRequest, QueryCompletion, Record, Verdict,
};
use crate::clock::{Bell, Clock};
use crate::error::{EndedBy, Error, Result};
use crate::gate::{Gate, ObservationPermit};
use crate::identity::GpuBackendCoreIdentity;
use crate::report::{Priority, QueryAttemptReport};
use backend_metrics::{
    AttemptBackendCountersSnapshot, BackendMetricsSnapshot, GateState, Recorder, SessionFacts,
};
use runtime_sync::unmodelled::{Arc, AtomicBool, AtomicUsize, Ordering};
use runtime_sync::{Arc as ModelledArc, Mutex};
use std::fmt;
use std::task::Waker;
use std::time::Duration;

/// One backend. Sessions and attempts hold it strongly: it is observation
/// state, and its devices are detached when close is GPU-quiescent.
pub(crate) struct Shared {
    pub(super) identity: GpuBackendCoreIdentity,
    pub(super) gate: ModelledArc<Gate>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) book: Mutex<Book<QueryCompletion>>,
    pub(super) abandoned: Abandoned<QueryAttemptReport>,
    pub(super) recorder: Recorder,
    pub(super) delivery: Delivery,
    pub(super) devices: Vec<DeviceSlot>,
    pub(super) close_desk: CloseDesk,
    pub(super) proofs: Proofs,
    pub(super) bell: Bell,
    pub(super) is_timer_over: AtomicBool,
    /// Public handles of the backend; the last one signals close.
    pub(super) handles: AtomicUsize,
    /// The longest wait in the line; `None`: as long as the request allows.
    pub(super) most_queue_wait: Option<Duration>,
}

impl Shared {
    /// Begins an attempt: the observation permit decides against close.
    pub(crate) fn begin(self: &Arc<Self>, request: BeginAttemptRequest) -> Result<Attempt> {
        request.check()?;
        let observation = ObservationPermit::begin(&self.gate)?;
        self.abandoned.count_begun();
        let now_ns = self.clock.now_ns();
        let mut begun = None;
        self.book.lock().begin(now_ns, |id, now_ns| {
            let record = Arc::new(Record::new(id));
            begun = Some(record.clone());
            let facts = AttemptFacts::begun(
                id,
                request.correlation,
                request.tenant,
                Priority::Normal,
                now_ns,
            );
            let completion = QueryCompletion {
                gpu: None,
                publisher: record,
                observation,
                activity: None,
            };
            (facts, completion)
        });
        let Some(record) = begun else {
            // The book always asks for the draft.
            return Err(Error::BackendClosing);
        };
        Ok(Attempt::new(self.clone(), record))
    }

    /// Notes that planning starts, unless close came first.
    pub(crate) fn plan(&self, record: &Arc<Record>) -> Result<()> {
        if self.gate.is_closing() {
            let verdict = Verdict::failed(EndedBy::Close, Error::BackendClosing);
            return match self.end(record, &verdict) {
                Ok(()) => Err(Error::BackendClosing),
                Err(already) => Err(already),
            };
        }
        let now_ns = self.clock.now_ns();
        let is_planned = self.book.lock().plan(record.id, now_ns);
        if !is_planned && record.has_ended() {
            return Err(record.already_ended());
        }
        Ok(())
    }

    /// Puts a request into the line and looks at once what became of it.
    pub(crate) fn submit(
        &self,
        record: &Arc<Record>,
        mut order: Order,
        filter: &DeviceFilter,
        activity: &mut Option<Box<dyn Send>>,
        waker: Waker,
    ) -> Polled {
        let now_ns = self.clock.now_ns();
        let mut moves = Moves::new();
        let polled = {
            let mut book = self.book.lock();
            order.devices = book.select(filter);
            let prepare = |completion: &mut QueryCompletion| completion.activity = activity.take();
            book.submit(record.id, order, prepare, now_ns, &mut moves);
            book.poll(record.id, waker, now_ns)
        };
        self.carry_out(moves);
        polled
    }

    /// What became of a request in the line.
    pub(crate) fn poll(&self, record: &Arc<Record>, waker: Waker) -> Polled {
        let now_ns = self.clock.now_ns();
        self.book.lock().poll(record.id, waker, now_ns)
    }

    /// Ends an attempt.
    ///
    /// # Errors
    /// `AlreadyEnded` when something else did so first.
    pub(crate) fn end(&self, record: &Arc<Record>, verdict: &Verdict) -> Result<()> {
        let now_ns = self.clock.now_ns();
        let mut moves = Moves::new();
        let is_first = self.book.lock().end(record.id, verdict, now_ns, &mut moves);
        self.carry_out(moves);
        if is_first {
            Ok(())
        } else {
            Err(record.already_ended())
        }
    }

    /// The owner ends its attempt, or finds it ended; either way it is gone.
    pub(crate) fn finish_by_owner(&self, record: &Arc<Record>, verdict: &Verdict) -> Result<()> {
        let ended = self.end(record, verdict);
        let now_ns = self.clock.now_ns();
        let mut moves = Moves::new();
        self.book.lock().owner_left(record.id, now_ns, &mut moves);
        self.carry_out(moves);
        record.unshare();
        ended
    }

    /// Who this backend is.
    pub(crate) fn identity(&self) -> GpuBackendCoreIdentity {
        self.identity
    }

    /// True once close is signalled.
    pub(crate) fn is_closing(&self) -> bool {
        self.gate.is_closing()
    }

    /// The counts of attempts and reports.
    pub(crate) fn attempt_counters(&self) -> AttemptBackendCountersSnapshot {
        self.abandoned.counts()
    }

    /// The oldest reports that nobody waited for.
    pub(crate) fn take_abandoned(&self, most: usize) -> Vec<ModelledArc<QueryAttemptReport>> {
        self.abandoned.take(most)
    }

    /// The shorter of the request's limit and the backend's own.
    pub(crate) fn queue_ns(&self, asked: Option<Duration>) -> Option<u64> {
        let limits = asked.into_iter().chain(self.most_queue_wait);
        limits.min().map(crate::clock::whole_ns)
    }

    /// The device with this ordinal.
    pub(crate) fn find(&self, ordinal: u32) -> Result<DeviceIndex> {
        let found = self.book.lock().find(ordinal);
        found.ok_or(Error::UnknownDevice { ordinal })
    }

    /// Bytes that buffers held beyond their attempt are back.
    pub(crate) fn release_retained(&self, device: DeviceIndex, bytes: u64) {
        let now_ns = self.clock.now_ns();
        let mut moves = Moves::new();
        self.book
            .lock()
            .release_retained(device, bytes, now_ns, &mut moves);
        self.carry_out(moves);
    }

    /// The clock's time, for what happens outside of the book.
    pub(crate) fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// One coherent snapshot.
    pub(crate) fn metrics(&self) -> BackendMetricsSnapshot {
        self.recorder.snapshot(self.facts())
    }

    /// The facts of one instant.
    pub(crate) fn facts(&self) -> SessionFacts {
        let gate = self.gate_state();
        let now_ns = self.clock.now_ns();
        let mut facts = {
            let mut book = self.book.lock();
            let mut facts = book.facts(now_ns);
            facts.attempts = self.abandoned.counts();
            facts
        };
        facts.gate = gate;
        for (device, slot) in facts.devices.iter_mut().zip(&self.devices) {
            slot.label.clone_into(&mut device.label);
        }
        facts
    }

    /// One handle more.
    pub(super) fn count_handle(&self) {
        // Relaxed: a handle is only made from another one, which is counted.
        self.handles.fetch_add(1, Ordering::Relaxed);
    }

    /// One handle less; the last one signals close.
    pub(super) fn uncount_handle(&self) {
        // AcqRel: the last one sees what the others did before they left.
        if self.handles.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.gate.close();
        }
    }

    fn gate_state(&self) -> GateState {
        let progress = self.close_progress();
        if progress.is_observation_quiescent {
            GateState::Closed
        } else if progress.is_gpu_quiescent {
            GateState::GpuQuiescent
        } else if progress.is_closing {
            GateState::Closing
        } else {
            GateState::Open
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("identity", &self.identity)
            .field("gate", &self.gate.snapshot())
            .finish_non_exhaustive()
    }
}
