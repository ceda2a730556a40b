//! Budgets: bytes that may be held, and who holds them.
//!
//! A budget counts promises, not memory: a charge is taken before the
//! allocation it stands for and given back after that is destroyed.
//! Invariant: the charges of a budget never sum to more than its capacity, and
//! a charge gives its bytes back exactly once.
//! Lock order: a budget's own lock, then nothing; listeners run after it.
//! A budget does not know which device its bytes are on.

mod ledger;
#[cfg(test)]
mod models;
#[cfg(all(test, not(runtime_loom)))]
mod props;
#[cfg(all(test, not(runtime_loom)))]
mod tests;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use runtime_sync::unmodelled::Arc as PlainArc;
use runtime_sync::{Arc, Mutex};

use ledger::Ledger;

/// A bounded number of bytes, of which charges are taken.
///
/// Clones are handles of one budget. It may be shared between runtimes, and
/// [`child`](Self::child) sets a part of it aside as a budget of its own.
#[derive(Clone)]
pub struct MemoryBudget {
    shared: Arc<Shared>,
}

/// Bytes of a budget, held until this drops.
///
/// It stands for memory that somebody else owns, so it belongs beside that
/// owner, declared after it: fields drop in order, and the bytes may only be
/// free again when the memory is.
#[derive(Debug)]
pub struct Charge {
    budget: MemoryBudget,
    label: PlainArc<str>,
    bytes: u64,
}

/// A label and the bytes that charges of that label hold.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Holder {
    /// The label of the charges.
    pub label: PlainArc<str>,
    /// What they hold together, in bytes.
    pub bytes: u64,
}

/// A charge was refused. The accounting is as it was before.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{requested_bytes} bytes do not fit into the {free_bytes} that are free{}{}",
    Largest(*.largest_block_bytes),
    HeldBy(.holders)
)]
#[non_exhaustive]
pub struct OverBudget {
    /// What was asked for; for a resize, the bytes on top of those held.
    pub requested_bytes: u64,
    /// What the budget had left.
    pub free_bytes: u64,
    /// The largest block that the device's memory could give in one piece,
    /// where somebody who knows it passed the refusal on.
    pub largest_block_bytes: Option<u64>,
    /// Who held most, largest first; at most eight.
    pub holders: Vec<Holder>,
}

impl MemoryBudget {
    /// A budget of `bytes`; `u64::MAX` counts without ever refusing what a
    /// machine can hold.
    pub fn new(bytes: u64, label: impl Into<PlainArc<str>>) -> Self {
        Self::within(bytes, label.into(), None)
    }

    /// A budget of `bytes` inside this one.
    ///
    /// All of it counts as used here, under `label`, until the last handle and
    /// the last charge of the child are gone.
    ///
    /// # Errors
    /// When `bytes` are not free.
    pub fn child(&self, bytes: u64, label: impl Into<PlainArc<str>>) -> Result<Self, OverBudget> {
        let label = label.into();
        let reserved = self.charge(bytes, label.clone())?;
        Ok(Self::within(bytes, label, Some(reserved)))
    }

    /// Takes `bytes`, for memory of any owner; zero is allowed and holds nothing.
    ///
    /// # Errors
    /// When `bytes` are not free. Nothing has changed then.
    pub fn charge(
        &self,
        bytes: u64,
        label: impl Into<PlainArc<str>>,
    ) -> Result<Charge, OverBudget> {
        let label = label.into();
        self.shared.state.lock().ledger.reserve(bytes, &label)?;
        Ok(Charge {
            budget: self.clone(),
            label,
            bytes,
        })
    }

    /// Its name.
    pub fn label(&self) -> &str {
        &self.shared.label
    }

    /// What all charges together may hold.
    pub fn capacity_bytes(&self) -> u64 {
        self.shared.state.lock().ledger.capacity_bytes()
    }

    /// What they hold now.
    pub fn used_bytes(&self) -> u64 {
        self.shared.state.lock().ledger.used_bytes()
    }

    /// The most they ever held at once.
    pub fn peak_bytes(&self) -> u64 {
        self.shared.state.lock().ledger.peak_bytes()
    }

    /// What is left now.
    pub fn free_bytes(&self) -> u64 {
        self.shared.state.lock().ledger.free_bytes()
    }

