//! Which attempt is arranged to end how.
//!
//! The arrangement depends on an attempt's number alone, so a run of the same
//! options always makes the same reports, whatever the machine's speed.

use std::fmt;

use backend_session::{ErrorCode, Outcome};

use crate::queries::Query;

#[cfg(test)]
mod tests;

/// What is arranged for an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// Takes the whole capacity, so that others wait; then runs a query.
    Holder,
    /// Runs a query.
    Runs(Query),
    /// Runs a query, though nobody waits for its report.
    Abandoned(Query),
    /// Runs a stage of the classifier.
    Classifies,
    /// Waits behind the holder with too short a queue deadline.
    Expires,
    /// Is cancelled while it waits behind the holder.
    CancelledWaiting,
    /// Is cancelled after its query was submitted.
    CancelledRunning,
    /// Asks for more than the device can ever give.
    NeverFits,
    /// Allocates more than its grant, is refused, and gives up.
    Overdraws,
    /// Outlives its execution deadline.
    Overruns,
    /// Its owner is dropped while it runs.
    Dropped,
    /// Its owner's task panics while it runs.
    Panics,
    /// Has begun when the backend closes, and is never planned.
    Closed,
}

impl Arrangement {
    /// Every arrangement by its text, in the order of the document.
    pub(crate) const ALL: [Arrangement; 15] = [
        Arrangement::Runs(Query::Q1),
        Arrangement::Runs(Query::Q6),
        Arrangement::Holder,
        Arrangement::Abandoned(Query::Q1),
        Arrangement::Abandoned(Query::Q6),
        Arrangement::Classifies,
        Arrangement::Expires,
        Arrangement::CancelledWaiting,
        Arrangement::CancelledRunning,
        Arrangement::NeverFits,
        Arrangement::Overdraws,
        Arrangement::Overruns,
        Arrangement::Dropped,
        Arrangement::Panics,
        Arrangement::Closed,
    ];

    /// The arrangement of the attempt with this number. Number 0 holds the
    /// capacity; of the others half run a query and every 22nd is of each
    /// other arrangement.
    pub(crate) fn of(number: u32) -> Arrangement {
        let Some(place) = number.checked_sub(1) else {
            return Arrangement::Holder;
        };
        match place % 22 {
            1 => Arrangement::Expires,
            3 => Arrangement::CancelledWaiting,
            5 => Arrangement::NeverFits,
            7 => Arrangement::CancelledRunning,
            9 => Arrangement::Classifies,
            11 => Arrangement::Abandoned(Query::Q1),
            13 => Arrangement::Abandoned(Query::Q6),
            15 => Arrangement::Overdraws,
            17 => Arrangement::Overruns,
            18 => Arrangement::Closed,
            19 => Arrangement::Dropped,
            21 => Arrangement::Panics,
            place if place % 4 == 0 => Arrangement::Runs(Query::Q1),
            _ => Arrangement::Runs(Query::Q6),
        }
    }

    /// Whether it has to be in the line while the holder keeps the capacity.
    pub(crate) fn waits(self) -> bool {
        matches!(self, Arrangement::Expires | Arrangement::CancelledWaiting)
    }

    /// The outcome and the first failure that its report must give.
    pub(crate) fn expected(self) -> (Outcome, Option<ErrorCode>) {
        match self {
            Arrangement::Holder
            | Arrangement::Runs(_)
            | Arrangement::Abandoned(_)
            | Arrangement::Classifies => (Outcome::Succeeded, None),
            Arrangement::Expires => (Outcome::Expired, Some(ErrorCode::QueueWaitElapsed)),
            Arrangement::CancelledWaiting | Arrangement::CancelledRunning => {
                (Outcome::Cancelled, Some(ErrorCode::CallerCancelled))
            }
            Arrangement::NeverFits => (Outcome::Rejected, Some(ErrorCode::NeverFits)),
            Arrangement::Overdraws => (Outcome::Failed, Some(ErrorCode::ClientFailed)),
            Arrangement::Overruns => (Outcome::TimedOut, Some(ErrorCode::ExecutionDeadlineElapsed)),
            Arrangement::Dropped => (Outcome::Dropped, Some(ErrorCode::AttemptDropped)),
            Arrangement::Panics => (Outcome::Panicked, Some(ErrorCode::AttemptPanicked)),
            Arrangement::Closed => (Outcome::Closed, Some(ErrorCode::BackendClosing)),
        }
    }

    /// The name that the attempt with this number carries into its report.
    pub(crate) fn correlation(self, number: u32) -> String {
        format!("{number}: {self}")
    }

    /// Whether a report with this name is of an attempt that this was arranged
    /// for.
    pub(crate) fn is_of(self, correlation: Option<&str>) -> bool {
        let text = correlation.and_then(|name| name.split_once(": "));
        text.is_some_and(|(_, text)| text == self.text())
    }

    /// What is arranged, in words.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Arrangement::Holder => "holds all, then runs Q6",
            Arrangement::Runs(Query::Q1) => "runs Q1",
            Arrangement::Runs(Query::Q6) => "runs Q6",
            Arrangement::Abandoned(Query::Q1) => "runs Q1, receiver dropped",
            Arrangement::Abandoned(Query::Q6) => "runs Q6, receiver dropped",
            Arrangement::Classifies => "runs a classifier stage",
            Arrangement::Expires => "queue deadline too short",
            Arrangement::CancelledWaiting => "cancelled while queued",
            Arrangement::CancelledRunning => "cancelled while running",
            Arrangement::NeverFits => "too large to ever fit",
            Arrangement::Overdraws => "allocates over its grant",
            Arrangement::Overruns => "outlives its execution deadline",
            Arrangement::Dropped => "owner dropped while running",
            Arrangement::Panics => "owner panics while running",
            Arrangement::Closed => "begun, then the backend closes",
        }
    }
}

impl fmt::Display for Arrangement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
