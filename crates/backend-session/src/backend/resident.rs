//! Resident reservations: bytes that stay beside the grants.

use super::Shared;
use crate::admission::{DeviceIndex, Moves, check_bytes};
use crate::error::{Error, Result};
use crate::gate::ObservationPermit;
use crate::work::Retained;
use runtime_core::{MemoryBudget, Revoker, Runtime};
use runtime_sync::unmodelled::Arc;
use std::fmt;

/// Bytes of one device that no grant gets, until this value is dropped.
///
/// For what outlives attempts: cached tables, model weights. It delays no close;
/// on a device with a runtime, the runtime stays until the reservation is dropped.
#[must_use = "dropping the reservation gives its bytes back"]
pub struct ResidentReservation {
    shared: Arc<Shared>,
    device: DeviceIndex,
    ordinal: u32,
    bytes: u64,
    label: String,
    lent: Option<Lent>,
}

impl ResidentReservation {
    /// A view of the device's runtime whose allocations are charged to this
    /// reservation. Its buffers can be bound by attempts on the same device; what
    /// outlives the reservation counts as retained until it drops.
    ///
    /// # Errors
    /// `LedgerOnly` where the device has no runtime.
    pub fn runtime(&self) -> Result<Runtime> {
        let lent = self.lent.as_ref().ok_or(Error::LedgerOnly {
            ordinal: self.ordinal,
        })?;
        Ok(lent.view.clone())
    }

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

/// A runtime lent for a reservation.
struct Lent {
    view: Runtime,
    revoker: Revoker,
    budget: MemoryBudget,
    retained: Arc<Retained>,
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
        // Cloned under a GPU permit, like everywhere.
        let gpu = permit.enter_gpu()?;
        let generation = self.generation(device);
        let now_ns = self.clock.now_ns();
        let mut moves = Moves::new();
        let reserved = self.book.lock().reserve(device, bytes, now_ns, &mut moves);
        self.carry_out(moves);
        if let Err(refused) = reserved {
            drop((generation, gpu, permit));
            return Err(refused);
        }
        let lent = generation.map(|generation| {
            let budget = MemoryBudget::new(bytes, label.as_str());
            let (view, revoker) = generation.runtime().revocable(&budget);
            let retained = Retained::follow(self.clone(), device, &budget);
            Lent {
                view,
                revoker,
                budget,
                retained,
            }
        });
        drop((gpu, permit));
        Ok(ResidentReservation {
            shared: self.clone(),
            device,
            ordinal,
            bytes,
            label,
            lent,
        })
    }
}

impl Drop for ResidentReservation {
    fn drop(&mut self) {
        if let Some(lent) = &self.lent {
            lent.revoker.revoke();
        }
        let now_ns = self.shared.clock.now_ns();
        let mut moves = Moves::new();
        {
            let mut book = self.shared.book.lock();
            let retained_bytes = self
                .lent
                .as_ref()
                .map_or(0, |lent| lent.retained.keep(&lent.budget));
            let (device, bytes) = (self.device, self.bytes);
            book.release_resident(device, bytes, retained_bytes, now_ns, &mut moves);
        }
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
