//! What the book tells metrics: events as they happen, and one instant's facts.

use super::entry::{Carried, Stage};
use super::{Book, count};
use crate::admission::ledger::Account;
use crate::attempt::AttemptFacts;
use crate::error::{ErrorCode, ErrorKind};
use crate::report::{Outcome, Priority};
use backend_metrics::{
    Band, DeviceFacts, DeviceHealth, DeviceOrdinal, Ending, QuarantineCause, QueueReason, Recorder,
    Refusal, SessionFacts, TicketFacts,
};
use std::time::Duration;

/// Priority bands of the metrics.
pub(crate) const BANDS: u8 = 3;

impl<C: Carried> Book<C> {
    /// The facts of this instant, which is an event of its own.
    pub(crate) fn facts(&mut self, now_ns: u64) -> SessionFacts {
        self.tick(now_ns);
        let mut facts = SessionFacts::default();
        facts.generation = self.event;
        facts.tickets = self.tickets();
        facts.queue.bytes = self.line.queued_bytes();
        facts.queue.oldest_age_ns = self
            .line
            .oldest_since_ns()
            .map(|since_ns| self.now_ns.saturating_sub(since_ns));
        for (_, waiting) in self.line.iter() {
            let Some(entry) = self.entries.get(&waiting.attempt) else {
                continue;
            };
            let reason = self.reason(waiting);
            facts.queue.add(band(entry.facts.priority), reason, 1);
        }
        facts.devices = self.accounts().map(device_facts).collect();
        for entry in self.entries.values() {
            let stage = entry.ticket.as_ref().map(|ticket| ticket.stage);
            if let Some(Stage::Quarantined(grant)) = stage
                && let Some(device) = facts.devices.get_mut(grant.device.place())
            {
                device.add_quarantined(QuarantineCause::ProofLimit, 1);
            }
        }
        facts
    }

    fn tickets(&self) -> TicketFacts {
        let mut tickets = TicketFacts::default();
        tickets.submitted = self.tally.submitted;
        tickets.ended = self.tally.ended;
        tickets.queued = count(self.line.depth());
        for entry in self.entries.values() {
            match entry.ticket.as_ref().map(|ticket| ticket.stage) {
                Some(Stage::Granted(_)) => tickets.granted += 1,
                Some(Stage::Running(_) | Stage::Ending(_) | Stage::Settling(_)) => {
                    tickets.running += 1;
                }
                Some(Stage::Quarantined(_)) => tickets.quarantined += 1,
                Some(Stage::Queued) | None => {}
            }
        }
        tickets
    }

    fn reason(&self, waiting: &crate::admission::line::Waiting) -> QueueReason {
        let hopeful = self.ledger.hopeful(waiting.bytes, waiting.devices);
        if hopeful.is_empty() {
            return QueueReason::Device;
        }
        let accounts = || {
            self.ledger
                .devices()
                .filter(|(device, _)| hopeful.contains(*device))
                .map(|(_, account)| account)
        };
        let has_bytes = |account: &Account| {
            account.free_bytes() >= i64::try_from(waiting.bytes).unwrap_or(i64::MAX)
        };
        if !accounts().any(has_bytes) {
            return QueueReason::Bytes;
        }
        if accounts().any(|account| has_bytes(account) && account.running < account.most_running) {
            return QueueReason::Turn;
        }
        QueueReason::Places
    }
}

/// Records a grant and the wait for it.
pub(super) fn record_grant(recorder: &Recorder, facts: &AttemptFacts) {
    let wait = span(facts.at.queued_at_ns, facts.at.granted_at_ns);
    recorder.granted(band(facts.priority), wait);
}

/// Records the end of a request; an attempt that made none is no request.
pub(super) fn record_end(recorder: &Recorder, facts: &AttemptFacts) {
    if facts.admission.requested_bytes.is_none() {
        return;
    }
    let band = band(facts.priority);
    if let Some(device) = facts.admission.device {
        let ran = span(facts.at.granted_at_ns, facts.at.ended_at_ns);
        recorder.ended(ending(facts), band, DeviceOrdinal(device), ran);
    } else if let Some(refusal) = refusal(facts) {
        let wait = span(facts.at.queued_at_ns, facts.at.ended_at_ns);
        recorder.refused(refusal, band, wait);
    }
}

fn span(from_ns: Option<u64>, until_ns: Option<u64>) -> Duration {
    match (from_ns, until_ns) {
        (Some(from), Some(until)) => Duration::from_nanos(until.saturating_sub(from)),
        _ => Duration::ZERO,
    }
}

fn band(priority: Priority) -> Band {
    Band(match priority {
        Priority::Interactive => 0,
        Priority::Normal => 1,
        Priority::Background => 2,
    })
}

fn ending(facts: &AttemptFacts) -> Ending {
    match facts.outcome() {
        Outcome::Succeeded => Ending::Succeeded,
        Outcome::Panicked => Ending::Panicked,
        Outcome::Cancelled => Ending::CallerCancelled,
        Outcome::Closed => Ending::BackendClosing,
        Outcome::TimedOut => Ending::ExecutionElapsed,
        Outcome::Dropped if facts.error_code() == Some(ErrorCode::GrantUnclaimed) => {
            Ending::ClaimElapsed
        }
        Outcome::Dropped => Ending::Dropped,
        Outcome::Failed | Outcome::Rejected | Outcome::Expired | Outcome::Unknown => Ending::Failed,
    }
}

fn refusal(facts: &AttemptFacts) -> Option<Refusal> {
    let code = facts.error_code()?;
    Some(match (code, code.kind()) {
        (ErrorCode::BackendClosing, _) => Refusal::BackendClosing,
        (ErrorCode::AdmissionClosed, _) => Refusal::AdmissionClosed,
        (ErrorCode::AdmissionQueueFull, _) => Refusal::AdmissionQueueFull,
        (ErrorCode::QueueWaitElapsed, _) => Refusal::QueueWaitElapsed,
        (_, ErrorKind::NeverFits) => Refusal::NeverFits,
        (_, ErrorKind::Capability) => Refusal::Capability,
        (_, ErrorKind::Unhealthy) => Refusal::Unhealthy,
        (ErrorCode::CallerCancelled, _) => Refusal::CallerCancelled,
        _ => Refusal::Dropped,
    })
}

fn device_facts(account: &Account) -> DeviceFacts {
    let ordinal = DeviceOrdinal(account.ordinal);
    let mut facts = DeviceFacts::new(ordinal, String::new(), account.capacity_bytes);
    facts.health = if account.is_open {
        DeviceHealth::Open
    } else {
        DeviceHealth::ClosedDeviceLocal
    };
    facts.generation = account.generation;
    facts.free_bytes = account.free_bytes();
    facts.granted_bytes = account.granted_bytes;
    facts.resident_bytes = account.resident_bytes;
    facts.retained_bytes = account.retained_bytes;
    facts.quarantined_bytes = account.quarantined_bytes;
    facts.running_attempts = u64::from(account.running);
    facts
}
