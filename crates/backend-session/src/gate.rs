//! The gate: the one-way door of a backend, and who is still inside it.
//!
//! One atomic word holds everything:
//!
//! | bits | meaning |
//! |---|---|
//! | 63 | closing; set once, never cleared |
//! | 32 to 62 | GPU permits |
//! | 0 to 31 | observation permits |
//!
//! Why close completes exactly once: a permit enters by compare-and-exchange,
//! and only while the closing bit is clear, so once the bit is set both counts
//! only fall. Nothing is added first and taken back later, which would let a
//! count reach zero twice. A GPU permit borrows its right from an observation
//! permit, so the GPU count never exceeds the observation count and reaches
//! zero no later.
//!
//! Leaving is one subtraction. Whoever sees "closing, and this scope is now
//! empty" unparks the close thread; a wake-up that comes too early only makes
//! that thread look again.

use crate::error::Error;
use runtime_sync::Arc;
use runtime_sync::atomic::{AtomicU64, Ordering};
use runtime_sync::thread::{Thread, park};
use runtime_sync::unmodelled::OnceLock;

const CLOSING: u64 = 1 << 63;
const GPU_SHIFT: u32 = 32;
const ONE_GPU: u64 = 1 << GPU_SHIFT;
const OBSERVATION_MASK: u64 = ONE_GPU - 1;
const GPU_MASK: u64 = !(CLOSING | OBSERVATION_MASK);

/// The largest number of attempts that a backend can be told to keep open.
pub(crate) const MOST_OPEN_ATTEMPTS: u32 = i32::MAX.unsigned_abs();

/// What the gate's word said at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateSnapshot {
    /// Close has been signalled.
    pub closing: bool,
    /// Observation permits that are out: attempts whose report is not delivered,
    /// and service reads in progress.
    pub observation_permits: u32,
    /// GPU permits that are out; never more than the observation permits.
    pub gpu_permits: u32,
}

/// The door itself.
#[derive(Debug)]
pub(crate) struct Gate {
    word: AtomicU64,
    closer: OnceLock<Thread>,
    most_open: u32,
}

impl Gate {
    /// An open gate with nobody inside, for at most `most_open` attempts.
    pub(crate) fn new(most_open: u32) -> Self {
        Self {
            word: AtomicU64::new(0),
            closer: OnceLock::new(),
            most_open,
        }
    }

    /// Names the thread that waits for the scopes to empty.
    ///
    /// It is named before the gate is shared with anybody who could close it.
    pub(crate) fn set_closer(&self, closer: Thread) {
        // A second name is ignored: there is one close thread per gate.
        let _ = self.closer.set(closer);
    }

    /// Signals close; true for the one caller that did it.
    pub(crate) fn close(&self) -> bool {
        // Release pairs with the Acquire loads of the close thread, so that what
        // the closer did before is seen by it; Acquire orders our own reads after.
        let before = self.word.fetch_or(CLOSING, Ordering::AcqRel);
        self.unpark_closer();
        before & CLOSING == 0
    }

    /// True from the moment that close was signalled.
    pub(crate) fn is_closing(&self) -> bool {
        self.load() & CLOSING != 0
    }

    /// Both counts and the bit, from one read.
    pub(crate) fn snapshot(&self) -> GateSnapshot {
        let word = self.load();
        GateSnapshot {
            closing: word & CLOSING != 0,
            observation_permits: observation_count(word),
            gpu_permits: gpu_count(word),
        }
    }

    /// Parks the calling thread until close is signalled.
    pub(crate) fn wait_closing(&self) {
        self.wait_until(|word| word & CLOSING != 0);
    }

    /// Parks the calling thread until close was signalled and nobody is inside.
    pub(crate) fn wait_observation_quiescent(&self) {
        self.wait_until(|word| word == CLOSING);
    }

    /// Parks until `ready` or until somebody else unparks the close thread.
    pub(crate) fn park_unless_gpu_quiescent(&self) -> bool {
        let quiescent = |word: u64| word & CLOSING != 0 && word & GPU_MASK == 0;
        if quiescent(self.load()) {
            return true;
        }
        park();
        quiescent(self.load())
    }

