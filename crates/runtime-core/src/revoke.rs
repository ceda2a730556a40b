//! Revocable views: a runtime lent for a while.
//!
//! Whoever lends a runtime to a piece of work (an attempt at a query, a plug-in)
//! wants to take it back whatever that work still holds. A view shares the
//! domain; everything made through it remembers its tenure, and answers
//! [`Error::Revoked`] once that has ended. Work in flight goes on to its proof.

use std::time::{Duration, Instant};

use runtime_sync::unmodelled::Arc;
use runtime_sync::{Condvar, Mutex};

use crate::close::deadline_of;
use crate::error::{Error, Result};

/// How long one view is lent.
#[derive(Debug)]
pub(crate) struct Tenure {
    /// Of the view that this one was made from.
    outer: Option<Arc<Tenure>>,
    state: Mutex<State>,
    drained: Condvar,
}

#[derive(Debug, Default)]
struct State {
    revoked: bool,
    /// Unpublished submissions and stages made through the view.
    in_flight: u32,
    /// Those whose end will never be proven.
    unproven: u32,
}

impl Tenure {
    pub(crate) fn new(outer: Option<Arc<Self>>) -> Self {
        Self {
            outer,
            state: Mutex::new(State::default()),
            drained: Condvar::new(),
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        if let Some(outer) = &self.outer {
            outer.check()?;
        }
        if self.state.lock().revoked {
            return Err(Error::Revoked);
        }
        Ok(())
    }

    /// A submission or a stage begins, unless the view was revoked.
    pub(crate) fn enter(&self) -> Result<()> {
        if let Some(outer) = &self.outer {
            outer.enter()?;
        }
        let mut state = self.state.lock();
        if !state.revoked {
            state.in_flight += 1;
            return Ok(());
        }
        drop(state);
        if let Some(outer) = &self.outer {
            outer.leave(true);
        }
        Err(Error::Revoked)
    }

    /// A submission was published or not taken after all, or a stage ended.
    pub(crate) fn leave(&self, proven: bool) {
        {
            let mut state = self.state.lock();
            state.in_flight -= 1;
            if !proven {
                state.unproven += 1;
            }
        }
        self.drained.notify_all();
        if let Some(outer) = &self.outer {
            outer.leave(proven);
        }
    }

    fn revoke(&self) {
        self.state.lock().revoked = true;
    }

    fn wait_drained(&self, limit: Duration) -> Drained {
        let deadline = deadline_of(Instant::now(), limit);
        let mut state = self.state.lock();
        loop {
            if state.in_flight == 0 {
                return match state.unproven {
                    0 => Drained::Proven,
                    submissions => Drained::Unproven { submissions },
                };
            }
            let now = Instant::now();
            if now >= deadline {
                return Drained::InFlight {
                    submissions: state.in_flight,
                };
            }
            let (guard, _) = self.drained.wait_timeout(state, deadline - now);
            state = guard;
        }
    }
}

/// What is left of the work that a view submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Drained {
    /// All of it is finished, with proof.
    Proven,
    /// None is in flight, but some went into quarantine.
    Unproven {
        /// How many submissions.
        submissions: u32,
    },
    /// Some is still in flight.
    InFlight {
        /// How many submissions.
        submissions: u32,
    },
}

/// Takes a view back. Dropping it revokes too.
#[derive(Debug)]
pub struct Revoker {
    tenure: Arc<Tenure>,
    runtime: crate::Runtime,
}

impl Revoker {
    pub(crate) fn new(tenure: Arc<Tenure>, runtime: crate::Runtime) -> Self {
        Self { tenure, runtime }
    }

    /// Ends the tenure. From now on everything made through the view answers
    /// [`Error::Revoked`]; what was submitted goes on.
    pub fn revoke(&self) {
        self.tenure.revoke();
    }

    /// Ends the tenure and waits, for at most `limit`, until nothing that the
    /// view submitted is in flight. The limit passing changes nothing.
    pub fn wait_drained(&self, limit: Duration) -> Drained {
        self.tenure.revoke();
        let _watch = self.runtime.domain().scheduler.watch_all();
        self.tenure.wait_drained(limit)
    }
}

impl Drop for Revoker {
    fn drop(&mut self) {
        self.tenure.revoke();
    }
}
