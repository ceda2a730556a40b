//! Device slots: what a backend may grant on.
//!
//! A slot holds its generation until the GPU scope of a closing backend is
//! empty. Others clone it only while they hold a GPU permit, and let it go
//! before the permit; so the close thread, which takes it out, is its last owner,
//! but for work that is not proven to be over.

use super::Shared;
use crate::admission::{DeviceIndex, Grant, Moves};
use crate::attempt::Record;
use crate::error::Result;
use crate::gate::ObservationPermit;
use crate::work::{Live, Retained};
use runtime_core::{MemoryBudget, Runtime};
use runtime_sync::Mutex;
use runtime_sync::unmodelled::Arc;

/// One device of a backend.
#[derive(Debug)]
pub(crate) struct DeviceSlot {
    pub(crate) label: String,
    generation: Mutex<Option<Arc<Generation>>>,
}

/// A device's runtime, from its opening to its loss or close.
#[derive(Debug)]
pub(crate) struct Generation {
    /// The number that its grants bear.
    number: u64,
    runtime: Runtime,
    /// The backend's capacity, set aside in the runtime's own budget.
    _reserved: MemoryBudget,
}

impl DeviceSlot {
    /// A slot without a runtime.
    pub(crate) fn new(label: String) -> Self {
        Self {
            label,
            generation: Mutex::new(None),
        }
    }

    /// Gives the slot a generation; the one before comes back, to be dropped
    /// without a lock, since its runtime may end with it.
    #[must_use]
    pub(super) fn attach(&self, generation: Generation) -> Option<Arc<Generation>> {
        self.generation.lock().replace(Arc::new(generation))
    }

    /// Takes the device's resources away; called at GPU quiescence.
    pub(crate) fn detach(&self) {
        let generation = self.generation.lock().take();
        // The runtime may end here, so no lock is held.
        drop(generation);
    }
}

impl Generation {
    /// A generation of which `capacity_bytes` are set aside.
    ///
    /// # Errors
    /// The runtime's budget refuses.
    pub(super) fn new(number: u64, runtime: Runtime, capacity_bytes: u64) -> Result<Self> {
        let reserved = runtime
            .budget()
            .child(capacity_bytes, "backend")
            .map_err(runtime_core::Error::from)?;
        Ok(Self {
            number,
            runtime,
            _reserved: reserved,
        })
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }
}

impl Shared {
    /// Puts a device that is out of service back with a new runtime.
    pub(super) fn recover(self: &Arc<Self>, ordinal: u32, runtime: Runtime) -> Result<u64> {
        let observation = ObservationPermit::serve(&self.gate)?;
        // Under a GPU permit, so close detaches what is attached here.
        let gpu = observation.enter_gpu()?;
        let device = self.find(ordinal)?;
        let now_ns = self.now_ns();
        let mut moves = Moves::new();
        let capacity_bytes = self.book.lock().capacity_bytes(device);
        // Held out here, so that a refusal does not end a runtime under the lock.
        let mut fresh = Some(Generation::new(0, runtime, capacity_bytes)?);
        let swapped = {
            let swap = |number| {
                let slot = self.devices.get(device.place());
                let fresh = fresh.take().map(|fresh| Generation { number, ..fresh });
                let before = slot.zip(fresh).and_then(|(slot, fresh)| slot.attach(fresh));
                (number, before)
            };
            let mut book = self.book.lock();
            book.recover(device, swap, now_ns, &mut moves)
        };
        self.carry_out(moves);
        drop(fresh);
        let number = swapped.map(|(number, before)| {
            drop(before);
            number
        });
        drop(gpu);
        drop(observation);
        number
    }

    /// The device's runtime, if it has one and is not detached. The caller holds
    /// a GPU permit.
    pub(super) fn generation(&self, device: DeviceIndex) -> Option<Arc<Generation>> {
        let slot = self.devices.get(device.place())?;
        slot.generation.lock().clone()
    }

    /// Lends a granted attempt its view of the device.
    pub(crate) fn lend(self: &Arc<Self>, record: &Record, grant: Grant) {
        // The attempt's GPU permit is in the book. Should the attempt end and close
        // detach the device right now, there is nothing to lend, or it comes back.
        let Some(generation) = self.generation(grant.device) else {
            return;
        };
        if generation.number != grant.generation {
            // The device was lost and recovered since the grant.
            return;
        }
        let budget = MemoryBudget::new(grant.bytes, format!("attempt {}", record.id));
        let (view, revoker) = generation.runtime.revocable(&budget);
        let retained = Retained::follow(self.clone(), grant.device, &budget);
        let live = Live {
            grant,
            view,
            revoker,
            budget,
            retained,
            _generation: generation,
        };
        drop(record.work.open(Arc::new(live)));
    }
}
