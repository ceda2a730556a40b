//! The capability that callers hold.

use crate::admission::{Admission, QueryAdmissionRequest};
use crate::attempt::{AttemptBegin, BeginAttemptRequest};
use crate::backend::{BackendDiagnostics, DeviceTelemetrySnapshot, Shared};
use crate::error::Result;
use crate::identity::GpuBackendCoreIdentity;
use crate::report::QueryAttemptReport;
use backend_metrics::{AttemptBackendCountersSnapshot, BackendMetricsSnapshot};
use runtime_sync::Arc as ModelledArc;
use runtime_sync::unmodelled::Arc;
use std::fmt;

/// The right to use a backend, for session or optimizer state.
///
/// It neither constructs nor exposes raw device resources, and it keeps none
/// alive. What it observes it keeps: counters, metrics and reports stay readable
/// for ever, after close too.
#[derive(Clone)]
pub struct GpuBackendSession {
    shared: Arc<Shared>,
}

impl GpuBackendSession {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// The backend that this session was minted from: unique in the process, and
    /// unchanged by the recovery of a device.
    #[must_use]
    pub fn identity(&self) -> GpuBackendCoreIdentity {
        self.shared.identity()
    }

    /// True if both sessions were minted from one published backend.
    #[must_use]
    pub fn same_backend(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }

    /// True once close is signalled. Only advice: whether an attempt begins is
    /// decided by [`begin_attempt`](Self::begin_attempt).
    #[must_use]
    pub fn is_closing(&self) -> bool {
        self.shared.is_closing()
    }

    /// Begins an attempt: it is counted, and close waits for its report. It takes
    /// no device and delays no device's teardown until a request is admitted.
    ///
    /// # Errors
    /// `Cancelled`/`backend_closing` when close came first: nothing is counted,
    /// and there is neither an id nor a report. `ServiceOverloaded`/
    /// `too_many_attempts` at the bound of open attempts. `OutOfRange` for a name
    /// that is too long.
    pub fn begin_attempt(&self, request: BeginAttemptRequest) -> Result<AttemptBegin> {
        let attempt = self.shared.begin(request)?;
        let receiver = attempt.receiver();
        Ok(AttemptBegin { attempt, receiver })
    }

    /// Waits in the bounded line until a grant is placed, the request is
    /// cancelled, or its queue deadline passes.
    ///
    /// The future works on any executor, is `Send`, and enters the line at its
    /// first poll. Dropping it before it is done ends the attempt as dropped.
    ///
    /// # Errors
    /// Before the line: `Cancelled`/`backend_closing`, `OutOfRange`,
    /// `ForeignAttempt`. In it: `ServiceOverloaded`/`admission_queue_full` and
    /// `/queue_wait_elapsed`, `Cancelled`/`admission_closed` and
    /// `/caller_cancelled`, `NeverFits`, `Capability`, `Unhealthy`. But for
    /// `OutOfRange` and `ForeignAttempt`, an attempt that began has ended with the
    /// same error, and its report is readable.
    pub fn admit_async_with_request(&self, request: QueryAdmissionRequest) -> Admission {
        Admission::new(self.shared.clone(), request)
    }

    /// One coherent picture of the backend, whose facts belong to one instant.
    /// Needs no device, and answers for ever.
    #[must_use]
    pub fn backend_metrics_snapshot(&self) -> BackendMetricsSnapshot {
        self.shared.metrics()
    }

    /// The counts of attempts and reports, with reports ready <= attempts begun
    /// and pushed + overflowed <= reports ready. Answers for ever.
    #[must_use]
    pub fn attempt_counters_snapshot(&self) -> AttemptBackendCountersSnapshot {
        self.shared.attempt_counters()
    }

    /// Takes the oldest reports that nobody waited for when they became ready, at
    /// most `max` of them. Empty for a backend without a completion queue.
    /// Answers for ever.
    #[must_use]
    pub fn take_abandoned_attempt_reports(
        &self,
        max: usize,
    ) -> Vec<ModelledArc<QueryAttemptReport>> {
        self.shared.take_abandoned(max)
    }

    /// Reads every service's report once.
    ///
    /// # Errors
    /// `Cancelled`/`backend_closing` once close is signalled.
    pub fn diagnostics(&self) -> Result<BackendDiagnostics> {
        self.shared.diagnostics()
    }

    /// Reads every device.
    ///
    /// # Errors
    /// `Cancelled`/`backend_closing` once close is signalled.
    pub fn device_telemetry_snapshots(&self) -> Result<Vec<DeviceTelemetrySnapshot>> {
        self.shared.telemetry()
    }
}

impl fmt::Debug for GpuBackendSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GpuBackendSession")
            .field("identity", &self.identity())
            .field("is_closing", &self.is_closing())
            .finish()
    }
}
