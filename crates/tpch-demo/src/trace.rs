//! The lanes' work as a trace that Perfetto and chrome://tracing open: one track
//! for each lane, in the JSON form of trace events.

use std::time::Duration;

use runtime_core::Lane;
use serde_json::{Value, json};

use crate::lanes::Piece;

#[cfg(test)]
mod tests;

/// The trace document. `dropped` records had to make room for newer ones.
pub(crate) fn document(device: &str, pieces: &[Piece], dropped: u64) -> Value {
    let mut events = vec![json!({
        "ph": "M", "name": "process_name", "pid": 1, "args": { "name": device },
    })];
    for lane in Lane::ALL {
        events.push(json!({
            "ph": "M", "name": "thread_name", "pid": 1, "tid": track(lane),
            "args": { "name": format!("{lane} lane") },
        }));
    }
    events.extend(pieces.iter().map(event));
    json!({
        "displayTimeUnit": "ms",
        "otherData": { "dropped_records": dropped },
        "traceEvents": events,
    })
}

fn event(piece: &Piece) -> Value {
    json!({
        "ph": "X",
        "name": piece.label,
        "cat": piece.kind,
        "pid": 1,
        "tid": track(piece.lane),
        "ts": us(piece.started_at),
        "dur": us(piece.occupied()),
        "args": {
            "id": piece.id,
            "asked_us": us(piece.asked_at),
            "failed": piece.failed,
        },
    })
}

/// Tracks are numbered from one: some viewers hide track zero.
fn track(lane: Lane) -> usize {
    lane.index() + 1
}

fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
