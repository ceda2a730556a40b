//! One waiter's wake-up: a thread that blocks, or a task that polls.
//!
//! A signal only says "look again". What is true is read from the line, under
//! its lock, so a signal that comes too early or twice does no harm.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Waker};
use std::time::Duration;

use runtime_sync::{Condvar, Mutex};

#[derive(Debug)]
pub(crate) struct Signal {
    state: Mutex<State>,
    raised: Condvar,
}

#[derive(Debug, Default)]
struct State {
    raised: bool,
    waker: Option<Waker>,
}

impl Signal {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new(State::default()),
            raised: Condvar::new(),
        }
    }

    /// Wakes the waiter, now or when it next looks. Never call it under a lock.
    pub(crate) fn raise(&self) {
        let waker = {
            let mut state = self.state.lock();
            state.raised = true;
            state.waker.take()
        };
        self.raised.notify_all();
        if let Some(waker) = waker {
            wake(waker);
        }
    }

    /// Blocks until the signal was raised since the last look, or `limit` passed.
    pub(crate) fn wait(&self, limit: Option<Duration>) {
        let mut state = self.state.lock();
        while !state.raised {
            match limit {
                None => state = self.raised.wait(state),
                Some(limit) => {
                    let (guard, timed_out) = self.raised.wait_timeout(state, limit);
                    state = guard;
                    if timed_out {
                        break;
                    }
                }
            }
        }
        state.raised = false;
    }

    /// Registers the task, and says whether the signal was raised before.
    pub(crate) fn poll(&self, context: &Context<'_>) -> bool {
        let waker = context.waker().clone();
        let (raised, replaced) = {
            let mut state = self.state.lock();
            let raised = std::mem::take(&mut state.raised);
            (raised, state.waker.replace(waker))
        };
        // Dropping a waker runs foreign code, so it happens out here.
        drop(replaced);
        raised
    }
}

/// Wakes a task; a panic of its waker ends here.
pub(crate) fn wake(waker: Waker) {
    if catch_unwind(AssertUnwindSafe(|| waker.wake())).is_err() {
        tracing::error!("a waker panicked");
    }
}
