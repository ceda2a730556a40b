//! The backend: devices, the line in front of them, and their close.

mod builder;
mod carry;
mod close;
mod delivery;
mod device;
mod diagnostics;
mod proofs;
mod resident;
mod shared;
mod timer;

pub use builder::GpuBackendBuilder;
pub use close::{CloseProgress, CloseReport, Closed, DeviceClose};
pub use delivery::ReportSink;
pub use diagnostics::{BackendDiagnostics, DeliveryDiagnostics, DeviceTelemetrySnapshot};
pub use resident::ResidentReservation;

pub(crate) use device::Generation;
pub(crate) use shared::Shared;

use crate::admission::{MOST_CAPACITY_BYTES, Moves, check_range};
use crate::error::{Field, Result};
use crate::gate::{GateSnapshot, ObservationPermit};
use crate::session::GpuBackendSession;
use runtime_core::Runtime;
use runtime_sync::Arc as ModelledArc;
use runtime_sync::unmodelled::{Arc, Ordering};
use std::fmt;
use std::time::Duration;

/// The owner's view of a backend.
///
/// Every value is a public handle of the same backend; dropping the last one
/// signals close without waiting for it. Sessions, attempts and reports are no
/// such handles.
pub struct GpuBackend {
    shared: Arc<Shared>,
}

impl GpuBackend {
    /// What a backend is built from.
    pub fn builder() -> GpuBackendBuilder {
        GpuBackendBuilder::new()
    }

    /// The one handle that `shared` starts with.
    fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// A capability for session or optimizer state. It outlives the backend and
    /// keeps no device alive.
    #[must_use]
    pub fn session(&self) -> GpuBackendSession {
        GpuBackendSession::new(self.shared.clone())
    }

    /// Reserves `bytes` of a device beside the grants, until the reservation is
    /// dropped. Requests that no device can take any more end as never fitting.
    ///
    /// # Errors
    /// `ReservationRefused` when the bytes are not free now; `UnknownDevice`,
    /// `OutOfRange`, `BackendClosing`.
    pub fn reserve_resident(
        &self,
        device: u32,
        bytes: u64,
        label: impl Into<String>,
    ) -> Result<ResidentReservation> {
        self.shared.reserve_resident(device, bytes, label.into())
    }

    /// Changes a device's capacity. What is held beyond a smaller one stays held;
    /// requests that no device can take any more end as never fitting.
    ///
    /// # Errors
    /// `UnknownDevice`, `OutOfRange`, `BackendClosing`.
    pub fn set_capacity(&self, device: u32, capacity_bytes: u64) -> Result<()> {
        check_range(Field::CapacityBytes, capacity_bytes, 1, MOST_CAPACITY_BYTES)?;
        let _permit = ObservationPermit::serve(&self.shared.gate)?;
        let index = self.shared.find(device)?;
        let now_ns = self.shared.clock.now_ns();
        let mut moves = Moves::new();
        self.shared
            .book
            .lock()
            .resize(index, capacity_bytes, now_ns, &mut moves);
        self.shared.carry_out(moves);
        Ok(())
    }

    /// Takes a device out of service. Attempts that run there go on; requests
    /// that no device in service can take end as unhealthy.
    ///
    /// # Errors
    /// `UnknownDevice`, `BackendClosing`.
    pub fn close_device(&self, device: u32) -> Result<()> {
        self.set_open(device, false)
    }

    /// Puts a device back into service that was taken out of it. A lost runtime is
    /// not repaired by that; see [`recover_device`](Self::recover_device).
    ///
    /// # Errors
    /// `UnknownDevice`, `BackendClosing`.
    pub fn open_device(&self, device: u32) -> Result<()> {
        self.set_open(device, true)
    }

    /// Recovers a device that is out of service: `runtime`, a new one on the same
    /// GPU, becomes its next generation, whose number comes back. Sessions keep
    /// working. What earlier generations hold without proof stays charged.
    ///
    /// # Errors
    /// `LedgerOnly` and `DeviceInService`; `Runtime` when the runtime's budget
    /// cannot set the device's capacity aside; `UnknownDevice`, `BackendClosing`.
    pub fn recover_device(&self, device: u32, runtime: Runtime) -> Result<u64> {
        self.shared.recover(device, runtime)
    }

    /// The gate's word. Answers for ever.
    #[must_use]
    pub fn gate(&self) -> GateSnapshot {
        self.shared.gate.snapshot()
    }

    /// How far close has come. Answers for ever.
    #[must_use]
    pub fn close_progress(&self) -> CloseProgress {
        self.shared.close_progress()
    }

    /// Signals close and returns at once, whatever locks are held; true for the
    /// one caller that did it.
    pub fn close(&self) -> bool {
        self.shared.gate.close()
    }

    /// Signals close as [`close`](Self::close) does, and ends the attempts that
    /// run, with the code `backend_closing`.
    pub fn close_and_cancel(&self) -> bool {
        // Release pairs with the Acquire of the close thread, which looks again
        // when it is unparked.
        let desk = &self.shared.close_desk;
        desk.cancels_running.store(true, Ordering::Release);
        self.shared.gate.close()
    }

    /// Signals close and blocks until it is complete, for at most `limit` of real
    /// time. The async twin is [`close_async`](Self::close_async).
    ///
    /// # Errors
    /// `CloseTimeout`, with the scopes that are open: only this wait is over,
    /// close goes on. `WaitInsideCallback` in a callback, waker or destructor
    /// that the backend calls; close is signalled all the same.
    pub fn close_and_wait(&self, limit: Duration) -> Result<ModelledArc<CloseReport>> {
        self.shared.gate.close();
        self.shared.wait_closed(limit)
    }

    /// Signals close and waits until it is complete, for at most `limit` on the
    /// backend's clock. For any executor; the future is `Send`, and dropping it
    /// changes nothing about the close.
    ///
    /// # Errors
    /// As [`close_and_wait`](Self::close_and_wait).
    pub fn close_async(&self, limit: Duration) -> Closed {
        self.shared.gate.close();
        Closed::new(self.shared.clone(), limit)
    }

    fn set_open(&self, device: u32, is_open: bool) -> Result<()> {
        let _permit = ObservationPermit::serve(&self.shared.gate)?;
        let index = self.shared.find(device)?;
        let now_ns = self.shared.clock.now_ns();
        let mut moves = Moves::new();
        self.shared
            .book
            .lock()
            .set_open(index, is_open, now_ns, &mut moves);
        self.shared.carry_out(moves);
        Ok(())
    }
}

impl Clone for GpuBackend {
    fn clone(&self) -> Self {
        self.shared.count_handle();
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl Drop for GpuBackend {
    fn drop(&mut self) {
        self.shared.uncount_handle();
    }
}

impl fmt::Debug for GpuBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GpuBackend")
            .field("identity", &self.shared.identity())
            .field("gate", &self.gate())
            .finish()
    }
}

#[cfg(all(test, not(runtime_loom)))]
mod tests;
