//! The line: who waits, in the order of their sequence numbers. Pure.
//!
//! First come, first served. A ticket that cannot be placed blocks every device
//! that may yet take it, so nobody younger passes it there; younger tickets go
//! on to devices that it could never use. A ticket that no device can take as
//! things stand (its device is quarantined, say) blocks none.
//!
//! Tickets that may use the same devices stand in one file, so a scan leaves a
//! whole file behind when all of its devices are blocked.

use super::ledger::{DeviceIndex, DeviceSet, Ledger};
use crate::identity::AttemptId;
use std::collections::BTreeMap;

/// How many blocked tickets one scan looks at before it gives up.
const MOST_BLOCKED: usize = 64;

/// One request in the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) attempt: AttemptId,
    pub(crate) bytes: u64,
    pub(crate) devices: DeviceSet,
    pub(crate) since_ns: u64,
}

/// The order of submission; never the same twice.
pub(crate) type Sequence = u64;

/// Everybody who waits.
#[derive(Debug, Default)]
pub(crate) struct Line {
    files: BTreeMap<DeviceSet, BTreeMap<Sequence, Waiting>>,
    depth: usize,
    queued_bytes: u128,
}

impl Line {
    /// Puts a request at its place.
    pub(crate) fn push(&mut self, sequence: Sequence, waiting: Waiting) {
        self.depth += 1;
        self.queued_bytes += u128::from(waiting.bytes);
        self.files
            .entry(waiting.devices)
            .or_default()
            .insert(sequence, waiting);
    }

    /// Takes a request out.
    pub(crate) fn remove(&mut self, sequence: Sequence, devices: DeviceSet) -> Option<Waiting> {
        let file = self.files.get_mut(&devices)?;
        let waiting = file.remove(&sequence)?;
        if file.is_empty() {
            self.files.remove(&devices);
        }
        self.depth -= 1;
        self.queued_bytes -= u128::from(waiting.bytes);
        Some(waiting)
    }

    /// How many wait.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Bytes that the waiting ones ask for.
    pub(crate) fn queued_bytes(&self) -> u64 {
        u64::try_from(self.queued_bytes).unwrap_or(u64::MAX)
    }

    /// When the one that waits longest came.
    pub(crate) fn oldest_since_ns(&self) -> Option<u64> {
        self.files
            .values()
            .filter_map(|file| file.values().next())
            .map(|waiting| waiting.since_ns)
            .min()
    }

    /// Everybody, by file and then by sequence.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Sequence, &Waiting)> {
        self.files
            .values()
            .flat_map(|file| file.iter().map(|(sequence, waiting)| (*sequence, waiting)))
    }

    /// The next grant in turn, and its device; `None` when nobody can be placed.
    pub(crate) fn next_grant(&self, ledger: &Ledger) -> Option<(Sequence, &Waiting, DeviceIndex)> {
        let mut files: Vec<_> = self
            .files
            .iter()
            .filter_map(|(devices, file)| {
                let mut rest = file.iter();
                Some((*devices, rest.next()?, rest))
            })
            .collect();
        let (mut blocked, mut looked_at) = (DeviceSet::default(), 0);
        while looked_at < MOST_BLOCKED {
            files.retain(|(devices, ..)| !devices.is_within(blocked));
            let in_turn = files
                .iter()
                .enumerate()
                .min_by_key(|(_, (_, (sequence, _), _))| **sequence)
                .map(|(place, _)| place)?;
            let (_, (sequence, waiting), rest) = &mut files[in_turn];
            if let Some(device) = ledger.placement(waiting.bytes, waiting.devices, blocked) {
                return Some((**sequence, waiting, device));
            }
            let hopeful = ledger.hopeful(waiting.bytes, waiting.devices);
            match rest.next() {
                Some(next) => (*sequence, *waiting) = next,
                None => drop(files.swap_remove(in_turn)),
            }
            if !hopeful.is_empty() {
                blocked = blocked.union(hopeful);
                looked_at += 1;
            }
        }
        None
    }
}

#[cfg(all(test, not(runtime_loom)))]
mod tests;
