//! What is known of an attempt while it lives, and the sealing of its report.

use super::phase::{Event, Phase};
use crate::error::{EndedBy, Error, ErrorCode};
use crate::identity::{AttemptId, GpuBackendCoreIdentity};
use crate::report::{
    AdmissionFacts, AttemptTimestamps, CapacityDisposition, CleanupDisposition, Disposition,
    Failure, HealthTransition, LaneTimes, MemoryFacts, Outcome, Priority, QueryAttemptReport,
    REPORT_SCHEMA_VERSION,
};

/// Why an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) by: EndedBy,
    /// What callers that still wait for the attempt are told.
    pub(crate) error: Option<Error>,
}

impl Verdict {
    /// An end with an error.
    pub(crate) fn failed(by: EndedBy, error: Error) -> Self {
        Self {
            by,
            error: Some(error),
        }
    }

    /// The owner ended it, so nothing of the owner's runs any more.
    pub(crate) fn is_by_owner(&self) -> bool {
        matches!(
            self.by,
            EndedBy::Success | EndedBy::ClientError | EndedBy::Drop | EndedBy::Panic
        )
    }

    fn outcome(&self) -> Outcome {
        match self.by {
            EndedBy::Success => Outcome::Succeeded,
            EndedBy::ClientError => Outcome::Failed,
            EndedBy::Rejection => Outcome::Rejected,
            EndedBy::Cancel => Outcome::Cancelled,
            EndedBy::QueueDeadline => Outcome::Expired,
            EndedBy::ExecutionDeadline => Outcome::TimedOut,
            EndedBy::ClaimLimit | EndedBy::Drop => Outcome::Dropped,
            EndedBy::Panic => Outcome::Panicked,
            EndedBy::Close => Outcome::Closed,
            EndedBy::Unknown => Outcome::Unknown,
        }
    }
}

/// What is known of an attempt; under the line lock while it lives.
#[derive(Debug, Clone)]
pub(crate) struct AttemptFacts {
    pub(crate) id: AttemptId,
    pub(crate) correlation: Option<String>,
    pub(crate) tenant: Option<String>,
    pub(crate) priority: Priority,
    pub(crate) phase: Phase,
    pub(crate) at: AttemptTimestamps,
    pub(crate) admission: AdmissionFacts,
    /// The last phase before the end.
    reached: Phase,
    verdict: Option<Verdict>,
}

/// What cleanup found out, for the report.
#[derive(Debug, Clone, Default)]
pub(crate) struct CleanupFacts {
    pub(crate) failures: u32,
    pub(crate) memory: MemoryFacts,
    pub(crate) lanes: LaneTimes,
    pub(crate) health: Option<HealthTransition>,
    pub(crate) first_work_at_ns: Option<u64>,
}

impl AttemptFacts {
    /// An attempt that has just begun.
    pub(crate) fn begun(
        id: AttemptId,
        correlation: Option<String>,
        tenant: Option<String>,
        priority: Priority,
        now_ns: u64,
    ) -> Self {
        Self {
            id,
            correlation,
            tenant,
            priority,
            phase: Phase::Begun,
            at: AttemptTimestamps {
                begun_at_ns: now_ns,
                ..AttemptTimestamps::default()
            },
            admission: AdmissionFacts::default(),
            reached: Phase::Begun,
            verdict: None,
        }
    }

    /// Takes one step; false where the phase does not allow it.
    pub(crate) fn advance(&mut self, event: Event, now_ns: u64) -> bool {
        let Some(next) = self.phase.after(event) else {
            return false;
        };
        let at = match event {
            Event::Plan => &mut self.at.planned_at_ns,
            Event::Claim => &mut self.at.claimed_at_ns,
            Event::Admit => &mut self.at.granted_at_ns,
            Event::End => &mut self.at.ended_at_ns,
            Event::Seal => &mut self.at.sealed_at_ns,
            Event::Publish => {
                self.phase = next;
                return true;
            }
        };
        *at = Some(now_ns);
        self.phase = next;
        true
    }

    /// Fixes the outcome; false if it was fixed before.
    pub(crate) fn end(&mut self, verdict: &Verdict, now_ns: u64) -> bool {
        let reached = self.phase;
        if !self.advance(Event::End, now_ns) {
            return false;
        }
        self.reached = reached;
        self.verdict = Some(verdict.clone());
        true
    }

    /// The outcome was fixed.
    pub(crate) fn has_ended(&self) -> bool {
        self.verdict.is_some()
    }

    /// What ended it, once it has ended.
    pub(crate) fn outcome(&self) -> Outcome {
        self.verdict
            .as_ref()
            .map_or(Outcome::Unknown, Verdict::outcome)
    }

    /// The code of the error that it ended with.
    pub(crate) fn error_code(&self) -> Option<ErrorCode> {
        let verdict = self.verdict.as_ref()?;
        verdict.error.as_ref().map(Error::code)
    }

    /// Seals the report.
    pub(crate) fn seal(
        &mut self,
        backend: GpuBackendCoreIdentity,
        cleanup: CleanupDisposition,
        capacity: CapacityDisposition,
        found: CleanupFacts,
        observation_losses: u64,
        now_ns: u64,
    ) -> QueryAttemptReport {
        self.advance(Event::Seal, now_ns);
        self.at.first_work_at_ns = found.first_work_at_ns;
        let error = self.verdict.as_ref().and_then(|why| why.error.as_ref());
        QueryAttemptReport {
            schema_version: REPORT_SCHEMA_VERSION,
            backend,
            attempt: self.id,
            disposition: disposition(self.reached, self.outcome()),
            outcome: self.outcome(),
            first_failure: error.map(Failure::from),
            cleanup_failures: found.failures,
            retry_after_ns: error
                .and_then(Error::retry_after)
                .map(crate::clock::whole_ns),
            correlation: self.correlation.take(),
            tenant: self.tenant.take(),
            priority: self.priority,
            admission: self.admission.clone(),
            timestamps: self.at.clone(),
            cleanup,
            capacity,
            health: found.health,
            memory: found.memory,
            lanes: found.lanes,
            observation_losses,
        }
    }
}

fn disposition(reached: Phase, outcome: Outcome) -> Disposition {
    match (reached, outcome) {
        (Phase::Begun, _) => Disposition::Unplanned,
        (Phase::Planned | Phase::Claimed, _) => Disposition::Fallback,
        (_, Outcome::Succeeded) => Disposition::Native,
        _ => Disposition::Partial,
    }
}
