//! What a budget has given out: the arithmetic alone.
//!
//! Holds no lock and calls nobody.
//! Invariant: `used_bytes <= capacity_bytes`, and `used_bytes` is the sum over
//! all labels. Every sum below stays under the capacity, so none can overflow.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use runtime_sync::unmodelled::Arc;

use super::{Holder, OverBudget};

/// How many holders a refusal names.
const NAMED_HOLDERS: usize = 8;

#[derive(Debug)]
pub(super) struct Ledger {
    capacity_bytes: u64,
    used_bytes: u64,
    peak_bytes: u64,
    /// Kept while a label has a charge, so it grows with live labels only.
    labels: BTreeMap<Arc<str>, Held>,
}

/// What the charges of one label hold together.
#[derive(Debug, Default)]
struct Held {
    bytes: u64,
    charges: u64,
}

impl Ledger {
    pub(super) fn new(capacity_bytes: u64) -> Self {
        Self {
            capacity_bytes,
            used_bytes: 0,
            peak_bytes: 0,
            labels: BTreeMap::new(),
        }
    }

    pub(super) fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    pub(super) fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }

    pub(super) fn free_bytes(&self) -> u64 {
        self.capacity_bytes - self.used_bytes
    }

    /// Adds a charge of `bytes`, or changes nothing.
    pub(super) fn reserve(&mut self, bytes: u64, label: &Arc<str>) -> Result<(), OverBudget> {
        self.take(bytes)?;
        let held = self.held(label);
        held.bytes += bytes;
        held.charges += 1;
        Ok(())
    }

    /// Lets a charge of `from` bytes become one of `to`, or changes nothing.
    pub(super) fn resize(
        &mut self,
        from: u64,
        to: u64,
        label: &Arc<str>,
    ) -> Result<(), OverBudget> {
        match to.checked_sub(from) {
            Some(more) => {
                self.take(more)?;
                self.held(label).bytes += more;
            }
            None => {
                self.used_bytes -= from - to;
                self.held(label).bytes -= from - to;
            }
        }
        Ok(())
    }

    /// Removes a charge of `bytes`.
    pub(super) fn release(&mut self, bytes: u64, label: &Arc<str>) {
        self.used_bytes -= bytes;
        let held = self.held(label);
        held.bytes -= bytes;
        held.charges -= 1;
        if held.charges == 0 {
            self.labels.remove(label);
        }
    }

    /// The labels that hold most, at most `most` of them, largest first.
    pub(super) fn holders(&self, most: usize) -> Vec<Holder> {
        let mut holders: Vec<Holder> = self
            .labels
            .iter()
            .filter(|(_, held)| held.bytes > 0)
            .map(|(label, held)| Holder {
                label: label.clone(),
                bytes: held.bytes,
            })
            .collect();
        // Stable, so that labels which hold the same stay in their order.
        holders.sort_by_key(|holder| Reverse(holder.bytes));
        holders.truncate(most);
        holders
    }

    fn take(&mut self, bytes: u64) -> Result<(), OverBudget> {
        if bytes > self.free_bytes() {
            return Err(OverBudget {
                requested_bytes: bytes,
                free_bytes: self.free_bytes(),
                largest_block_bytes: None,
                holders: self.holders(NAMED_HOLDERS),
            });
        }
        self.used_bytes += bytes;
        self.peak_bytes = self.peak_bytes.max(self.used_bytes);
        Ok(())
    }

    fn held(&mut self, label: &Arc<str>) -> &mut Held {
        self.labels.entry(label.clone()).or_default()
    }
}
