//! The hand that steers a scripted device.

use std::time::{Duration, Instant};

use runtime_sync::MutexGuard;
use runtime_sync::unmodelled::Arc;

use super::Shared;
use super::misuse::Misuse;
use super::run::drive;
use super::script::Call;
use super::state::{Live, LogEntry, State};
use crate::device::DeviceFault;
use crate::lane::Lane;

/// Steers and observes a scripted device, also after the runtime took it.
/// Clones steer the same device.
///
/// A lane stands for the queue that carries it: on a device with one queue,
/// holding one lane holds all.
#[derive(Debug, Clone)]
pub struct Controls {
    pub(super) shared: Arc<Shared>,
}

impl Controls {
    /// From now on accepted submissions of the lane's queue stay unreached.
    pub fn hold(&self, lane: Lane) {
        self.lock()
            .timelines
            .hold(self.shared.info.lanes.queue(lane));
    }

    /// [`hold`](Self::hold) for every queue.
    pub fn hold_all(&self) {
        let mut state = self.lock();
        for lane in Lane::ALL {
            state.timelines.hold(self.shared.info.lanes.queue(lane));
        }
    }

    /// Lets the lane's queue run; what is ready runs before this returns,
    /// unless the device has a thread of its own.
    pub fn release(&self, lane: Lane) {
        let mut state = self.lock();
        state.timelines.release(self.shared.info.lanes.queue(lane));
        self.go_on(state);
    }

    /// [`release`](Self::release) for every queue.
    pub fn release_all(&self) {
        let mut state = self.lock();
        for lane in Lane::ALL {
            state.timelines.release(self.shared.info.lanes.queue(lane));
        }
        self.go_on(state);
    }

    /// Lets the oldest held submission of the lane's queue run, once its waits
    /// are reached. False when none is held.
    pub fn release_one(&self, lane: Lane) -> bool {
        let mut state = self.lock();
        let queue = self.shared.info.lanes.queue(lane);
        let released = state.timelines.release_one(queue);
        self.go_on(state);
        released
    }

    /// The `nth` call from now, counted from 1, answers `fault` instead of
    /// doing anything. [`DeviceFault::Lost`] loses the device; a submit that
    /// answers it has accepted its region, which is never reached.
    pub fn fail(&self, call: Call, nth: u64, fault: DeviceFault) {
        self.lock().script.plan(call, nth, fault);
    }

    /// Loses the device: unreached work stays so, waits end, calls fail.
    pub fn lose(&self) {
        self.lock().lost = true;
        self.shared.changed.notify_all();
    }

    /// Makes the timeline of the lane's queue say `value`, or the truth again.
    pub fn force_counter(&self, lane: Lane, value: Option<u64>) {
        let queue = self.shared.info.lanes.queue(lane);
        self.lock().timelines.force(queue, value);
        self.shared.changed.notify_all();
    }

    /// The newest executed submissions, oldest first.
    pub fn log(&self) -> Vec<LogEntry> {
        self.lock().executed.iter().cloned().collect()
    }

    /// The accepted, unreached submissions of the lane, oldest first.
    pub fn pending(&self, lane: Lane) -> Vec<LogEntry> {
        let state = self.lock();
        let queue = self.shared.info.lanes.queue(lane);
        let unreached = state.timelines.unreached_on(queue);
        unreached
            .filter(|pending| pending.body.lane == lane)
            .map(LogEntry::of)
            .collect()
    }

    /// The highest value that the lane's queue has accepted.
    pub fn accepted(&self, lane: Lane) -> u64 {
        let queue = self.shared.info.lanes.queue(lane);
        self.lock().timelines.accepted(queue)
    }

    /// The highest value that the lane's queue says it has reached.
    pub fn reached(&self, lane: Lane) -> u64 {
        let queue = self.shared.info.lanes.queue(lane);
        self.lock().timelines.reached(queue)
    }

    /// Blocks until the lane's queue has accepted `value`, or `limit` passed:
    /// then false.
    pub fn wait_accepted(&self, lane: Lane, value: u64, limit: Duration) -> bool {
        let queue = self.shared.info.lanes.queue(lane);
        self.wait_until(limit, |state| state.timelines.accepted(queue) >= value)
    }

    /// Blocks until the device itself was dropped, or `limit` passed: then
    /// false.
    pub fn wait_dropped(&self, limit: Duration) -> bool {
        self.wait_until(limit, |state| !state.live.device)
    }

    /// What was caught so far, oldest first; at most 1024.
    pub fn misuses(&self) -> Vec<Misuse> {
        self.lock().misuses().to_vec()
    }

    /// What is alive of the device.
    pub fn live(&self) -> Live {
        self.lock().live
    }

    /// Bytes in use of each heap.
    pub fn heap_used_bytes(&self) -> Vec<u64> {
        self.lock().heap_used.clone()
    }

    fn wait_until(&self, limit: Duration, met: impl Fn(&State) -> bool) -> bool {
        let deadline = Instant::now().checked_add(limit);
        let mut state = self.lock();
        while !met(&state) {
            let left = deadline.map_or(limit, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return false;
            }
            (state, _) = self.shared.changed.wait_timeout(state, left);
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock()
    }

    fn go_on<'a>(&'a self, state: MutexGuard<'a, State>) {
        if self.shared.own_thread {
            drop(state);
            self.shared.changed.notify_all();
        } else {
            drop(drive(&self.shared, state));
        }
    }
}
