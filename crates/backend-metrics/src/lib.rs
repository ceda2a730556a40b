#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod check;
mod exposition;
mod facts;
#[cfg(test)]
#[cfg(not(runtime_loom))]
mod fixture;
mod histogram;
mod label;
mod recorder;
mod snapshot;

pub use check::Incoherent;
pub use facts::{
    AttemptBackendCountersSnapshot, DeviceFacts, QuarantinedAttempts, QueueFacts, QueuedRequests,
    SessionFacts, TicketFacts,
};
pub use histogram::{BUCKET_BOUNDS_NS, HistogramSnapshot, LONGEST_RECORDED};
pub use label::{
    Band, DeviceHealth, DeviceOrdinal, Ending, GateState, Lane, Outcome, QuarantineCause,
    QueueReason, Refusal,
};
pub use recorder::{Recorder, RecorderError};
pub use snapshot::{
    AdmissionWait, BackendMetricsSnapshot, ExecutionTime, LaneWait, RequestCount, SCHEMA,
};
