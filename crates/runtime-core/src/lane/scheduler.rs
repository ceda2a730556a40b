//! The shell around the line: locks it, asks it, and does what it says.
//!
//! Whoever submits, waits or releases also drives: hands offered regions to the
//! driver, publishes what is over, wakes whom the line names. A reaper per queue
//! does it only while a future, a waiter or a ticket depends on it.
//!
//! Lock order: `state`, then one run slot's lock, then nothing. No driver call,
//! waker, callback or destructor runs under either.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;
use std::time::{Duration, Instant};

use runtime_sync::unmodelled::Arc;
use runtime_sync::{Condvar, Mutex};
use slotmap::SecondaryMap;
use smallvec::SmallVec;

use super::line::{End, Finished, Line, Offer, Plan, Progress, SubmissionKey};
use super::signal::{Signal, wake};
use crate::device::{Device, Point, QueueIndex};
use crate::error::{Busy, Error, Result};
use crate::quarantine::{Cause, OwnerKind, Register};
use crate::run::{Run, RunTimes};
use crate::statistics::Statistics;
use crate::trace::{Recorder, TraceKind, TraceRecord};

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
                    self.hand_over(&offer, &run);
                }
            } else {
                self.rouse(&mut state);
                return;
            }
            state = self.state.lock();
        }
    }

    fn hand_over(&self, offer: &Offer, run: &Arc<Run>) {
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
        match outcome {
            Ok(point) => {
                // Noted in one step with the line, so that a caller who sees the
                // move also finds the point to wait for.
                let mut state = self.state.lock();
                state.line.accepted(offer, point.value);
                run.note_accepted(offer.facts.place, Instant::now());
                drop(state);
                run.announce();
            }
            // A submit that answers "lost" counts as submitted: the region stays
            // as it is, and the loss ends its submission as uncertain.
            Err(fault) if fault.is_lost() => self.lose(Cause::Device(fault)),
            Err(fault) => {
                tracing::warn!(label = %run.label, %fault, "the driver refused a region");
                self.state.lock().line.refused(offer, fault);
            }
        }
    }

    /// Lets go of what a finished submission owned, then publishes it.
    fn finish(&self, finished: Finished, run: Option<Arc<Run>>) {
        let Some(run) = run else {
            return;
        };
        let traced = Traced::of(&run, &self.recorder);
        let (result_of_loss, run) = if finished.uncertain {
            let error = self.keep(run.clone());
            (Some(error), Some(run))
        } else if Arc::strong_count(&run) == 1 {
            // Nobody can see the result: graph and handles are gone. The owners
            // go first, so that their memory is free when the place is.
            let tenure = run.tenure.clone();
            discard(run);
            if let Some(tenure) = tenure {
                tenure.leave(true);
            }
            (None, None)
        } else {
            (None, Some(run))
        };
        self.publish(finished, result_of_loss, run, traced);
    }

    fn publish(
        &self,
        finished: Finished,
        loss: Option<Error>,
        run: Option<Arc<Run>>,
        traced: Option<Traced>,
    ) {
        let now = Instant::now();
        let mut wakers: Vec<Waker> = Vec::new();
        let mut state = self.state.lock();
        let end = state.line.publish(finished.key);
        let number = state.numbers.remove(finished.key).unwrap_or_default();
        let result = match (loss, end) {
            (Some(error), _) => Err(error),
            (None, Some(End::Succeeded) | None) => Ok(()),
            (None, Some(End::Cancelled)) => Err(Error::Cancelled),
            (None, Some(End::DependencyFailed)) => Err(Error::DependencyFailed),
            (None, Some(End::Refused(fault))) => Err(Error::Device(fault)),
            (None, Some(End::Lost { .. })) => state.check_open(),
        };
        let statistics = &mut state.statistics;
        statistics.in_flight -= 1;
        match &result {
            Ok(()) => statistics.succeeded += 1,
            Err(_) if finished.uncertain => statistics.uncertain += 1,
            Err(Error::Cancelled) => statistics.cancelled += 1,
            Err(_) => statistics.failed += 1,
        }
        let failed = result.is_err();
        if let Some(run) = &run {
            run.publish(result, now, &mut wakers);
        }
        let draining = state.watchers > 0;
        drop(state);
        if draining {
            self.drained.notify_all();
        }
        if let Some(traced) = traced {
            self.record(&traced, now, number, failed);
        }
        let Some(run) = run else {
            return;
        };
        run.announce();
        if let Some(tenure) = &run.tenure {
            tenure.leave(!finished.uncertain);
        }
        for waker in wakers {
            wake(waker);
        }
        discard(run);
    }

    /// Puts a run without proof into the register and says what became of it.
    fn keep(&self, run: Arc<Run>) -> Error {
        let cause = match &self.state.lock().phase {
            Phase::Lost(cause) => cause.clone(),
            Phase::Open | Phase::Closed => Cause::Timeline,
        };
        let bytes = run.buffers.iter().map(|buffer| buffer.bytes()).sum();
        let owner: Box<dyn std::any::Any + Send + Sync> = Box::new(run.clone());
        let id = self.register.keep(
            run.label.clone(),
            OwnerKind::Submission,
            bytes,
            cause.clone(),
            Some(owner),
        );
        for buffer in &run.buffers {
            buffer.quarantine(id, &cause);
        }
        Error::DeviceLost {
            quarantine: Some(id),
            cause,
        }
    }

    fn record(&self, traced: &Traced, published: Instant, number: u64, failed: bool) {
        let since = |at: Instant| at.saturating_duration_since(self.start);
        let times = &traced.times;
        for (region, planned) in times.regions.iter().zip(&traced.plan.regions) {
            let (Some(asked), Some(accepted)) = (times.asked, region.accepted) else {
                continue;
            };
            self.recorder.push(TraceRecord {
                kind: TraceKind::Region,
                id: number,
                lane: planned.lane,
                label: traced.label.clone(),
                asked_at: since(asked),
                started_at: since(accepted),
                ended_at: since(region.reached.unwrap_or(published)),
                failed,
            });
        }
    }

    /// The device is gone; the first cause stands.
    pub(crate) fn lose(&self, cause: Cause) {
        let mut state = self.state.lock();
        if matches!(state.phase, Phase::Lost(_)) {
            return;
        }
        state.phase = Phase::Lost(cause.clone());
        state.line.lose();
        let callback = state.on_loss.take();
        drop(state);
        tracing::error!(%cause, "device lost");
        if let Some(callback) = callback {
            let error = lost(&cause);
            if catch_unwind(AssertUnwindSafe(|| callback(&error))).is_err() {
                tracing::error!("the loss callback panicked");
            }
        }
        for reaper in &self.reapers {
            reaper.notify_all();
        }
        self.drained.notify_all();
    }

    /// Nobody enters any more.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        if matches!(state.phase, Phase::Open) {
            state.phase = Phase::Closed;
        }
        state.line.close();
        drop(state);
        self.work();
        for reaper in &self.reapers {
            reaper.notify_all();
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

    /// Blocks until at most `left` reapers run, or `deadline`; true when so.
    pub(crate) fn wait_reapers(&self, left: u32, deadline: Instant) -> bool {
        let mut state = self.state.lock();
        loop {
            if state.reapers <= left {
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
                tracing::warn!(%fault, "a wait failed");
                runtime_sync::thread::yield_now();
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

    /// Wakes the reapers that have something to look after and are asleep.
    fn rouse(&self, state: &mut State) {
        if state.sleeping_reapers == 0 || !wants_reaper(state) {
            return;
        }
        for (index, reaper) in self.reapers.iter().enumerate() {
            let queue = QueueIndex(u8::try_from(index).unwrap_or(u8::MAX));
            if state.line.next_point(queue).is_some() {
                reaper.notify_all();
            }
        }
    }

    /// The body of one queue's reaper: ends when the runtime is closed and
    /// drained, or lost.
    pub(crate) fn reap(&self, queue: QueueIndex) {
        while let Some(point) = self.next_to_reap(queue) {
            self.wait_point(point, SLICE);
            self.drive();
        }
        self.state.lock().reapers -= 1;
        self.drained.notify_all();
    }

    /// A reaper is about to be started, or could not be.
    pub(crate) fn count_reaper(&self, started: bool) {
        let mut state = self.state.lock();
        if started {
            state.reapers += 1;
        } else {
            state.reapers -= 1;
        }
    }

    fn next_to_reap(&self, queue: QueueIndex) -> Option<Point> {
        let mut state = self.state.lock();
        loop {
            let closed = match state.phase {
                Phase::Lost(_) => return None,
                Phase::Closed => true,
                Phase::Open => false,
            };
            if closed && state.line.unpublished() == 0 {
                return None;
            }
            if (closed || wants_reaper(&state))
                && let Some(point) = state.line.next_point(queue)
            {
                return Some(point);
            }
            state.sleeping_reapers += 1;
            let (guard, _) = self.reapers[queue.index()].wait_timeout(state, sleep_limit(closed));
            state = guard;
            state.sleeping_reapers -= 1;
        }
    }
}

/// What the trace says of a run, taken before the run's slot may go.
struct Traced {
    label: Arc<str>,
    plan: Arc<Plan>,
    times: RunTimes,
}

impl Traced {
    fn of(run: &Run, recorder: &Recorder) -> Option<Self> {
        recorder.is_on().then(|| Self {
            label: run.label.clone(),
            plan: run.plan.clone(),
            times: run.times(),
        })
    }
}

/// A closing runtime is looked at in slices, so that its reapers end; an open
/// one sleeps until it is called.
fn sleep_limit(closed: bool) -> Duration {
    if closed {
        SLICE
    } else {
        Duration::from_secs(3600)
    }
}

fn wants_reaper(state: &State) -> bool {
    state.watchers > 0 || state.line.wants_reaper()
}

/// Drops a slot; what its drop runs may be foreign and may panic.
fn discard(run: Arc<Run>) {
    if catch_unwind(AssertUnwindSafe(|| drop(run))).is_err() {
        tracing::error!("a destructor panicked when a run let go of its owners");
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
