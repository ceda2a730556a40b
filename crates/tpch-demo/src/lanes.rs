//! What each lane did, and when.
//!
//! The runtime records when the driver accepted a piece of work and when its
//! end was seen. A lane does one piece after the other, and the program's graphs
//! are chains, so a piece occupies its lane only from the end of the one before
//! it, on its lane and in its submission.

use std::collections::BTreeMap;
use std::time::Duration;

use runtime_core::{Lane, Trace, TraceKind};

#[cfg(test)]
pub(crate) mod tests;

/// One piece of work that occupied a lane. Times count from the runtime's start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) lane: Lane,
    pub(crate) label: String,
    /// `region` of a submission, or `stage` of a native session.
    pub(crate) kind: &'static str,
    /// The number of the submission or stage.
    pub(crate) id: u64,
    pub(crate) asked_at: Duration,
    pub(crate) started_at: Duration,
    pub(crate) ended_at: Duration,
    pub(crate) failed: bool,
}

impl Piece {
    /// How long it occupied its lane.
    pub(crate) fn occupied(&self) -> Duration {
        self.ended_at.saturating_sub(self.started_at)
    }
}

/// The pieces of a trace, in the order of their ends, none overlapping another
/// of its lane.
pub(crate) fn pieces(trace: &Trace) -> Vec<Piece> {
    let pieces = trace.records.iter().map(|record| Piece {
        lane: record.lane,
        label: record.label.to_string(),
        kind: match record.kind {
            TraceKind::Region => "region",
            TraceKind::Stage => "stage",
            _ => "other",
        },
        id: record.id,
        asked_at: record.asked_at,
        started_at: record.started_at,
        ended_at: record.ended_at,
        failed: record.failed,
    });
    one_after_the_other(pieces.collect())
}

fn one_after_the_other(mut pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.sort_by_key(|piece| (piece.ended_at, piece.lane));
    let mut lane_ends = BTreeMap::new();
    let mut chain_ends = BTreeMap::new();
    for piece in &mut pieces {
        let before = [
            lane_ends.insert(piece.lane, piece.ended_at),
            chain_ends.insert((piece.kind, piece.id), piece.ended_at),
        ];
        let earliest = before.into_iter().flatten().max().unwrap_or_default();
        piece.started_at = piece.started_at.max(earliest).min(piece.ended_at);
    }
    pieces
}
