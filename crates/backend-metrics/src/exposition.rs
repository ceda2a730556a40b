//! OpenMetrics text of a snapshot.
//!
//! The text is written from a snapshot and never from live tallies, so it is
//! as coherent as the snapshot is. Names and labels are stable; a label value
//! may be added at any time.

mod family;

use std::fmt;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::{Registry, Unit};

use crate::facts::DeviceFacts;
use crate::label::{Band, DeviceHealth, GateState, QuarantineCause, QueueReason};
use crate::snapshot::BackendMetricsSnapshot;

use family::{Family, Labels};

const PREFIX: &str = "backend_session";

impl BackendMetricsSnapshot {
    /// Appends the snapshot as a complete OpenMetrics text, `# EOF` included.
    ///
    /// Serve it as `application/openmetrics-text; version=1.0.0; charset=utf-8`.
    /// Rows with equal labels are added up, so that a snapshot with several
    /// values that read as `Other` still gives a valid text.
    ///
    /// # Errors
    /// None of this crate's making; passes on what formatting may answer.
    pub fn to_openmetrics(&self, text: &mut String) -> fmt::Result {
        let mut registry = Registry::with_prefix(PREFIX);
        registry.register_collector(Box::new(Exposition(self.clone())));
        encode(text, &registry)
    }
}

#[derive(Debug)]
struct Exposition(BackendMetricsSnapshot);

impl Collector for Exposition {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let snapshot = &self.0;
        requests(snapshot, &mut encoder)?;
        queue(snapshot, &mut encoder)?;
        device_bytes(&snapshot.facts.devices, &mut encoder)?;
        device_attempts(&snapshot.facts.devices, &mut encoder)?;
        execution(snapshot, &mut encoder)?;
        backend(snapshot, &mut encoder)
    }
}

fn requests(snapshot: &BackendMetricsSnapshot, encoder: &mut DescriptorEncoder) -> fmt::Result {
    // The format appends `_total` to the name of every counter.
    let family = Family::new("requests", "Requests that ended");
    family.counters(
        encoder,
        snapshot.requests.iter().map(|row| {
            let labels = vec![
                ("outcome", row.outcome.to_string()),
                ("priority", row.band.to_string()),
            ];
            (labels, row.count)
        }),
    )?;

    let family = Family::new(
        "admission_wait_duration",
        "How long requests waited until they were granted or refused",
    );
    family.histograms(
        encoder,
        &snapshot.bucket_bounds_ns,
        snapshot.admission_wait.iter().map(|row| {
            let labels = vec![
                ("outcome", row.outcome.to_string()),
                ("priority", row.band.to_string()),
            ];
            (labels, &row.waits)
        }),
    )
}

fn queue(snapshot: &BackendMetricsSnapshot, encoder: &mut DescriptorEncoder) -> fmt::Result {
    let queue = &snapshot.facts.queue;
    let labels = |band: Band, reason: QueueReason| {
        vec![
            ("priority", band.to_string()),
            ("reason", reason.to_string()),
        ]
    };
    // A queue that empties must read 0, and not vanish.
    let zeros = (0..snapshot.bands).flat_map(|band| {
        let known = QueueReason::ALL.iter();
        known
            .filter(|reason| **reason != QueueReason::Other)
            .map(move |reason| (labels(Band(band), *reason), 0))
    });
    let rows = queue.requests.iter();
    let rows = rows.map(|row| (labels(row.band, row.reason), row.count));
    Family::new("queued_requests", "Requests that wait for admission")
        .gauges(encoder, zeros.chain(rows))?;

    Family::new("queued", "Bytes that waiting requests ask for")
        .unit(Unit::Bytes)
        .gauges(encoder, [(Labels::new(), queue.bytes)])?;

    let age = Duration::from_nanos(queue.oldest_age_ns.unwrap_or(0));
    Family::new(
        "oldest_queued_age",
        "How long the oldest waiting request has waited; 0 when none waits",
    )
    .unit(Unit::Seconds)
    .number(encoder, age.as_secs_f64())
}

