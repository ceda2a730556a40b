//! Who is who.

use runtime_sync::unmodelled::{AtomicU64, Ordering};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One published backend, unique within the process.
///
/// Recovery of a device does not change it: the device's generation is a number
/// of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GpuBackendCoreIdentity(u64);

impl GpuBackendCoreIdentity {
    /// The next identity; never the same twice.
    pub(crate) fn mint() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        // Relaxed: only uniqueness is asked for.
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// The number, for logs.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for GpuBackendCoreIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "backend-{}", self.0)
    }
}

/// One attempt, unique within its backend and rising in the order of begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AttemptId(u64);

impl AttemptId {
    pub(crate) fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number, from 1.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
