//! Service reads: what a backend and its devices look like now.

use super::Shared;
use crate::error::Result;
use crate::gate::{GateSnapshot, ObservationPermit};
use crate::identity::GpuBackendCoreIdentity;
use backend_metrics::SessionFacts;

/// Every service's report, each read once.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BackendDiagnostics {
    /// The backend.
    pub identity: GpuBackendCoreIdentity,
    /// The gate, with the permits of this read.
    pub gate: GateSnapshot,
    /// Line, devices and attempts at one instant.
    pub facts: SessionFacts,
    /// The delivery of reports.
    pub delivery: DeliveryDiagnostics,
    /// The devices.
    pub devices: Vec<DeviceTelemetrySnapshot>,
}

/// How the delivery of reports to sinks goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeliveryDiagnostics {
    /// Attempts whose report, permit or lease waits for the delivery thread.
    pub waiting: u64,
    /// Reports that found no room in front of the sinks.
    pub lost_reports: u64,
    /// Calls of sinks and of activity leases' destructors that panicked.
    pub panics: u64,
}

/// One device and what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceTelemetrySnapshot {
    /// The device.
    pub ordinal: u32,
    /// A name for people.
    pub label: String,
    /// Rises with every recovery.
    pub generation: u64,
    /// Work is granted on it.
    pub is_open: bool,
    /// Bytes that may be handed out.
    pub capacity_bytes: u64,
    /// Bytes that nobody holds; below zero after the capacity shrank.
    pub free_bytes: i64,
    /// Attempts that hold a grant of it.
    pub running_attempts: u64,
}

impl Shared {
    pub(crate) fn diagnostics(&self) -> Result<BackendDiagnostics> {
        let observation = ObservationPermit::serve(&self.gate)?;
        let gpu = observation.enter_gpu()?;
        let (gate, facts) = (self.gate.snapshot(), self.facts());
        let (waiting, panics) = self.delivery.load();
        let diagnostics = BackendDiagnostics {
            identity: self.identity,
            gate,
            devices: telemetry(&facts),
            facts,
            delivery: DeliveryDiagnostics {
                waiting: u64::try_from(waiting).unwrap_or(u64::MAX),
                lost_reports: self.delivery.lost(),
                panics,
            },
        };
        // The GPU permit is the inner one.
        drop(gpu);
        drop(observation);
        Ok(diagnostics)
    }

    pub(crate) fn telemetry(&self) -> Result<Vec<DeviceTelemetrySnapshot>> {
        let observation = ObservationPermit::serve(&self.gate)?;
        let gpu = observation.enter_gpu()?;
        let devices = telemetry(&self.facts());
        drop(gpu);
        drop(observation);
        Ok(devices)
    }
}

fn telemetry(facts: &SessionFacts) -> Vec<DeviceTelemetrySnapshot> {
    let devices = facts.devices.iter();
    devices
        .map(|device| DeviceTelemetrySnapshot {
            ordinal: device.ordinal.0,
            label: device.label.clone(),
            generation: device.generation,
            is_open: device.health == backend_metrics::DeviceHealth::Open,
            capacity_bytes: device.capacity_bytes,
            free_bytes: device.free_bytes,
            running_attempts: device.running_attempts,
        })
        .collect()
}
