//! Calling foreign code: wakers, sinks and destructors.
//!
//! Each call is caught alone, so a panic in one never keeps a later step from
//! running. While one runs, this thread is marked: signalling close is allowed
//! inside, waiting for it is refused, since the wait could be for this very call.
//! No lock of this crate is held around a call.

use runtime_sync::thread_local;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

thread_local! {
    #[allow(
        clippy::missing_const_for_thread_local,
        reason = "the model checker's thread locals have no const form"
    )]
    static DEPTH: Cell<u32> = Cell::new(0);
}

/// Runs `foreign`; false when it panicked.
pub(crate) fn run(foreign: impl FnOnce()) -> bool {
    DEPTH.with(|depth| depth.set(depth.get().saturating_add(1)));
    let outcome = catch_unwind(AssertUnwindSafe(foreign));
    DEPTH.with(|depth| depth.set(depth.get().saturating_sub(1)));
    match outcome {
        Ok(()) => true,
        Err(payload) => {
            // The payload is foreign too, and its destructor may panic again.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
            false
        }
    }
}

/// True inside foreign code that this crate called on this thread.
pub(crate) fn is_inside() -> bool {
    DEPTH.with(Cell::get) > 0
}

/// Wakes each of `wakers`.
pub(crate) fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        run(|| waker.wake());
    }
}
