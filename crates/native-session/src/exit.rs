//! How a stage and its fence ended, and what follows from both.
//!
//! Pure: exits are values here, and nothing unwinds before the lane is free
//! again. The rules in one table, where "kept" is the owner:
//!
//! | stage | fence | owner | answer | record |
//! |---|---|---|---|---|
//! | returned | drained | healthy | the value | fine |
//! | returned | failed | kept | the fence's error | failed |
//! | returned | panicked | kept | the fence's panic | failed |
//! | panicked | drained | healthy | the stage's panic | failed |
//! | panicked | failed | kept | the stage's panic | failed |
//! | panicked | panicked | kept | the stage's panic | failed |

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use runtime_core::quarantine::Owner;
use runtime_core::{Cause, Error, Result};
use runtime_sync::unmodelled::Arc;

/// What a panic carries.
pub(crate) type Payload = Box<dyn Any + Send>;

/// How a stage ended.
pub(crate) enum Exit<R> {
    Returned(R),
    Panicked(Payload),
}

/// How the fence after a stage ended.
pub(crate) enum Fenced {
    Drained,
    Failed(Error),
    Panicked(Payload),
}

impl<R> Exit<R> {
    /// Runs a stage to either of its ends.
    pub(crate) fn of(stage: impl FnOnce() -> R) -> Self {
        match catch_unwind(AssertUnwindSafe(stage)) {
            Ok(value) => Self::Returned(value),
            Err(payload) => Self::Panicked(payload),
        }
    }

    pub(crate) fn is_panic(&self) -> bool {
        matches!(self, Self::Panicked(_))
    }
}

impl Fenced {
    /// Runs a fence to any of its ends.
    pub(crate) fn of(fence: impl FnOnce() -> Result<()>) -> Self {
        match catch_unwind(AssertUnwindSafe(fence)) {
            Ok(Ok(())) => Self::Drained,
            Ok(Err(error)) => Self::Failed(error),
            Err(payload) => Self::Panicked(payload),
        }
    }

    /// Why the owner has to be kept, if it has to.
    pub(crate) fn cause(&self) -> Option<Cause> {
        match self {
            Self::Drained => None,
            Self::Failed(error) => Some(Cause::Fence(Arc::new(error.clone()))),
            Self::Panicked(_) => Some(Cause::FencePanicked),
        }
    }
}

/// What the caller of the stage gets. Panics go on and foreign destructors run
/// from here, so the lane has to be free by now.
pub(crate) fn conclude<R>(exit: Exit<R>, fenced: Fenced) -> Result<R> {
    match (exit, fenced) {
        (Exit::Returned(value), Fenced::Drained) => Ok(value),
        (Exit::Returned(value), Fenced::Failed(error)) => {
            drop(value);
            Err(error)
        }
        (Exit::Returned(value), Fenced::Panicked(payload)) => {
            discard(value);
            resume_unwind(payload)
        }
        (Exit::Panicked(payload), fenced) => {
            discard(fenced);
            resume_unwind(payload)
        }
    }
}

/// Drops what nobody will see while a panic is on its way. Its destructor is
/// foreign and may panic in its turn; what that carries is kept instead of
/// dropped, or there would be no end.
fn discard<V>(value: V) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        Owner::new(payload).keep();
    }
}

#[cfg(test)]
#[cfg(not(runtime_loom))]
mod tests;
