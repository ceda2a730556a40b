//! The session: one foreign state, and the stages that run on it.
//!
//! A stage goes through these steps, and nothing leaves the sequence early:
//! healthy? lease; mark the thread; stage; fence; unmark; keep the owner if the
//! fence did not drain it; record and free the lane; answer. Exits are values
//! until the last step, so an unwinding stage takes the same way as any other.
//!
//! Invariant: once `health` says `Quarantined` the owner is kept, and neither
//! the fence nor the state's destructor runs again.
//! A session takes no lock and owns no queue: `&mut self` keeps its stages
//! apart, and the lane's lease keeps them apart from everybody else's.
#![expect(
    unsafe_code,
    reason = "what a stage does with foreign streams is a promise that no type can state"
)]

use std::fmt;
use std::time::{Duration, Instant};

use runtime_core::lane::DrainScope;
use runtime_core::quarantine::Owner;
use runtime_core::{
    Cause, Charge, Error, Invalid, Lease, QuarantineId, Result, Runtime, StageRecord,
};
use runtime_sync::unmodelled::Arc;

use crate::builder::NativeSessionBuilder;
use crate::exit::{Exit, Fenced, conclude};

/// A foreign GPU state, such as a model with its own streams and allocations,
/// whose work takes turns with the prepared graphs of a runtime.
///
/// Each [`run`](Self::run) is one *stage*: a synchronous piece of work on the
/// calling thread that holds the compute lane alone, while uploads and downloads
/// go on. After every stage, however it ended, the fence drains the state's
/// streams. A fence that cannot do that puts the state into quarantine: it is
/// kept as it is, for good, and every later call says so.
///
/// Dropping a healthy session drops its state, without a fence. Dropping one in
/// quarantine drops nothing.
pub struct NativeSession<T> {
    owner: Owner<Owned<T>>,
    fence: fn(&mut T) -> Result<()>,
    health: Health,
    runtime: Runtime,
    label: Arc<str>,
    drain: DrainScope,
}

/// The state and the bytes that stand for its memory. The state goes first.
struct Owned<T> {
    state: T,
    charges: Vec<Charge>,
}

/// Whether the state may be used.
enum Health {
    Healthy,
    Quarantined { id: QuarantineId, cause: Cause },
}

/// What a session is made of, its state apart.
pub(crate) struct Parts {
    pub(crate) runtime: Runtime,
    pub(crate) label: Arc<str>,
    pub(crate) drain: DrainScope,
    pub(crate) charges: Vec<Charge>,
}

impl NativeSession<()> {
    /// Describes a session with a label, charges, or another drain scope.
    pub fn builder(runtime: &Runtime) -> NativeSessionBuilder {
        NativeSessionBuilder::new(runtime)
    }
}

impl<T> NativeSession<T> {
    /// A session that owns `state`, with default settings; see
    /// [`builder`](NativeSession::builder) for others.
    ///
    /// # Safety
    /// - `state` owns every private stream, graph and allocation that its stages
    ///   use, and they are on the physical device of `runtime`;
    /// - `fence` drains all those streams before it answers success, also after
    ///   a stage that failed or panicked;
    /// - nobody else touches the state, while the session owns it;
    /// - constructing the state left no work pending;
    /// - all later work of the state goes through [`run`](Self::run) and its
    ///   variants.
    pub unsafe fn new(runtime: &Runtime, state: T, fence: fn(&mut T) -> Result<()>) -> Self {
        let builder = NativeSession::builder(runtime);
        // SAFETY: N1: the caller promises what `build` asks for.
        unsafe { builder.build(state, fence) }
    }

    pub(crate) fn from_parts(parts: Parts, state: T, fence: fn(&mut T) -> Result<()>) -> Self {
        Self {
            owner: Owner::new(Owned {
                state,
                charges: parts.charges,
            }),
            fence,
            health: Health::Healthy,
            runtime: parts.runtime,
            label: parts.label,
            drain: parts.drain,
        }
    }

    /// The state, between stages.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] with the quarantine's id and cause, once a fence
    /// has failed or panicked.
    pub fn state(&self) -> Result<&T> {
        self.check_healthy()?;
        Ok(&self.owner.get().state)
    }

    /// The runtime whose compute lane the stages use.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// The session's name.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Runs one stage on this thread, then the fence.
    ///
    /// The stage starts once all submissions from before this call have drained
    /// (see [`NativeSessionBuilder::drain_scope`]); compute work submitted after
    /// it waits. The wait has no limit; [`run_within`](Self::run_within) has one.
    /// An error in the stage's own value is a value and changes nothing. A
    /// panic of the stage is resumed after the fence.
    ///
    /// The async way is to await [`Runtime::lease_async`] and then call
    /// [`run_leased`](Self::run_leased).
    ///
    /// # Errors
    /// Checked in this order, each before anything has happened:
    /// - [`Error::DeviceLost`], once this session is in quarantine;
    /// - [`Busy::Reentry`](runtime_core::Busy) inside a stage of this runtime;
    /// - a runtime that is closed or lost;
    /// - [`Busy::Capacity`](runtime_core::Busy) when every place of the line is
    ///   taken.
    ///
    /// And after the stage: the error of the fence. The stage's value is dropped
    /// then, and the session is in quarantine.
    ///
    /// # Panics
    /// As the stage does; or as the fence does, when the stage did not.
    ///
    /// # Safety
    /// The stage
    /// - keeps every resource that its work uses alive until the fence;
    /// - submits only to the streams that the state owns;
    /// - exposes no pending raw use outside of the session;
    /// - moves no private native owner out of the state, not even in its return
    ///   value;
    /// - touches only private native storage, never the runtime's coordinated
    ///   buffers;
    /// - does not wait, on this or another thread, for coordinated compute or
    ///   another native session of this runtime.
    pub unsafe fn run<R>(&mut self, stage: impl FnOnce(&mut T) -> R) -> Result<R> {
        self.check_healthy()?;
        let lease = self.runtime.lease(self.drain)?;
        self.enter(lease, stage)
    }

