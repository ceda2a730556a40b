//! Letting go of what is over, and showing how it ended.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;
use std::time::Instant;

use runtime_sync::unmodelled::Arc;

use super::{Phase, Scheduler};
use crate::error::Error;
use crate::lane::line::{End, Finished, Plan};
use crate::lane::signal::wake;
use crate::quarantine::{Cause, OwnerKind};
use crate::run::{Run, RunTimes};
use crate::trace::{Recorder, TraceKind, TraceRecord};

impl Scheduler {
    /// Lets go of what a finished submission owned, then publishes it.
    pub(super) fn finish(&self, finished: Finished, run: Option<Arc<Run>>) {
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
        run.keep();
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

/// Drops a slot; what its drop runs may be foreign and may panic.
fn discard(run: Arc<Run>) {
    if catch_unwind(AssertUnwindSafe(|| drop(run))).is_err() {
        tracing::error!("a destructor panicked when a run let go of its owners");
    }
}
