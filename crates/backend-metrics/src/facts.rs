//! Facts: what a backend copies about itself in one critical section.
//!
//! A backend fills a [`SessionFacts`] while it holds the lock that orders its
//! tickets, so that all of it describes one instant; the number of that
//! instant is the generation. This module holds plain data and no lock.
//!
//! Every struct starts from `Default` or `new` and has public fields, and every
//! field has a default in JSON: a snapshot of an older version still decodes.

use serde::{Deserialize, Serialize};

use crate::label::{Band, DeviceHealth, DeviceOrdinal, GateState, QuarantineCause, QueueReason};

/// One instant of a backend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SessionFacts {
    /// The number of the event after which the facts were copied; rises.
    pub generation: u64,
    /// How far the backend has closed.
    pub gate: GateState,
    /// Requests by where they are.
    pub tickets: TicketFacts,
    /// The requests that wait.
    pub queue: QueueFacts,
    /// Every device, in the order of ordinals.
    pub devices: Vec<DeviceFacts>,
    /// How often a younger request was granted past the head of a device.
    pub head_bypass_total: u64,
    /// Attempts and what became of their reports.
    pub attempts: AttemptBackendCountersSnapshot,
}

/// Requests by where they are; each is in exactly one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TicketFacts {
    /// All that ever entered the line or were granted at once.
    pub submitted: u64,
    /// Waiting in the line.
    pub queued: u64,
    /// Granted, and not yet claimed by their caller.
    pub granted: u64,
    /// Claimed; running until their bytes return.
    pub running: u64,
    /// Ended without proof of completion; their bytes stay charged.
    pub quarantined: u64,
    /// Ended, with nothing held.
    pub ended: u64,
}

/// The requests that wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct QueueFacts {
    /// How many wait, by band and reason; rows of zero may be left out.
    pub requests: Vec<QueuedRequests>,
    /// The sum of the bytes that they ask for.
    pub bytes: u64,
    /// For how long the oldest of them has waited; `None` when none waits.
    pub oldest_age_ns: Option<u64>,
}

impl QueueFacts {
    /// Counts `count` more requests of `band` that wait for `reason`.
    pub fn add(&mut self, band: Band, reason: QueueReason, count: u64) {
        let known = self
            .requests
            .iter_mut()
            .find(|row| row.band == band && row.reason == reason);
        match known {
            Some(row) => row.count = row.count.saturating_add(count),
            None => self.requests.push(QueuedRequests {
                band,
                reason,
                count,
            }),
        }
    }
}

/// How many requests of one band wait for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct QueuedRequests {
    /// The priority band.
    pub band: Band,
    /// What they wait for.
    pub reason: QueueReason,
    /// How many.
    pub count: u64,
}

/// One device and where its bytes are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct DeviceFacts {
    /// Which device.
    pub ordinal: DeviceOrdinal,
    /// A name for people; no label of a series.
    pub label: String,
    /// Whether it is granted work.
    pub health: DeviceHealth,
    /// Rises with every recovery.
    pub generation: u64,
    /// All bytes that may be handed out.
    pub capacity_bytes: u64,
    /// Bytes nobody holds; negative after capacity shrank under its holders.
    pub free_bytes: i64,
    /// Bytes of granted and running requests.
    pub granted_bytes: u64,
    /// Bytes of resident reservations.
    pub resident_bytes: u64,
    /// Bytes that an alias still holds after its attempt ended.
    pub retained_bytes: u64,
    /// Bytes of quarantined owners.
    pub quarantined_bytes: u64,
    /// Attempts that run on it.
    pub running_attempts: u64,
    /// Attempts in quarantine by cause; rows of zero may be left out.
    pub quarantined_attempts: Vec<QuarantinedAttempts>,
}

impl DeviceFacts {
    /// An open device of which every byte is free.
    #[must_use]
    pub fn new(ordinal: DeviceOrdinal, label: impl Into<String>, capacity_bytes: u64) -> Self {
        Self {
            ordinal,
            label: label.into(),
            capacity_bytes,
            free_bytes: i64::try_from(capacity_bytes).unwrap_or(i64::MAX),
            ..Self::default()
        }
    }

    /// Counts `count` more attempts in quarantine for `cause`.
    pub fn add_quarantined(&mut self, cause: QuarantineCause, count: u64) {
        let known = self
            .quarantined_attempts
            .iter_mut()
            .find(|row| row.cause == cause);
        match known {
            Some(row) => row.count = row.count.saturating_add(count),
            None => self
                .quarantined_attempts
                .push(QuarantinedAttempts { cause, count }),
        }
    }
}

/// How many attempts of one device sit in quarantine for one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct QuarantinedAttempts {
    /// Why.
    pub cause: QuarantineCause,
    /// How many.
    pub count: u64,
}

/// Attempts and what became of their reports.
///
/// Read so that `reports_ready <= attempts_begun` and
/// `completion_queue_pushed + completion_queue_overflowed <= reports_ready`
/// hold in every copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct AttemptBackendCountersSnapshot {
    /// Attempts that got an observation permit.
    pub attempts_begun: u64,
    /// Attempts whose report is ready.
    pub reports_ready: u64,
    /// Reports without a receiver that entered the completion queue.
    pub completion_queue_pushed: u64,
    /// Reports without a receiver that found the completion queue full.
    pub completion_queue_overflowed: u64,
}

#[cfg(test)]
#[cfg(not(runtime_loom))]
mod tests;
