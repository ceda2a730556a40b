//! Counts what the reports say.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use backend_session::{AttemptBackendCountersSnapshot, ErrorCode, Outcome, QueryAttemptReport};
use runtime_core::Lane;

use crate::answers::Answer;
use crate::arrange::Arrangement;
use crate::document::{Abandoned, Kind, Runs, Times};
use crate::drive::Ended;
use crate::lanes::Piece;
use crate::latency::{Durations, Summary};
use crate::queries::Query;

#[cfg(test)]
mod tests;

pub(crate) type Report = Arc<QueryAttemptReport>;

/// Every report, those included that were taken from the abandoned queue.
pub(crate) fn reports(ended: &[Ended], abandoned: &[Report]) -> Vec<Report> {
    let awaited = ended.iter().filter_map(|one| one.report.clone());
    awaited.chain(abandoned.iter().cloned()).collect()
}

/// Attempts by what was arranged for them.
pub(crate) fn kinds(ended: &[Ended], reports: &[Report]) -> Vec<Kind> {
    let kinds = Arrangement::ALL.into_iter().map(|arrangement| {
        let arranged = ended.iter().filter(|one| one.arrangement == arrangement);
        let endings: Vec<_> = reports
            .iter()
            .filter(|report| arrangement.is_of(report.correlation.as_deref()))
            .map(|report| ending(report))
            .collect();
        kind(arrangement, arranged.count(), &endings)
    });
    kinds.filter(|kind| kind.count > 0).collect()
}

type ReportEnding = (Outcome, Option<ErrorCode>);

fn kind(arrangement: Arrangement, arranged: usize, endings: &[ReportEnding]) -> Kind {
    let expected = arrangement.expected();
    let as_expected = endings.iter().filter(|ending| **ending == expected).count();
    let texts: BTreeSet<_> = endings.iter().map(ending_text).collect();
    Kind {
        arranged: arrangement.text(),
        report: texts.into_iter().collect::<Vec<_>>().join(", "),
        count: arranged as u64,
        ended_otherwise: arranged.abs_diff(as_expected) as u64,
    }
}

fn ending(report: &QueryAttemptReport) -> ReportEnding {
    (
        report.outcome,
        report.first_failure.as_ref().map(|failure| failure.code),
    )
}

fn ending_text((outcome, code): &ReportEnding) -> String {
    let outcome = serde_json::to_value(outcome);
    let outcome = outcome
        .as_ref()
        .ok()
        .and_then(|word| word.as_str())
        .unwrap_or("unknown");
    match code {
        Some(code) => format!("{outcome}: {code}"),
        None => outcome.to_owned(),
    }
}

/// What the runs of a query gave, beside the CPU's exact sums.
pub(crate) fn runs(ended: &[Ended], query: Query, cpu: &Answer) -> Runs {
    let mut runs = Runs::default();
    let answers = ended.iter().filter_map(|one| one.answer.as_ref());
    for (_, answer) in answers.filter(|(answered, _)| *answered == query) {
        let is_right = answer == cpu;
        if is_right {
            runs.right += 1;
        } else {
            runs.wrong += 1;
        }
        if runs.shown.is_none() || (!is_right && runs.wrong == 1) {
            runs.shown = Some(answer.table());
        }
    }
    runs
}

/// Distributions over all reports and all work of the lanes.
pub(crate) fn times(reports: &[Report], pieces: &[Piece]) -> Vec<Times> {
    let times = |of: &str, durations: Durations| Times {
        of: of.to_owned(),
        summary: durations.summary(),
    };
    let waits = reports
        .iter()
        .filter_map(|report| report.admission_wait_ns());
    let executions = reports.iter().filter_map(|report| execution(report));
    let mut all = vec![
        times("queue wait", waits.map(Duration::from_nanos).collect()),
        times("execution", executions.collect()),
    ];
    for lane in Lane::ALL {
        let on_lane = pieces.iter().filter(|piece| piece.lane == lane);
        let occupied: Durations = on_lane.map(Piece::occupied).collect();
        all.push(times(&format!("{lane} lane"), occupied));
    }
    all.retain(|times| times.summary.count > 0);
    all
}

/// Time that the compute lane took for the runs of a query.
pub(crate) fn lane_time(pieces: &[Piece], query: Query) -> Summary {
    let of_query = pieces.iter().filter(|piece| {
        piece.lane == Lane::Compute && piece.kind == "region" && piece.label == query.name()
    });
    let durations: Durations = of_query.map(Piece::occupied).collect();
    durations.summary()
}

/// Time from the grant to the end of the attempts that ran a query and
/// nothing else.
pub(crate) fn answer_time(reports: &[Report], query: Query) -> Summary {
    let arrangement = Arrangement::Runs(query);
    let of_query = reports
        .iter()
        .filter(|one| arrangement.is_of(one.correlation.as_deref()));
    let durations: Durations = of_query.filter_map(|report| execution(report)).collect();
    durations.summary()
}

/// What the queue of abandoned reports held, against the attempts whose
/// receiver was dropped.
pub(crate) fn abandoned(
    ended: &[Ended],
    taken: &[Report],
    counters: &AttemptBackendCountersSnapshot,
) -> Abandoned {
    let dropped = ended.iter().filter(|one| one.report.is_none()).count();
    let names = taken
        .iter()
        .map(|report| report.correlation.clone().unwrap_or_default());
    Abandoned {
        pushed: counters.completion_queue_pushed,
        overflowed: counters.completion_queue_overflowed,
        missing: dropped.abs_diff(taken.len()) as u64,
        taken: names.collect(),
    }
}

/// The most bytes that were granted at one time. A grant's bytes are held until
/// its report is sealed.
pub(crate) fn peak_granted(reports: &[Report]) -> u64 {
    let mut changes = Vec::new();
    for report in reports {
        let times = &report.timestamps;
        let bytes = report.admission.granted_bytes;
        if let (Some(bytes), Some(from), Some(until)) =
            (bytes, times.granted_at_ns, times.sealed_at_ns)
        {
            changes.push((from, true, bytes));
            changes.push((until, false, bytes));
        }
    }
    peak(changes)
}

/// The greatest sum of changes, each at a time: bytes that are taken (true) or
/// given back. What is given back makes room for what is taken in the same
/// instant.
fn peak(mut changes: Vec<(u64, bool, u64)>) -> u64 {
    changes.sort_unstable();
    let (mut held, mut peak) = (0u64, 0);
    for (_, is_taken, bytes) in changes {
        held = if is_taken {
            held + bytes
        } else {
            held.saturating_sub(bytes)
        };
        peak = peak.max(held);
    }
    peak
}

/// The most bytes that one attempt allocated.
pub(crate) fn peak_of_an_attempt(reports: &[Report]) -> u64 {
    reports
        .iter()
        .map(|report| report.memory.peak_bytes)
        .max()
        .unwrap_or(0)
}

fn execution(report: &QueryAttemptReport) -> Option<Duration> {
    let times = &report.timestamps;
    let ns = times.ended_at_ns?.saturating_sub(times.granted_at_ns?);
    Some(Duration::from_nanos(ns))
}
