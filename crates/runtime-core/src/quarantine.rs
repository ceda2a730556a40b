//! The register of owners whose completion has no proof.
//!
//! An entry says what is kept, why and since when. What it keeps is never
//! touched and never freed by this module; it leaves the register only through
//! a proof. This is the one place in the project that forgets a value.

use std::any::Any;
use std::fmt;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use runtime_sync::Mutex;
use runtime_sync::unmodelled::Arc;

use crate::device::DeviceFault;

/// The name of a quarantine entry; unique in its runtime, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QuarantineId(u64);

impl fmt::Display for QuarantineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "q{}", self.0)
    }
}

/// Why completion has no proof.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The driver said that the device is gone.
    #[error("{0}")]
    Device(DeviceFault),
    /// A timeline went beyond what was ever submitted.
    #[error("a timeline went beyond the last accepted point")]
    Timeline,
    /// A native session's fence answered an error.
    #[error("the fence of a native stage failed: {0}")]
    Fence(Arc<crate::Error>),
    /// A native session's fence panicked.
    #[error("the fence of a native stage panicked")]
    FencePanicked,
}

/// Whose completion has no proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OwnerKind {
    /// A submission of a prepared graph, with its buffers.
    Submission,
    /// A native session's state. It stays inside its session.
    Native,
}

/// One entry of the register.
#[derive(Debug, Clone)]
pub struct QuarantineEntry {
    /// Its id.
    pub id: QuarantineId,
    /// The owner's label.
    pub label: Arc<str>,
    /// Whose completion has no proof.
    pub owner: OwnerKind,
    /// Bytes that it keeps.
    pub bytes: u64,
    /// Why.
    pub cause: Cause,
    /// When it was entered, since the register was made.
    pub since: Duration,
}

/// The register of one runtime.
#[derive(Debug)]
pub(crate) struct Register {
    entries: Mutex<Entries>,
    start: Instant,
}

#[derive(Debug, Default)]
struct Entries {
    last_id: u64,
    kept: Vec<Kept>,
}

struct Kept {
    entry: QuarantineEntry,
    // Present for what the register owns itself; a native owner stays in its
    // session, since nothing is known of its type.
    owner: Option<Box<dyn Any + Send + Sync>>,
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entry.fmt(f)
    }
}

impl Register {
    pub(crate) fn new() -> Self {
        Self {
            entries: Mutex::new(Entries::default()),
            start: Instant::now(),
        }
    }

    /// Keeps `owner` until a proof, and says under which id.
    pub(crate) fn keep(
        &self,
        label: Arc<str>,
        kind: OwnerKind,
        bytes: u64,
        cause: Cause,
        owner: Option<Box<dyn Any + Send + Sync>>,
    ) -> QuarantineId {
        let mut entry = QuarantineEntry {
            id: QuarantineId(0),
            label,
            owner: kind,
            bytes,
            cause,
            since: self.start.elapsed(),
        };
        let mut entries = self.entries.lock();
        entries.last_id += 1;
        entry.id = QuarantineId(entries.last_id);
        entries.kept.push(Kept {
            entry: entry.clone(),
            owner,
        });
        drop(entries);
        // A cause may carry a foreign error, and formatting it runs foreign code.
        // The entry stands whatever that does.
        let logged = catch_unwind(AssertUnwindSafe(|| {
            tracing::error!(
                id = %entry.id,
                label = %entry.label,
                owner = ?kind,
                bytes,
                cause = %entry.cause,
                "quarantined"
            );
        }));
        if logged.is_err() {
            tracing::error!(id = %entry.id, "quarantined; its cause cannot be shown");
        }
        entry.id
    }

    /// Takes an entry out; the owner, if the register has it, is the caller's.
    pub(crate) fn release(&self, id: QuarantineId) -> Option<Released> {
        let mut entries = self.entries.lock();
        let place = entries.kept.iter().position(|kept| kept.entry.id == id)?;
        let kept = entries.kept.remove(place);
        Some(Released { _owner: kept.owner })
    }

    pub(crate) fn list(&self) -> Vec<QuarantineEntry> {
        let entries = self.entries.lock();
        entries.kept.iter().map(|kept| kept.entry.clone()).collect()
    }

    /// Empties the register; for a generation that is leaked whole.
    pub(crate) fn take_all(&self) -> Vec<Released> {
        let kept = std::mem::take(&mut self.entries.lock().kept);
        kept.into_iter()
            .map(|kept| Released { _owner: kept.owner })
            .collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.lock().kept.is_empty()
    }

    pub(crate) fn count(&self) -> u64 {
        self.entries.lock().kept.len() as u64
    }

    pub(crate) fn bytes(&self) -> u64 {
        let entries = self.entries.lock();
        entries.kept.iter().map(|kept| kept.entry.bytes).sum()
    }
}

/// What left the register; dropping it frees what the register owned.
pub(crate) struct Released {
    _owner: Option<Box<dyn Any + Send + Sync>>,
}

/// A value whose drop can be called off for good.
///
/// A native session keeps its state in one: after a failed fence the foreign
/// GPU may still work on that state, so nothing may free it, not even the end
/// of the session.
pub struct Owner<T> {
    value: ManuallyDrop<T>,
    kept: bool,
}

impl<T> Owner<T> {
    /// Owns `value` and will drop it, unless told to keep it.
    pub fn new(value: T) -> Self {
        Self {
            value: ManuallyDrop::new(value),
            kept: false,
        }
    }

    /// The value.
    pub fn get(&self) -> &T {
        &self.value
    }

    /// The value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// From now on the value is never dropped.
    pub fn keep(&mut self) {
        self.kept = true;
    }

    /// True once the value is never dropped.
    pub fn is_kept(&self) -> bool {
        self.kept
    }

    /// Gives the value back, kept or not.
    pub fn take(mut self) -> T {
        self.kept = true;
        #[expect(
            unsafe_code,
            reason = "a value that may never be dropped has no safe take"
        )]
        // SAFETY: S1: `kept` was set, so neither this drop nor another touches
        // the value again, and `self` ends here.
        unsafe {
            ManuallyDrop::take(&mut self.value)
        }
    }
}

impl<T> Drop for Owner<T> {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        #[expect(
            unsafe_code,
            reason = "a value that may never be dropped has no safe drop"
        )]
        // SAFETY: S1: nothing took the value, since `take` sets `kept`.
        unsafe {
            ManuallyDrop::drop(&mut self.value);
        }
    }
}

impl<T> fmt::Debug for Owner<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner")
            .field("kept", &self.kept)
            .finish_non_exhaustive()
    }
}

/// Forgets everything that hangs on `generation`: children, allocator, device,
/// instance, loader. For a device whose work has no proof of completion.
#[expect(
    clippy::mem_forget,
    reason = "destroying a device behind unfinished work frees memory that the GPU may still touch"
)]
pub(crate) fn leak<T>(generation: T) {
    std::mem::forget(generation);
}