    /// The labels that hold most now, at most `most`, largest first; labels
    /// that hold nothing are left out.
    pub fn holders(&self, most: usize) -> Vec<Holder> {
        self.shared.state.lock().ledger.holders(most)
    }

    /// True for handles of one budget.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// True when this is `other`, or lies inside of it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.is_same(other)
            || self
                .shared
                ._reserved
                .as_ref()
                .is_some_and(|reserved| reserved.budget.is_within(other))
    }

    /// Calls `listener` with the bytes still used, each time some come back.
    ///
    /// It runs on the thread that gave them back, outside every lock of the
    /// budget; others may have charged again meanwhile. A panic in it is
    /// reported and goes no further. Listeners stay as long as the budget does:
    /// one that owns a handle of it keeps it for ever.
    pub fn on_release(&self, listener: impl Fn(u64) + Send + Sync + 'static) {
        let listener: Listener = PlainArc::new(listener);
        let mut state = self.shared.state.lock();
        // Copied instead of grown, so that a release takes a snapshot with one
        // count and never an allocation.
        state.listeners = state.listeners.iter().cloned().chain([listener]).collect();
    }

    fn within(bytes: u64, label: PlainArc<str>, reserved: Option<Charge>) -> Self {
        Self {
            shared: Arc::new(Shared {
                label,
                state: Mutex::new(State {
                    ledger: Ledger::new(bytes),
                    listeners: PlainArc::from([]),
                }),
                _reserved: reserved,
            }),
        }
    }

    /// Changes the ledger under the lock, then tells the listeners outside it.
    fn give_back<T>(&self, change: impl FnOnce(&mut Ledger) -> T) -> T {
        let (outcome, used_bytes, listeners) = {
            let mut state = self.shared.state.lock();
            let outcome = change(&mut state.ledger);
            (outcome, state.ledger.used_bytes(), state.listeners.clone())
        };
        for listener in listeners.iter() {
            // A charge is often dropped while its owner unwinds, where a second
            // panic would abort the process.
            if catch_unwind(AssertUnwindSafe(|| listener(used_bytes))).is_err() {
                tracing::error!(budget = self.label(), "a release listener panicked");
            }
        }
        outcome
    }
}

impl Charge {
    /// What it holds.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its name among the holders.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The budget that it is taken of.
    pub fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// Holds `bytes` from now on.
    ///
    /// # Errors
    /// When the additional bytes are not free; the charge is as it was. Holding
    /// less never fails.
    pub fn resize(&mut self, bytes: u64) -> Result<(), OverBudget> {
        let held = self.bytes;
        if bytes < held {
            self.budget
                .give_back(|ledger| ledger.resize(held, bytes, &self.label))?;
        } else {
            let mut state = self.budget.shared.state.lock();
            state.ledger.resize(held, bytes, &self.label)?;
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget
            .give_back(|ledger| ledger.release(self.bytes, &self.label));
    }
}

impl OverBudget {
    /// The same refusal, with the largest block that the memory could give.
    #[must_use]
    pub fn with_largest_block(mut self, bytes: u64) -> Self {
        self.largest_block_bytes = Some(bytes);
        self
    }
}

impl fmt::Debug for MemoryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never locks, for it may be printed by somebody who holds other locks.
        f.debug_struct("MemoryBudget")
            .field("label", &self.shared.label)
            .finish_non_exhaustive()
    }
}

struct Shared {
    label: PlainArc<str>,
    state: Mutex<State>,
    /// The part of the parent that this budget is; back when this is gone.
    _reserved: Option<Charge>,
}

struct State {
    ledger: Ledger,
    listeners: PlainArc<[Listener]>,
}

type Listener = PlainArc<dyn Fn(u64) + Send + Sync>;

/// How a refusal speaks of the largest block, if it knows it.
struct Largest(Option<u64>);

impl fmt::Display for Largest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(bytes) => write!(f, " (largest block: {bytes})"),
            None => Ok(()),
        }
    }
}

/// How a refusal lists the holders.
struct HeldBy<'a>(&'a [Holder]);

impl fmt::Display for HeldBy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "; held by";
        for Holder { label, bytes } in self.0 {
            write!(f, "{before} {label} ({bytes})")?;
            before = ",";
        }
        Ok(())
    }
}
