//! The reapers: one thread per queue that looks at the device for those who
//! cannot look themselves.

use std::time::{Duration, Instant};

use super::{Phase, SLICE, Scheduler, State};
use crate::device::{Point, QueueIndex};

impl Scheduler {
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

    /// Wakes the reapers that have something to look after and are asleep.
    pub(super) fn rouse(&self, state: &mut State) {
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