    /// Makes the close thread look again.
    pub(crate) fn unpark_closer(&self) {
        if let Some(closer) = self.closer.get() {
            closer.unpark();
        }
    }

    fn wait_until(&self, ready: impl Fn(u64) -> bool) {
        while !ready(self.load()) {
            park();
        }
    }

    fn load(&self) -> u64 {
        // Acquire pairs with the Release of `close` and of every leaving permit:
        // whoever sees an empty scope sees all that was done inside it.
        self.word.load(Ordering::Acquire)
    }

    /// Adds `one` unless the gate is closing or `refuse` finds the word full.
    fn enter(&self, one: u64, refuse: impl Fn(u64) -> Option<Error>) -> Result<(), Error> {
        let mut seen = self.word.load(Ordering::Relaxed);
        loop {
            if seen & CLOSING != 0 {
                return Err(Error::BackendClosing);
            }
            if let Some(error) = refuse(seen) {
                return Err(error);
            }
            // Acquire pairs with the Release of earlier leavers; the failed read
            // needs no order, since its value is only tried again.
            match self.word.compare_exchange_weak(
                seen,
                seen + one,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Ok(()),
                Err(now) => seen = now,
            }
        }
    }

    /// Takes `one` back and wakes the close thread when `scope` became empty.
    fn leave(&self, one: u64, scope: u64) {
        // Release pairs with the Acquire load of the close thread.
        let after = self.word.fetch_sub(one, Ordering::AcqRel) - one;
        if after & CLOSING != 0 && after & scope == 0 {
            self.unpark_closer();
        }
    }
}

/// The right to be observed: close waits for it, devices do not.
#[derive(Debug)]
pub(crate) struct ObservationPermit {
    gate: Arc<Gate>,
}

impl ObservationPermit {
    /// Enters for an attempt; whether this succeeds decides against close.
    ///
    /// # Errors
    /// `BackendClosing`, or `TooManyAttempts` at the gate's bound.
    pub(crate) fn begin(gate: &Arc<Gate>) -> Result<Self, Error> {
        let bound = gate.most_open;
        gate.enter(1, |word| {
            let open = observation_count(word);
            (open >= bound).then_some(Error::TooManyAttempts { open, bound })
        })?;
        Ok(Self { gate: gate.clone() })
    }

    /// Enters for a service read, which is no attempt and has no bound but the
    /// number of threads that read.
    ///
    /// # Errors
    /// `BackendClosing`.
    pub(crate) fn serve(gate: &Arc<Gate>) -> Result<Self, Error> {
        gate.enter(1, |word| {
            let (open, bound) = (observation_count(word), MOST_OPEN_ATTEMPTS);
            // Keeps both counts, which never exceed this one, within their bits.
            (open >= bound).then_some(Error::TooManyAttempts { open, bound })
        })?;
        Ok(Self { gate: gate.clone() })
    }

    /// Enters the GPU scope under this permit, which must be kept longer.
    ///
    /// # Errors
    /// `BackendClosing`.
    pub(crate) fn enter_gpu(&self) -> Result<GpuPermit, Error> {
        self.gate.enter(ONE_GPU, |_| None)?;
        Ok(GpuPermit {
            gate: self.gate.clone(),
        })
    }
}

impl Drop for ObservationPermit {
    fn drop(&mut self) {
        self.gate.leave(1, OBSERVATION_MASK | GPU_MASK);
    }
}

/// The right to hold a device generation: GPU quiescence waits for it.
#[derive(Debug)]
pub(crate) struct GpuPermit {
    gate: Arc<Gate>,
}

impl Drop for GpuPermit {
    fn drop(&mut self) {
        self.gate.leave(ONE_GPU, GPU_MASK);
    }
}

fn observation_count(word: u64) -> u32 {
    u32::try_from(word & OBSERVATION_MASK).unwrap_or(u32::MAX)
}

fn gpu_count(word: u64) -> u32 {
    u32::try_from((word & GPU_MASK) >> GPU_SHIFT).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod models;
#[cfg(all(test, not(runtime_loom)))]
mod tests;
