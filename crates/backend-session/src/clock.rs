//! Time, which tests may make up.

use runtime_sync::unmodelled::{Arc, AtomicU64, OnceLock, Ordering};
use runtime_sync::{Condvar, Mutex};
use std::fmt;
use std::time::{Duration, Instant};

/// Where a backend takes its time from.
///
/// The backend's line never lets time go back, whatever a clock says.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Nanoseconds since an origin of the clock's choice.
    fn now_ns(&self) -> u64;

    /// How long the timer thread may sleep, in real time, before it looks at a
    /// deadline `remaining` from now. `None`: until its bell rings.
    fn nap(&self, remaining: Duration) -> Option<Duration>;

    /// Keeps the timer's bell, which a clock that does not follow real time
    /// rings after every step.
    fn keep_bell(&self, bell: Bell) {
        drop(bell);
    }
}

/// The machine's monotonic clock.
#[derive(Debug)]
pub struct MonotonicClock {
    origin: Instant,
}

impl MonotonicClock {
    /// A clock whose origin is now.
    #[must_use]
    pub fn new() -> Self {
        Self {
            origin: Instant::now(),
        }
    }
}

impl Default for MonotonicClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for MonotonicClock {
    fn now_ns(&self) -> u64 {
        whole_ns(self.origin.elapsed())
    }

    fn nap(&self, remaining: Duration) -> Option<Duration> {
        Some(remaining)
    }
}

/// A clock that stands still until it is told to go on: for tests and simulation.
#[derive(Debug, Default)]
pub struct ManualClock {
    now_ns: AtomicU64,
    bell: OnceLock<Bell>,
}

impl ManualClock {
    /// A clock at zero. It serves one backend.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets `step` pass, and deadlines within it fire on the timer thread.
    pub fn advance(&self, step: Duration) {
        // Release pairs with the Acquire of `now_ns`: whoever reads the new time
        // also sees what the caller did before it.
        self.now_ns.fetch_add(whole_ns(step), Ordering::Release);
        if let Some(bell) = self.bell.get() {
            bell.ring();
        }
    }
}

impl Clock for ManualClock {
    fn now_ns(&self) -> u64 {
        self.now_ns.load(Ordering::Acquire)
    }

    fn nap(&self, _remaining: Duration) -> Option<Duration> {
        None
    }

    fn keep_bell(&self, bell: Bell) {
        // A second backend's bell is not kept: one clock serves one backend.
        let _ = self.bell.set(bell);
    }
}

/// What wakes a backend's timer thread.
#[derive(Clone)]
pub struct Bell {
    rung: Arc<(Mutex<bool>, Condvar)>,
}

impl Bell {
    pub(crate) fn new() -> Self {
        Self {
            rung: Arc::new((Mutex::new(false), Condvar::new())),
        }
    }

    /// Makes the timer look at the time again.
    pub fn ring(&self) {
        *self.rung.0.lock() = true;
        self.rung.1.notify_all();
    }

    /// Sleeps until the bell rings, or for `nap`.
    pub(crate) fn sleep(&self, nap: Option<Duration>) {
        let mut rung = self.rung.0.lock();
        while !*rung {
            match nap {
                None => rung = self.rung.1.wait(rung),
                Some(nap) => {
                    rung = self.rung.1.wait_timeout(rung, nap).0;
                    break;
                }
            }
        }
        *rung = false;
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bell").finish_non_exhaustive()
    }
}

/// The whole nanoseconds of `span`; a span beyond 584 years is that long.
pub(crate) fn whole_ns(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
