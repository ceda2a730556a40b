//! Resident reservations: bytes that stay beside the grants.

use super::Shared;
use crate::admission::{DeviceIndex, Moves, check_bytes};
use crate::error::Result;
use crate::gate::ObservationPermit;
use runtime_sync::unmodelled::Arc;
use std::fmt;

/// Bytes of one device that no grant gets, until this value is dropped.
///
/// For what outlives attempts: cached tables, model weights. It delays no close.
#[must_use = "dropping the reservation gives its bytes back"]
pub struct ResidentReservation {
    shared: Arc<Shared>,
    device: DeviceIndex,
    ordinal: u32,
    bytes: u64,
    label: String,
}

impl ResidentReservation {
    /// Bytes reserved.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The device that they are of.
    #[must_use]
    pub fn device(&self) -> u32 {
        self.ordinal
    }

    /// What they are for.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }
}

impl Shared {
    /// Reserves resident bytes; requests that can no longer fit end at once.
    pub(super) fn reserve_resident(
        self: &Arc<Self>,
        ordinal: u32,
        bytes: u64,
        label: String,
    ) -> Result<ResidentReservation> {
        check_bytes(bytes)?;
        // Like every service, this one is over when close begins.
        let permit = ObservationPermit::serve(&self.gate)?;
        let device = self.find(ordinal)?;
        let now_ns = self.clock.now_ns();
        let mut moves = Moves::new();
        let reserved = self.book.lock().reserve(device, bytes, now_ns, &mut moves);
        self.carry_out(moves);
        drop(permit);
        reserved?;
        Ok(ResidentReservation {
            shared: self.clone(),
            device,
            ordinal,
            bytes,
            label,
        })
    }
}

impl Drop for ResidentReservation {
    fn drop(&mut self) {
        let now_ns = self.shared.clock.now_ns();
        let mut moves = Moves::new();
        self.shared
            .book
            .lock()
            .release_resident(self.device, self.bytes, now_ns, &mut moves);
        self.shared.carry_out(moves);
    }
}

impl fmt::Debug for ResidentReservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResidentReservation")
            .field("device", &self.ordinal)
            .field("bytes", &self.bytes)
            .field("label", &self.label)
            .finish()
    }
}
