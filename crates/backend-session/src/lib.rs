#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod admission;
mod attempt;
mod backend;
mod callout;
mod clock;
mod error;
mod gate;
mod handle;
mod identity;
mod report;
mod session;
#[cfg(feature = "tokio")]
mod tokio_support;
mod work;

pub use admission::{Admission, DeviceFilter, QueryAdmissionRequest, SharedAdmission};
pub use attempt::{
    Attempt, AttemptBegin, AttemptCanceller, AttemptReceiver, BeginAttemptRequest, Claim, Ending,
};
pub use backend::{
    BackendDiagnostics, CloseProgress, CloseReport, Closed, DeliveryDiagnostics, DeviceClose,
    DeviceTelemetrySnapshot, GpuBackend, GpuBackendBuilder, ReportSink, ResidentReservation,
};
pub use backend_metrics::{AttemptBackendCountersSnapshot, BackendMetricsSnapshot};
pub use clock::{Bell, Clock, ManualClock, MonotonicClock};
pub use error::{EndedBy, Error, ErrorCode, ErrorKind, Field, Result, ThreadRole};
pub use gate::GateSnapshot;
pub use handle::QueryHandle;
pub use identity::{AttemptId, GpuBackendCoreIdentity};
pub use report::{
    AdmissionFacts, AttemptTimestamps, CapacityDisposition, CleanupDisposition, Disposition,
    Failure, FailureFacts, HealthTransition, LaneTimes, MemoryFacts, Outcome, Priority,
    QueryAttemptReport, REPORT_SCHEMA_VERSION,
};
pub use session::GpuBackendSession;
// A stage of a caller's own runs under `QueryLease` with these very versions.
pub use native_session;
pub use runtime_core;
pub use work::QueryLease;

/// The project's first page: its examples use every crate, and this is the one
/// that stands on all of them.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct FirstPage;