    /// As [`run`](Self::run), if the lane is free now.
    ///
    /// # Errors
    /// As [`run`](Self::run), and [`Busy::Lane`](runtime_core::Busy) when the
    /// stage would have to wait.
    ///
    /// # Panics
    /// As [`run`](Self::run).
    ///
    /// # Safety
    /// As [`run`](Self::run).
    pub unsafe fn try_run<R>(&mut self, stage: impl FnOnce(&mut T) -> R) -> Result<R> {
        self.check_healthy()?;
        let lease = self.runtime.try_lease(self.drain)?;
        self.enter(lease, stage)
    }

    /// As [`run`](Self::run), waiting in turn for a place and for the lane, for
    /// both together at most `limit`. The limit ends with the admission: it does
    /// not bound the stage. An expired wait ran nothing and left nothing behind.
    ///
    /// # Errors
    /// As [`run`](Self::run), with [`Error::TimedOut`] in place of
    /// [`Busy::Capacity`](runtime_core::Busy); it names the stage that holds the
    /// lane.
    ///
    /// # Panics
    /// As [`run`](Self::run).
    ///
    /// # Safety
    /// As [`run`](Self::run).
    pub unsafe fn run_within<R>(
        &mut self,
        limit: Duration,
        stage: impl FnOnce(&mut T) -> R,
    ) -> Result<R> {
        self.check_healthy()?;
        let lease = self.runtime.lease_timeout(self.drain, limit)?;
        self.enter(lease, stage)
    }

    /// As [`run`](Self::run), under a lease that the caller already has. The
    /// lease decided what was drained; it is given back in every case.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], once this session is in quarantine;
    /// [`Invalid::ForeignRuntime`] for a lease of another runtime; the error of
    /// the fence.
    ///
    /// # Panics
    /// As [`run`](Self::run).
    ///
    /// # Safety
    /// As [`run`](Self::run).
    pub unsafe fn run_leased<R>(
        &mut self,
        lease: Lease,
        stage: impl FnOnce(&mut T) -> R,
    ) -> Result<R> {
        self.check_healthy()?;
        if !lease.runtime().same_domain(&self.runtime) {
            return Err(Invalid::ForeignRuntime { what: "lease" }.into());
        }
        self.enter(lease, stage)
    }

    /// Ends the session and gives the state back, without a fence: nothing is
    /// pending between stages. The charges are given up.
    ///
    /// # Errors
    /// The session itself, when it is in quarantine;
    /// [`reclaim`](Self::reclaim) is the way out of that.
    #[expect(
        clippy::result_large_err,
        reason = "the session comes back as it was handed in; a box would cost an allocation"
    )]
    pub fn into_state(self) -> Result<T, Self> {
        match self.health {
            Health::Healthy => Ok(self.owner.take().state),
            Health::Quarantined { .. } => Err(self),
        }
    }

    /// Ends the session and gives the state back, also out of quarantine. The
    /// entry leaves the register, and the charges are given up.
    ///
    /// # Safety
    /// No device works for the state any more: all its streams are known to be
    /// finished, or their device is gone.
    pub unsafe fn reclaim(self) -> T {
        if let Health::Quarantined { id, .. } = self.health {
            // An entry that is gone already was released by the same proof.
            // SAFETY: N2: the caller promises that nothing works for the state.
            let _ = unsafe { self.runtime.reclaim_native(id) };
        }
        self.owner.take().state
    }

    fn check_healthy(&self) -> Result<()> {
        match &self.health {
            Health::Healthy => Ok(()),
            Health::Quarantined { id, cause } => Err(Error::DeviceLost {
                quarantine: Some(*id),
                cause: cause.clone(),
            }),
        }
    }

    /// A stage from its admission to the lane being free again.
    fn enter<R>(&mut self, mut lease: Lease, stage: impl FnOnce(&mut T) -> R) -> Result<R> {
        lease.name(self.label.clone());
        let state = &mut self.owner.get_mut().state;
        let fence = self.fence;

        let inside = lease.scope().enter();
        let started = Instant::now();
        let exit = Exit::of(|| stage(state));
        let ran = started.elapsed();
        let fenced = Fenced::of(|| fence(state));
        let record = StageRecord {
            ran,
            fenced: started.elapsed().saturating_sub(ran),
            failed: exit.is_panic() || fenced.cause().is_some(),
        };
        drop(inside);

        if let Some(cause) = fenced.cause() {
            self.quarantine(cause);
            lease.mark_unproven();
        }
        lease.finish(record);
        conclude(exit, fenced)
    }

    /// Keeps the owner for good, then says so to everybody.
    fn quarantine(&mut self, cause: Cause) {
        self.owner.keep();
        let charges = &self.owner.get().charges;
        let bytes = charges
            .iter()
            .map(Charge::bytes)
            .fold(0, u64::saturating_add);
        let id = self
            .runtime
            .quarantine_native(&self.label, bytes, cause.clone());
        self.health = Health::Quarantined { id, cause };
    }
}

impl<T> fmt::Debug for NativeSession<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quarantine = match &self.health {
            Health::Healthy => None,
            Health::Quarantined { id, .. } => Some(id),
        };
        f.debug_struct("NativeSession")
            .field("label", &self.label)
            .field("quarantine", &quarantine)
            .finish_non_exhaustive()
    }
}
