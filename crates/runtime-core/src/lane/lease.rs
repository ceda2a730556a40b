//! Leases: the compute lane for one native stage.
//!
//! At most one lease of a runtime is alive. Who asks while it is held, or while
//! older submissions run, waits with a ticket in the one sequence of submissions
//! and stages. Compute work that was submitted after a stage asked starts after
//! the stage has ended; uploads and downloads go on.

use std::fmt;
use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use runtime_sync::unmodelled::Arc;

use super::Lane;
use super::scheduler::{SLICE, Scheduler, State};
use super::signal::Signal;
use super::stage::{self, StageScope};
use super::turns::{DrainScope, Entrant, Turn, TurnId};
use crate::error::{Busy, Error, Result};
use crate::runtime::Runtime;
use crate::trace::{TraceKind, TraceRecord};

/// Exclusive use of the compute lane for one native stage. Dropping it gives the
/// lane back.
///
/// Holding one across an `.await` while calling anything that waits for this
/// lane waits for itself; a bounded wait ends with [`Error::TimedOut`] and names
/// the stage.
pub struct Lease {
    runtime: Runtime,
    turn: TurnId,
    asked: Instant,
    admitted: Instant,
    label: Arc<str>,
    number: u64,
    /// The end of the stage's work has no proof.
    unproven: bool,
}

/// What a stage did, for trace and statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageRecord {
    /// How long the stage itself ran.
    pub ran: Duration,
    /// How long its fence took.
    pub fenced: Duration,
    /// The fence failed, or the stage panicked. Never a client error.
    pub failed: bool,
}

/// How far a caller is ready to wait for the lane.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Patience {
    /// Not at all: neither for a place nor for the lane.
    None,
    /// A place must be free now; then without limit for the lane.
    ForLane,
    /// For place and lane, together for at most this long.
    Within(Duration),
}

impl Lease {
    /// The runtime whose lane it is.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// How long it was waited for.
    pub fn waited(&self) -> Duration {
        self.admitted.saturating_duration_since(self.asked)
    }

    /// Names the stage, for traces and for waiters that give up.
    pub fn name(&mut self, label: impl Into<Arc<str>>) {
        self.label = label.into();
        self.runtime.domain().scheduler.lock().holder = Some(self.label.clone());
    }

    /// Says that the end of the stage's work has no proof: its owner went into
    /// quarantine. A view that the lease was taken through counts it so.
    pub fn mark_unproven(&mut self) {
        self.unproven = true;
    }

    /// The mark for threads that are part of the stage.
    pub fn scope(&self) -> StageScope {
        StageScope::new(self.runtime.domain().id)
    }

    /// Records what the stage did and gives the lane back.
    pub fn finish(self, record: StageRecord) {
        let scheduler = &self.runtime.domain().scheduler;
        let ended = Instant::now();
        scheduler.recorder.push(TraceRecord {
            kind: TraceKind::Stage,
            id: self.number,
            lane: Lane::Compute,
            label: self.label.clone(),
            asked_at: self.asked.saturating_duration_since(scheduler.start),
            started_at: self.admitted.saturating_duration_since(scheduler.start),
            ended_at: ended.saturating_duration_since(scheduler.start),
            failed: record.failed,
        });
        let mut state = scheduler.lock();
        let statistics = &mut state.statistics;
        statistics.stages_failed += u64::from(record.failed);
        statistics.stages_ran_ns += nanoseconds(record.ran);
        statistics.stages_fenced_ns += nanoseconds(record.fenced);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let scheduler = &self.runtime.domain().scheduler;
        release(scheduler, self.turn);
        if let Some(tenure) = self.runtime.tenure() {
            tenure.leave(!self.unproven);
        }
    }
}

/// Gives the lane back unused.
fn give_back(scheduler: &Scheduler, turn: TurnId) {
    scheduler.lock().line.release(turn);
    scheduler.drive();
}

