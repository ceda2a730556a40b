//! The shell around the line: locks it, asks it, and does what it says.
//!
//! Whoever submits, waits or releases also drives: hands offered regions to the
//! driver, publishes what is over, wakes whom the line names. A reaper per queue
//! does it only while a future, a waiter or a ticket depends on it.
//!
//! Lock order: `state`, then one run slot's lock, then nothing. No driver call,
//! waker, callback or destructor runs under either.

mod ending;
mod publish;
mod reaper;

use std::time::{Duration, Instant};

use runtime_sync::unmodelled::Arc;
use runtime_sync::{Condvar, Mutex};
use slotmap::SecondaryMap;
use smallvec::SmallVec;

use super::line::{Line, Offer, Progress, SubmissionKey};
use super::signal::Signal;
use crate::device::{Device, Point, QueueIndex};
use crate::error::{Busy, Error, Result};
use crate::quarantine::{Cause, Register};
use crate::run::Run;
use crate::statistics::Statistics;
use crate::trace::Recorder;

/// The longest that anybody blocks in the driver before looking around.
pub(crate) const SLICE: Duration = Duration::from_millis(100);

/// Called once when the device is lost.
pub(crate) type LossCallback = Box<dyn FnOnce(&Error) + Send>;

pub(crate) struct Scheduler {
    pub(crate) device: Arc<dyn Device>,
    pub(crate) register: Register,
    pub(crate) recorder: Recorder,
    pub(crate) start: Instant,
    state: Mutex<State>,
    /// One per queue; its reaper sleeps here.
    reapers: Vec<Condvar>,
    /// Notified when something is published while somebody drains.
    drained: Condvar,
}

pub(crate) struct State {
    pub(crate) line: Line<Arc<Signal>>,
    pub(crate) phase: Phase,
    pub(crate) statistics: Statistics,
    pub(crate) holder: Option<Arc<str>>,
    runs: SecondaryMap<SubmissionKey, Arc<Run>>,
    numbers: SecondaryMap<SubmissionKey, u64>,
    on_loss: Option<LossCallback>,
    /// How many want every submission observed.
    watchers: u32,
    reapers: u32,
    sleeping_reapers: u32,
}

/// Whether the runtime takes work.
#[derive(Debug, Clone)]
pub(crate) enum Phase {
    Open,
    Closed,
    Lost(Cause),
}

impl State {
    pub(crate) fn check_open(&self) -> Result<()> {
        match &self.phase {
            Phase::Open => Ok(()),
            Phase::Closed => Err(Error::Closed),
            Phase::Lost(cause) => Err(lost(cause)),
        }
    }
}

pub(crate) fn lost(cause: &Cause) -> Error {
    Error::DeviceLost {
        quarantine: None,
        cause: cause.clone(),
    }
}

/// How a submission enters when the places are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Takes one now or is refused.
    Now,
    /// Was taken before.
    Taken,
}

impl Scheduler {
    pub(crate) fn new(
        device: Arc<dyn Device>,
        limit: u32,
        trace_capacity: usize,
        on_loss: Option<LossCallback>,
    ) -> Self {
        let queues = device.info().lanes.queue_count();
        Self {
            device,
            register: Register::new(),
            recorder: Recorder::new(trace_capacity),
            start: Instant::now(),
            state: Mutex::new(State {
                line: Line::new(limit, queues),
                phase: Phase::Open,
                statistics: Statistics::default(),
                holder: None,
                runs: SecondaryMap::new(),
                numbers: SecondaryMap::new(),
                on_loss,
                watchers: 0,
                reapers: 0,
                sleeping_reapers: 0,
            }),
            reapers: (0..queues).map(|_| Condvar::new()).collect(),
            drained: Condvar::new(),
        }
    }

    pub(crate) fn lock(&self) -> runtime_sync::MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Enters a run behind the runs in `follows`, and drives.
    pub(crate) fn submit(
        &self,
        run: &Arc<Run>,
        place: Place,
        follows: &[(SubmissionKey, Arc<Run>)],
    ) -> Result<SubmissionKey> {
        self.observe();
        let now = Instant::now();
        let mut state = self.state.lock();
        let entered = state.check_open().and_then(|()| {
            if place == Place::Now && !state.line.try_place() {
                let limit = state.line.limit();
                state.statistics.busy_capacity += 1;
                return Err(Error::Busy(Busy::Capacity { limit }));
            }
            Ok(())
        });
        if let Err(error) = entered {
            if place == Place::Taken {
                state.line.return_place();
            }
            drop(state);
            self.work();
            return Err(error);
        }
        run.begin(now);
        let keys: SmallVec<[SubmissionKey; 4]> = follows.iter().map(|(key, _)| *key).collect();
        // A producer that the line no longer knows is published: its result
        // stands in its slot, and cannot change while this lock is held.
        let producer_failed = follows
            .iter()
            .any(|(_, producer)| matches!(producer.result(), Some(Err(_))));
        let key = state.line.submit(&run.plan, &keys, producer_failed);
        state.runs.insert(key, run.clone());
        let statistics = &mut state.statistics;
        statistics.submitted += 1;
        statistics.in_flight += 1;
        statistics.peak_in_flight = statistics.peak_in_flight.max(statistics.in_flight);
        let number = statistics.submitted;
        state.numbers.insert(key, number);
        drop(state);
        self.work();
        Ok(key)
    }

    /// Looks at the timelines, then does all there is to do.
    pub(crate) fn drive(&self) {
        self.observe();
        self.work();
    }

