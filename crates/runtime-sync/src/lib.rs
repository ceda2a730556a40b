#![doc = include_str!("../README.md")]
//!
//! Everything that takes part in a protocol is imported from here. What is a
//! pure tally, or is set once and never awaited, comes from [`unmodelled`] and
//! costs the model checker nothing.

#![forbid(unsafe_code)]

mod lock;
mod model;
pub mod thread;
mod waiting;

pub use lock::{Condvar, Mutex, MutexGuard};
pub use model::{Model, model};
pub use waiting::block_on;

#[cfg(runtime_loom)]
pub use loom::sync::Arc;
#[cfg(not(runtime_loom))]
pub use std::sync::Arc;

#[cfg(runtime_loom)]
pub use loom::thread_local;
#[cfg(not(runtime_loom))]
pub use std::thread_local;

/// Atomics that the model checker sees.
pub mod atomic {
    #[cfg(runtime_loom)]
    pub use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
    #[cfg(not(runtime_loom))]
    pub use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
}

/// The standard library's own types, in every build.
///
/// For what no protocol depends on: tallies, identities, values that are set
/// once, and shared trait objects (loom's `Arc` neither coerces to a trait
/// object nor has a `Weak`).
pub mod unmodelled {
    pub use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
    pub use std::sync::{Arc, LazyLock, OnceLock, Weak};
}

#[cfg(all(test, not(runtime_loom)))]
mod tests;