/// Gives the lane back and lets go on what waited for that.
pub(crate) fn release(scheduler: &Scheduler, turn: TurnId) {
    let holder = {
        let mut state = scheduler.lock();
        state.line.release(turn);
        state.statistics.stages_ended += 1;
        state.holder.take()
    };
    drop(holder);
    scheduler.drive();
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Blocks for the lane as far as `patience` goes.
pub(crate) fn acquire(runtime: &Runtime, scope: DrainScope, patience: Patience) -> Result<Lease> {
    let asked = Instant::now();
    let domain = runtime.domain();
    refuse(runtime)?;
    let deadline = match patience {
        Patience::None => Some(asked),
        Patience::ForLane => None,
        Patience::Within(limit) => asked.checked_add(limit),
    };
    let turn = acquire_turn(&domain.scheduler, scope, patience, deadline)?;
    grant(runtime, turn, asked)
}

/// The lane's turn itself, without anything that a stage needs around it.
pub(crate) fn acquire_turn(
    scheduler: &Scheduler,
    scope: DrainScope,
    patience: Patience,
    deadline: Option<Instant>,
) -> Result<TurnId> {
    let asked = Instant::now();
    let signal = Arc::new(Signal::new());
    let turn = ask(scheduler, scope, patience, &signal)?;
    loop {
        scheduler.drive();
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        match look(&scheduler.lock(), turn) {
            Ok(true) => return Ok(turn),
            Ok(false) => {}
            Err(error) => return Err(error),
        }
        if left.is_some_and(|left| left.is_zero()) {
            return give_up(scheduler, turn, patience, asked);
        }
        signal.wait(Some(left.map_or(SLICE, |left| left.min(SLICE))));
    }
}

/// What refuses a stage before it takes a ticket: its own lane, and a view that
/// was taken back.
fn refuse(runtime: &Runtime) -> Result<()> {
    let domain = runtime.domain();
    if !stage::inside(domain.id) {
        return runtime.tenure().map_or(Ok(()), |tenure| tenure.check());
    }
    domain.scheduler.lock().statistics.busy_reentry += 1;
    Err(Error::Busy(Busy::Reentry))
}

/// Takes a ticket, or a position before one.
fn ask(
    scheduler: &Scheduler,
    scope: DrainScope,
    patience: Patience,
    signal: &Arc<Signal>,
) -> Result<TurnId> {
    scheduler.drive();
    let mut state = scheduler.lock();
    state.check_open()?;
    let turn = match patience {
        Patience::Within(_) => state.line.wait(Entrant::Stage(scope), signal.clone()),
        Patience::None | Patience::ForLane => {
            let limit = state.line.limit();
            match state.line.try_ticket(scope, signal.clone()) {
                Some(turn) => turn,
                None => {
                    state.statistics.busy_capacity += 1;
                    return Err(Error::Busy(Busy::Capacity { limit }));
                }
            }
        }
    };
    drop(state);
    scheduler.work();
    Ok(turn)
}

/// True when the stage may begin.
fn look(state: &State, turn: TurnId) -> Result<bool> {
    match state.line.turn(turn) {
        Turn::Active => Ok(true),
        Turn::AwaitsPlace | Turn::Promised | Turn::AwaitsLane => Ok(false),
        Turn::Gone => {
            state.check_open()?;
            Err(Error::Closed)
        }
    }
}

/// Leaves the line, unless the lane came in the same moment.
fn give_up(
    scheduler: &Scheduler,
    turn: TurnId,
    patience: Patience,
    asked: Instant,
) -> Result<TurnId> {
    let (outcome, left) = {
        let mut state = scheduler.lock();
        if look(&state, turn)? {
            return Ok(turn);
        }
        let left = state.line.leave(turn);
        (state.holder.clone(), left)
    };
    drop(left);
    scheduler.drive();
    match patience {
        Patience::None => Err(Error::Busy(Busy::Lane)),
        _ => Err(Error::TimedOut {
            waited: asked.elapsed(),
            lane_held_by: outcome,
        }),
    }
}

/// The lease of a turn that became active.
///
/// The view may have been revoked while the stage waited.
fn grant(runtime: &Runtime, turn: TurnId, asked: Instant) -> Result<Lease> {
    if let Some(tenure) = runtime.tenure()
        && let Err(error) = tenure.enter()
    {
        give_back(&runtime.domain().scheduler, turn);
        return Err(error);
    }
    let admitted = Instant::now();
    let label: Arc<str> = runtime.domain().label.clone();
    let mut state = runtime.domain().scheduler.lock();
    state.holder = Some(label.clone());
    let statistics = &mut state.statistics;
    statistics.stages_admitted += 1;
    statistics.stages_waited_ns += nanoseconds(admitted.saturating_duration_since(asked));
    let number = statistics.stages_admitted;
    drop(state);
    Ok(Lease {
        runtime: runtime.clone(),
        turn,
        asked,
        admitted,
        label,
        number,
        unproven: false,
    })
}

/// Waits in turn for place and lane without blocking the thread.
///
/// Cancel-safe: a dropped future leaves the line, and gives the lane back when it
/// had just got it.
pub(crate) async fn acquire_async(runtime: Runtime, scope: DrainScope) -> Result<Lease> {
    let asked = Instant::now();
    refuse(&runtime)?;
    let signal = Arc::new(Signal::new());
    let turn = ask(
        &runtime.domain().scheduler,
        scope,
        Patience::Within(Duration::MAX),
        &signal,
    )?;
    let mut waiting = Waiting {
        runtime: &runtime,
        turn: Some(turn),
    };
    poll_fn(|context| {
        signal.poll(context);
        let scheduler = &runtime.domain().scheduler;
        scheduler.drive();
        let looked = look(&scheduler.lock(), turn);
        match looked {
            Ok(true) => Poll::Ready(Ok(())),
            Ok(false) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    })
    .await?;
    waiting.turn = None;
    drop(waiting);
    grant(&runtime, turn, asked)
}

/// Leaves the line when its future is dropped.
struct Waiting<'a> {
    runtime: &'a Runtime,
    turn: Option<TurnId>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Some(turn) = self.turn else {
            return;
        };
        let scheduler = &self.runtime.domain().scheduler;
        let left = {
            let mut state = scheduler.lock();
            let left = state.line.leave(turn);
            state.line.release(turn);
            left
        };
        drop(left);
        scheduler.drive();
    }
}
