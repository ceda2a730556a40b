//! The device work of one attempt: a view of its device's runtime, lent for as
//! long as the attempt runs.
//!
//! idle, live, revoked, over. A view is lent at the grant and revoked when the
//! outcome is fixed; what was submitted goes on to its proof. When the proof is
//! there, or the attempt is quarantined, the book decides what becomes of the
//! bytes; the view itself is let go without any lock.
//!
//! Lock order: the line, then a workload, then its `Retained`. What the runtime
//! does here under the workload's lock neither blocks nor calls foreign code.

mod lease;
mod retained;

pub use lease::QueryLease;
pub(crate) use retained::Retained;

use crate::admission::Grant;
use crate::attempt::CleanupFacts;
use crate::backend::Generation;
use crate::report::HealthTransition;
use runtime_core::{Drained, MemoryBudget, Revoker, Runtime};
use runtime_sync::Mutex;
use runtime_sync::unmodelled::Arc;
use std::fmt;
use std::time::Duration;

/// What an attempt has of a device.
pub(crate) struct Workload {
    state: Mutex<State>,
}

struct State {
    stage: Stage,
    leases: u32,
    facts: CleanupFacts,
}

enum Stage {
    Idle,
    Live(Arc<Live>),
    Revoked(Arc<Live>),
    Over,
}

/// A lent view and what it is charged to.
pub(crate) struct Live {
    pub(crate) grant: Grant,
    pub(crate) view: Runtime,
    pub(crate) revoker: Revoker,
    pub(crate) budget: MemoryBudget,
    pub(crate) retained: Arc<Retained>,
    /// Keeps the device for the attempt; let go after the view.
    pub(crate) _generation: Arc<Generation>,
}

/// What is left of an attempt's device work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// Nothing, with proof.
    Nothing,
    /// Some is in flight, or a lease is held.
    Some,
    /// Nothing is in flight, and for some of it no proof will come.
    Unproven,
}

impl Workload {
    /// An attempt without a device.
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                stage: Stage::Idle,
                leases: 0,
                facts: CleanupFacts::default(),
            }),
        }
    }

    /// Lends a view, unless the attempt has ended meanwhile: then it comes back,
    /// to be dropped without a lock.
    pub(crate) fn open(&self, live: Arc<Live>) -> Option<Arc<Live>> {
        let mut state = self.state.lock();
        if !matches!(state.stage, Stage::Idle) {
            return Some(live);
        }
        state.stage = Stage::Live(live);
        None
    }

    /// The view; `None` once it is revoked, or where there is no runtime.
    pub(crate) fn view(&self, now_ns: u64) -> Option<Runtime> {
        let mut state = self.state.lock();
        let Stage::Live(live) = &state.stage else {
            return None;
        };
        let view = live.view.clone();
        state.facts.first_work_at_ns.get_or_insert(now_ns);
        Some(view)
    }

    /// Ends the tenure: from now on the view and all that was made through it
    /// answer that they are revoked.
    pub(crate) fn revoke(&self) {
        let mut state = self.state.lock();
        state.stage = match std::mem::replace(&mut state.stage, Stage::Over) {
            Stage::Live(live) => {
                live.revoker.revoke();
                Stage::Revoked(live)
            }
            // An attempt that never opened its view has no work.
            Stage::Idle => Stage::Over,
            stage @ (Stage::Revoked(_) | Stage::Over) => stage,
        };
    }

    /// What is left, after at most `limit`.
    pub(crate) fn left(&self, limit: Duration) -> Left {
        let (live, leases) = {
            let state = self.state.lock();
            match &state.stage {
                Stage::Live(live) | Stage::Revoked(live) => (live.clone(), state.leases),
                Stage::Idle | Stage::Over => return Left::Nothing,
            }
        };
        match live.revoker.wait_drained(limit) {
            Drained::Proven if leases == 0 => Left::Nothing,
            Drained::Unproven { .. } if leases == 0 => {
                self.state.lock().facts.health = Some(HealthTransition {
                    device: live.grant.ordinal,
                    generation: live.grant.generation,
                });
                Left::Unproven
            }
            _ => Left::Some,
        }
    }

    /// What the report says about it.
    pub(crate) fn facts(&self) -> CleanupFacts {
        let state = self.state.lock();
        let mut facts = state.facts.clone();
        if let Stage::Live(live) | Stage::Revoked(live) = &state.stage {
            facts.memory.peak_bytes = live.budget.peak_bytes();
            facts.memory.held_bytes = live.budget.used_bytes();
        }
        facts
    }

    /// Bytes that buffers hold beyond the attempt; from now on their release is
    /// told to the line. Called under the line lock.
    pub(crate) fn retain(&self) -> u64 {
        match &self.state.lock().stage {
            Stage::Live(live) | Stage::Revoked(live) => live.retained.keep(&live.budget),
            Stage::Idle | Stage::Over => 0,
        }
    }

    /// Lets the view go; to be dropped without a lock.
    #[must_use]
    pub(crate) fn take(&self) -> Option<Arc<Live>> {
        match std::mem::replace(&mut self.state.lock().stage, Stage::Over) {
            Stage::Live(live) | Stage::Revoked(live) => Some(live),
            Stage::Idle | Stage::Over => None,
        }
    }

    /// A lease was taken; false if the view is revoked.
    fn enter_lease(&self, waited: Duration) -> bool {
        let mut state = self.state.lock();
        if !matches!(state.stage, Stage::Live(_)) {
            return false;
        }
        state.leases += 1;
        state.facts.lanes.leases += 1;
        let waited_ns = crate::clock::whole_ns(waited);
        let total = &mut state.facts.lanes.lease_wait_ns;
        *total = total.saturating_add(waited_ns);
        true
    }

    fn leave_lease(&self) {
        self.state.lock().leases -= 1;
    }
}

impl fmt::Debug for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workload").finish_non_exhaustive()
    }
}
