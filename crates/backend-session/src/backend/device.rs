//! Device slots: what a backend may grant on.
//!
//! A slot holds its generation until the GPU scope of a closing backend is
//! empty. Others clone it only while they hold a GPU permit, and let it go
//! before the permit; so the close thread, which takes it out, is its last owner,
//! but for work that is not proven to be over.

use super::Shared;
use crate::admission::{DeviceIndex, Grant};
use crate::attempt::Record;
use crate::error::Result;
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

    /// Gives the slot its runtime, of which `capacity_bytes` are set aside.
    ///
    /// # Errors
    /// The runtime's budget refuses.
    pub(crate) fn attach(&self, runtime: Runtime, capacity_bytes: u64) -> Result<()> {
        let reserved = runtime
            .budget()
            .child(capacity_bytes, "backend")
            .map_err(runtime_core::Error::from)?;
        let generation = Arc::new(Generation {
            runtime,
            _reserved: reserved,
        });
        *self.generation.lock() = Some(generation);
        Ok(())
    }

    /// Takes the device's resources away; called at GPU quiescence.
    pub(crate) fn detach(&self) {
        let generation = self.generation.lock().take();
        // The runtime may end here, so no lock is held.
        drop(generation);
    }
}

impl Generation {
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }
}

impl Shared {
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