fn device_bytes(devices: &[DeviceFacts], encoder: &mut DescriptorEncoder) -> fmt::Result {
    let rows = devices.iter();
    Family::new("capacity", "Bytes of a device that may be handed out")
        .unit(Unit::Bytes)
        .gauges(
            encoder,
            rows.map(|device| (vec![device_label(device)], device.capacity_bytes)),
        )?;

    let rows = devices.iter().flat_map(|device| {
        [
            ("granted", device.granted_bytes),
            ("resident", device.resident_bytes),
            ("retained", device.retained_bytes),
            ("quarantined", device.quarantined_bytes),
        ]
        .map(|(state, bytes)| {
            let labels = vec![device_label(device), ("state", state.to_owned())];
            (labels, bytes)
        })
    });
    Family::new("reserved", "Bytes of a device by what holds them")
        .unit(Unit::Bytes)
        .gauges(encoder, rows)
}

fn device_attempts(devices: &[DeviceFacts], encoder: &mut DescriptorEncoder) -> fmt::Result {
    let rows = devices.iter();
    Family::new("running_attempts", "Attempts that run on a device").gauges(
        encoder,
        rows.map(|device| (vec![device_label(device)], device.running_attempts)),
    )?;

    let labels = |device: &DeviceFacts, cause: QuarantineCause| {
        vec![device_label(device), ("cause", cause.to_string())]
    };
    let rows = devices.iter().flat_map(|device| {
        let zeros = QuarantineCause::ALL.iter();
        let zeros = zeros.map(move |cause| (labels(device, *cause), 0));
        let rows = device.quarantined_attempts.iter();
        zeros.chain(rows.map(move |row| (labels(device, row.cause), row.count)))
    });
    Family::new(
        "quarantined_attempts",
        "Attempts whose completion has no proof",
    )
    .gauges(encoder, rows)?;

    // A plain gauge: the encoder knows no state sets.
    let rows = devices.iter();
    Family::new(
        "device_health",
        "0 open, 1 recovering, 2 closed by a fault of the device, \
         3 closed by a fault of unknown reach, 9 unknown",
    )
    .gauges(
        encoder,
        rows.map(|device| (vec![device_label(device)], health_number(device.health))),
    )
}

fn execution(snapshot: &BackendMetricsSnapshot, encoder: &mut DescriptorEncoder) -> fmt::Result {
    let bounds_ns = &snapshot.bucket_bounds_ns;
    let rows = snapshot.execution.iter().map(|row| {
        let labels = vec![
            ("device", row.device.to_string()),
            ("outcome", row.outcome.to_string()),
        ];
        (labels, &row.durations)
    });
    Family::new("execution_duration", "Time from a grant to its end")
        .histograms(encoder, bounds_ns, rows)?;

    let rows = snapshot.lane_wait.iter().map(|row| {
        let labels = vec![
            ("device", row.device.to_string()),
            ("lane", row.lane.to_string()),
        ];
        (labels, &row.waits)
    });
    Family::new("lane_wait_duration", "How long work waited for a lane")
        .histograms(encoder, bounds_ns, rows)?;

    Family::new(
        "compute_lease_hold_duration",
        "How long leases of the compute lane were held",
    )
    .histograms(
        encoder,
        bounds_ns,
        [(Labels::new(), &snapshot.compute_lease_hold)],
    )
}

fn backend(snapshot: &BackendMetricsSnapshot, encoder: &mut DescriptorEncoder) -> fmt::Result {
    let facts = &snapshot.facts;
    Family::new(
        "head_bypass",
        "Grants of a request past the head of a device",
    )
    .counters(encoder, [(Labels::new(), facts.head_bypass_total)])?;

    Family::new(
        "gate_state",
        "0 open, 1 closing, 2 GPU-quiescent, 3 closed, 9 unknown",
    )
    .gauges(encoder, [(Labels::new(), gate_number(facts.gate))])?;

    Family::new(
        "close_duration",
        "Time from the signal to close to its report",
    )
    .histograms(
        encoder,
        &snapshot.bucket_bounds_ns,
        [(Labels::new(), &snapshot.close)],
    )
}

fn device_label(device: &DeviceFacts) -> (&'static str, String) {
    ("device", device.ordinal.to_string())
}

fn health_number(health: DeviceHealth) -> u64 {
    match health {
        DeviceHealth::Open => 0,
        DeviceHealth::Recovering => 1,
        DeviceHealth::ClosedDeviceLocal => 2,
        DeviceHealth::ClosedUnknownIsolation => 3,
        DeviceHealth::Other => 9,
    }
}

fn gate_number(gate: GateState) -> u64 {
    match gate {
        GateState::Open => 0,
        GateState::Closing => 1,
        GateState::GpuQuiescent => 2,
        GateState::Closed => 3,
        GateState::Other => 9,
    }
}

#[cfg(test)]
#[cfg(not(runtime_loom))]
mod tests;
