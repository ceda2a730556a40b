//! Loss and close: nobody enters any more.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Phase, Scheduler, lost};
use crate::quarantine::Cause;

impl Scheduler {
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
}
