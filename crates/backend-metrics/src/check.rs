//! Whether a snapshot can describe one instant.
//!
//! A snapshot that was copied in one section obeys the equations below
//! whatever the backend was doing. One that breaks them was torn, or its
//! backend has lost count; either way its numbers must not be summed up.

use thiserror::Error;

use crate::facts::{AttemptBackendCountersSnapshot, DeviceFacts, SessionFacts};
use crate::label::DeviceOrdinal;
use crate::snapshot::BackendMetricsSnapshot;

/// The equation that a snapshot breaks, with both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Incoherent {
    /// `submitted = queued + granted + running + quarantined + ended`.
    #[error("{submitted} tickets submitted, but {placed} accounted for")]
    Tickets {
        /// The left side.
        submitted: u64,
        /// The right side.
        placed: u128,
    },
    /// The rows by band and reason add up to the queued tickets.
    #[error("{queued} tickets queued, but {listed} by band and reason")]
    QueuedRows {
        /// The queued tickets.
        queued: u64,
        /// The sum of the rows.
        listed: u128,
    },
    /// `free + granted + resident + retained + quarantined = capacity`.
    #[error("device {device}: capacity of {capacity_bytes} bytes, but {held_bytes} accounted for")]
    Capacity {
        /// Which device.
        device: DeviceOrdinal,
        /// The right side.
        capacity_bytes: u64,
        /// The left side; negative when `free` is and nothing balances it.
        held_bytes: i128,
    },
    /// `reports_ready <= attempts_begun`.
    #[error("{ready} reports ready of {begun} attempts begun")]
    Reports {
        /// Reports ready.
        ready: u64,
        /// Attempts begun.
        begun: u64,
    },
    /// `completion_queue_pushed + completion_queue_overflowed <= reports_ready`.
    #[error("{abandoned} reports abandoned of {ready} ready")]
    Abandoned {
        /// Reports that were pushed or overflowed.
        abandoned: u128,
        /// Reports ready.
        ready: u64,
    },
    /// Every histogram that is not empty has one bucket more than there are
    /// bounds.
    #[error("a histogram of {buckets} buckets over {bounds} bounds")]
    Buckets {
        /// Buckets of the first histogram that does not fit.
        buckets: usize,
        /// Bounds of the snapshot.
        bounds: usize,
    },
    /// The bounds of the buckets rise.
    #[error("bucket bound {later_ns} ns follows {earlier_ns} ns")]
    Bounds {
        /// A bound.
        earlier_ns: u64,
        /// The one behind it, which is not greater.
        later_ns: u64,
    },
}

impl SessionFacts {
    /// Verifies every equation between facts of one instant.
    ///
    /// # Errors
    /// The first broken equation.
    pub fn check(&self) -> Result<(), Incoherent> {
        self.check_tickets()?;
        self.devices.iter().try_for_each(check_device)?;
        self.attempts.check()
    }

    fn check_tickets(&self) -> Result<(), Incoherent> {
        let tickets = self.tickets;
        let placed = sum([
            tickets.queued,
            tickets.granted,
            tickets.running,
            tickets.quarantined,
            tickets.ended,
        ]);
        if placed != u128::from(tickets.submitted) {
            return Err(Incoherent::Tickets {
                submitted: tickets.submitted,
                placed,
            });
        }
        let listed = sum(self.queue.requests.iter().map(|row| row.count));
        if listed != u128::from(tickets.queued) {
            return Err(Incoherent::QueuedRows {
                queued: tickets.queued,
                listed,
            });
        }
        Ok(())
    }
}

impl AttemptBackendCountersSnapshot {
    /// Verifies that no report is ready before its attempt began, and none is
    /// abandoned before it is ready.
    ///
    /// # Errors
    /// The first broken inequality.
    pub fn check(&self) -> Result<(), Incoherent> {
        if self.reports_ready > self.attempts_begun {
            return Err(Incoherent::Reports {
                ready: self.reports_ready,
                begun: self.attempts_begun,
            });
        }
        let abandoned = sum([
            self.completion_queue_pushed,
            self.completion_queue_overflowed,
        ]);
        if abandoned > u128::from(self.reports_ready) {
            return Err(Incoherent::Abandoned {
                abandoned,
                ready: self.reports_ready,
            });
        }
        Ok(())
    }
}

impl BackendMetricsSnapshot {
    /// Verifies the facts and the shape of every histogram.
    ///
    /// # Errors
    /// The first broken equation.
    pub fn check(&self) -> Result<(), Incoherent> {
        self.facts.check()?;
        let bounds = self.bucket_bounds_ns.len();
        let misfit = self
            .histograms()
            .map(|histogram| histogram.buckets.len())
            .find(|buckets| *buckets != 0 && *buckets != bounds + 1);
        if let Some(buckets) = misfit {
            return Err(Incoherent::Buckets { buckets, bounds });
        }
        for (earlier, later) in self
            .bucket_bounds_ns
            .iter()
            .zip(self.bucket_bounds_ns.iter().skip(1))
        {
            if earlier >= later {
                return Err(Incoherent::Bounds {
                    earlier_ns: *earlier,
                    later_ns: *later,
                });
            }
        }
        Ok(())
    }
}

fn check_device(device: &DeviceFacts) -> Result<(), Incoherent> {
    let held_bytes = i128::from(device.free_bytes)
        + i128::from(device.granted_bytes)
        + i128::from(device.resident_bytes)
        + i128::from(device.retained_bytes)
        + i128::from(device.quarantined_bytes);
    if held_bytes == i128::from(device.capacity_bytes) {
        return Ok(());
    }
    Err(Incoherent::Capacity {
        device: device.ordinal,
        capacity_bytes: device.capacity_bytes,
        held_bytes,
    })
}

/// The sum, in a width in which 2^64 terms cannot overflow.
fn sum(terms: impl IntoIterator<Item = u64>) -> u128 {
    terms.into_iter().map(u128::from).sum()
}

#[cfg(test)]
#[cfg(not(runtime_loom))]
mod tests;
