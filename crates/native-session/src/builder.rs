//! How a session is made.
#![expect(
    unsafe_code,
    reason = "a session's state and fence carry obligations that no type can state"
)]

use std::fmt;

use runtime_core::lane::DrainScope;
use runtime_core::{Charge, Result, Runtime};
use runtime_sync::unmodelled::Arc;

use crate::session::{NativeSession, Parts};

/// A session's settings, all of which have a default.
#[derive(Clone)]
struct Settings {
    label: Arc<str>,
    drain: DrainScope,
}

/// Describes a [`NativeSession`].
#[must_use]
pub struct NativeSessionBuilder {
    runtime: Runtime,
    settings: Settings,
    charges: Vec<Charge>,
}

impl NativeSessionBuilder {
    pub(crate) fn new(runtime: &Runtime) -> Self {
        Self {
            runtime: runtime.clone(),
            settings: Settings {
                label: "native session".into(),
                drain: DrainScope::default(),
            },
            charges: Vec::new(),
        }
    }

    /// Names the session: in traces, in the quarantine, and for those who give
    /// up waiting while one of its stages holds the lane.
    pub fn label(mut self, label: impl Into<Arc<str>>) -> Self {
        self.settings.label = label.into();
        self
    }

    /// Holds `charge` for as long as the state: bytes of a budget that stand for
    /// memory of the state. They come back after the state is dropped, given
    /// back or reclaimed; while it is in quarantine they stay held. May be
    /// called several times.
    pub fn charge(mut self, charge: Charge) -> Self {
        self.charges.push(charge);
        self
    }

    /// What a stage waits for before it starts: all older submissions by
    /// default, or only those that use the compute lane.
    pub fn drain_scope(mut self, scope: DrainScope) -> Self {
        self.settings.drain = scope;
        self
    }

    /// Makes the session, which owns `state` from now on. `fence` is called
    /// after every stage and drains what the stage left running.
    ///
    /// # Safety
    /// As [`NativeSession::new`].
    pub unsafe fn build<T>(self, state: T, fence: fn(&mut T) -> Result<()>) -> NativeSession<T> {
        NativeSession::from_parts(
            Parts {
                runtime: self.runtime,
                label: self.settings.label,
                drain: self.settings.drain,
                charges: self.charges,
            },
            state,
            fence,
        )
    }
}

impl fmt::Debug for NativeSessionBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeSessionBuilder")
            .field("label", &self.settings.label)
            .field("drain", &self.settings.drain)
            .field("charges", &self.charges)
            .finish_non_exhaustive()
    }
}