    /// Reads the timelines of the queues that have work.
    fn observe(&self) {
        for index in 0..self.reapers.len() {
            let queue = QueueIndex(u8::try_from(index).unwrap_or(u8::MAX));
            if self.state.lock().line.next_point(queue).is_none() {
                continue;
            }
            match self.device.reached(queue) {
                Ok(value) => self.note_reached(queue, value),
                Err(fault) if fault.is_lost() => self.lose(Cause::Device(fault)),
                // Nothing is known about the queue now; somebody looks again.
                Err(fault) => tracing::warn!(%fault, "a timeline could not be read"),
            }
        }
    }

    fn note_reached(&self, queue: QueueIndex, value: u64) {
        let now = Instant::now();
        let mut state = self.state.lock();
        let State { line, runs, .. } = &mut *state;
        let outcome = line.reached(queue, value, |key, place| {
            if let Some(run) = runs.get(key) {
                run.note_reached(place, now);
            }
        });
        drop(state);
        if outcome.is_err() {
            self.lose(Cause::Timeline);
        }
    }

    /// Hands over, publishes and wakes until the line has nothing more to do.
    pub(crate) fn work(&self) {
        let mut wakes = Vec::new();
        let mut state = self.state.lock();
        loop {
            state.line.take_wakes(&mut wakes);
            if !wakes.is_empty() {
                drop(state);
                for signal in wakes.drain(..) {
                    signal.raise();
                }
            } else if let Some(finished) = state.line.next_finished() {
                let run = state.runs.remove(finished.key);
                drop(state);
                self.finish(finished, run);
            } else if let Some(offer) = state.line.next_offer() {
                let run = state.runs.get(offer.facts.submission).cloned();
                drop(state);
                if let Some(run) = run {
                    self.hand_over(&offer, run);
                }
            } else {
                self.rouse(&mut state);
                return;
            }
            state = self.state.lock();
        }
    }

    fn hand_over(&self, offer: &Offer, run: Arc<Run>) {
        let region = &run.regions[usize::from(offer.facts.place)];
        // SAFETY: S2: the line offers a region once per run, and `runs` keeps
        // the slot until the submission is finished; an uncertain one goes into
        // the register instead of being dropped. The waits are points that the
        // line has noted as accepted.
        #[expect(unsafe_code, reason = "the line is what keeps a submit's obligations")]
        let outcome = unsafe {
            self.device.submit(
                region.native.as_ref(),
                offer.orders.leading,
                &offer.orders.waits,
            )
        };
        let label = run.label.clone();
        // The scheduler or the register holds the slot until its end is noted.
        // This reference goes first, so that it never is the last one, which
        // would let owners go after their place.
        drop(run);
        match outcome {
            Ok(point) => {
                // Noted in one step with the line, so that a caller who sees the
                // move also finds the point to wait for.
                let mut state = self.state.lock();
                let State { line, runs, .. } = &mut *state;
                line.accepted(offer, point.value);
                if let Some(run) = runs.get(offer.facts.submission) {
                    run.note_accepted(offer.facts.place, Instant::now());
                    run.announce();
                }
            }
            // A submit that answers "lost" counts as submitted: the region stays
            // as it is, and the loss ends its submission as uncertain.
            Err(fault) if fault.is_lost() => self.lose(Cause::Device(fault)),
            Err(fault) => {
                tracing::warn!(%label, %fault, "the driver refused a region");
                self.state.lock().line.refused(offer, fault);
            }
        }
    }

    /// Cancels a submission; false when the driver has all of it already.
    pub(crate) fn cancel(&self, key: SubmissionKey) -> bool {
        let cancelled = self.state.lock().line.cancel(key);
        self.work();
        cancelled
    }

    /// Cancels everything that the driver does not have; says how much that was.
    pub(crate) fn cancel_held(&self) -> u64 {
        let cancelled = {
            let mut state = self.state.lock();
            let keys: Vec<SubmissionKey> = state.line.keys().collect();
            let cancelled = keys.iter().filter(|key| state.line.cancel(**key)).count();
            cancelled as u64
        };
        self.work();
        cancelled
    }

    /// Asks the reapers to look after a submission.
    pub(crate) fn watch(&self, key: SubmissionKey) {
        let mut state = self.state.lock();
        state.line.watch(key);
        self.rouse(&mut state);
    }

    /// Asks the reapers to look after every submission, while this is held.
    pub(crate) fn watch_all(&self) -> Watch<'_> {
        let mut state = self.state.lock();
        state.watchers += 1;
        self.rouse(&mut state);
        Watch { scheduler: self }
    }

    pub(crate) fn progress(&self, key: SubmissionKey) -> Progress {
        self.state.lock().line.progress(key)
    }

    /// Blocks in the driver until a point is reached or a slice has passed.
    pub(crate) fn wait_point(&self, point: Point, limit: Duration) {
        match self.device.wait(point, limit.min(SLICE)) {
            Ok(_) => {}
            Err(fault) if fault.is_lost() => self.lose(Cause::Device(fault)),
            Err(fault) => {
                // Nothing is known of the point now; whoever waits looks again.
                tracing::warn!(%fault, "a wait failed");
                runtime_sync::thread::park_timeout(Duration::from_millis(1));
            }
        }
    }

    /// Blocks until nothing is unpublished, or `deadline`; true when so.
    pub(crate) fn wait_drained(&self, deadline: Instant) -> bool {
        let _watch = self.watch_all();
        let mut state = self.state.lock();
        loop {
            if state.line.unpublished() == 0 {
                return true;
            }
            let now = Instant::now();
            if now >= deadline {
                return false;
            }
            let (guard, _) = self.drained.wait_timeout(state, SLICE.min(deadline - now));
            state = guard;
        }
    }
}

/// Every submission is observed while this is held.
pub(crate) struct Watch<'a> {
    scheduler: &'a Scheduler,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.scheduler.state.lock().watchers -= 1;
    }
}

impl std::fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scheduler").finish_non_exhaustive()
    }
}
