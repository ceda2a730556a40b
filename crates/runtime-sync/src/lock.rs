//! A mutex without poison and its condition variable.
//!
//! The runtime never runs foreign code under a lock, so a panic while one is
//! held is a defect of ours, and every state a lock protects is a pure machine
//! that is consistent between two calls. Refusing the lock for ever after would
//! turn one failed call into a hang of all others.

#![cfg_attr(
    not(runtime_loom),
    expect(
        clippy::disallowed_types,
        reason = "this is the one place that wraps std's locks"
    )
)]

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

#[cfg(runtime_loom)]
use loom::sync as imp;
#[cfg(not(runtime_loom))]
use std::sync as imp;

/// Mutual exclusion; a panic of a holder does not poison it.
pub struct Mutex<T> {
    lock: imp::Mutex<T>,
}

impl<T> Mutex<T> {
    /// A mutex that protects `value`.
    pub fn new(value: T) -> Self {
        Self {
            lock: imp::Mutex::new(value),
        }
    }

    /// Blocks until the lock is held.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let guard = match self.lock.lock() {
            Ok(guard) => guard,
            Err(poisoned) => poisoned.into_inner(),
        };
        MutexGuard { guard }
    }

    /// The lock, if nobody holds it now.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.lock.try_lock() {
            Ok(guard) => Some(MutexGuard { guard }),
            #[cfg(not(runtime_loom))]
            Err(std::sync::TryLockError::Poisoned(poisoned)) => Some(MutexGuard {
                guard: poisoned.into_inner(),
            }),
            Err(_) => None,
        }
    }

    /// The value, when the mutex is no longer shared.
    pub fn into_inner(self) -> T {
        match self.lock.into_inner() {
            Ok(value) => value,
            Err(poisoned) => poisoned.into_inner(),
        }
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> fmt::Debug for Mutex<T> {
    // Never locks: a log line must not wait, nor change what a model explores.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").finish_non_exhaustive()
    }
}

/// The right to touch what a [`Mutex`] protects.
pub struct MutexGuard<'a, T> {
    guard: imp::MutexGuard<'a, T>,
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<T: fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A place to wait for a change of what a [`Mutex`] protects.
pub struct Condvar {
    queue: imp::Condvar,
}

impl Condvar {
    /// A condition variable without waiters.
    pub fn new() -> Self {
        Self {
            queue: imp::Condvar::new(),
        }
    }

    /// Gives up the lock, waits for a notification, and takes it again.
    ///
    /// May return without one: callers recheck their condition.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let guard = match self.queue.wait(guard.guard) {
            Ok(guard) => guard,
            Err(poisoned) => poisoned.into_inner(),
        };
        MutexGuard { guard }
    }

    /// As [`wait`](Self::wait), for at most `limit`.
    ///
    /// The flag is true when `limit` passed first. Under the model checker time
    /// does not exist: there the wait only ends with a notification, so a model
    /// states its deadlines as events.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        let (guard, outcome) = match self.queue.wait_timeout(guard.guard, limit) {
            Ok(pair) => pair,
            Err(poisoned) => poisoned.into_inner(),
        };
        (MutexGuard { guard }, outcome.timed_out())
    }

    /// Wakes one waiter.
    pub fn notify_one(&self) {
        self.queue.notify_one();
    }

    /// Wakes every waiter.
    pub fn notify_all(&self) {
        self.queue.notify_all();
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}
