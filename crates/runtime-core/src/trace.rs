//! A bounded record of what ran when.

use std::collections::VecDeque;
use std::time::Duration;

use runtime_sync::Mutex;
use runtime_sync::unmodelled::Arc;

use crate::lane::Lane;

/// What a record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TraceKind {
    /// A region of a submission.
    Region,
    /// A stage of a native session.
    Stage,
}

/// One piece of work on one lane. Times count from the start of the runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceRecord {
    /// What it is about.
    pub kind: TraceKind,
    /// The number of the submission or stage; regions of one submission share it.
    pub id: u64,
    /// The lane that it ran on.
    pub lane: Lane,
    /// The label of the graph or session.
    pub label: Arc<str>,
    /// When it asked to run.
    pub asked_at: Duration,
    /// When the driver accepted it, or the stage was admitted.
    pub started_at: Duration,
    /// When the host saw its end; for a stage, after its fence.
    pub ended_at: Duration,
    /// A region's submission did not succeed; or a stage's fence failed, or the
    /// stage panicked. Never a client error.
    pub failed: bool,
}

/// A copy of the record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    /// The newest records, oldest first.
    pub records: Vec<TraceRecord>,
    /// How many older ones had to make room.
    pub dropped: u64,
}

#[derive(Debug)]
pub(crate) struct Recorder {
    capacity: usize,
    ring: Mutex<Ring>,
}

#[derive(Debug, Default)]
struct Ring {
    records: VecDeque<TraceRecord>,
    dropped: u64,
}

impl Recorder {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            ring: Mutex::new(Ring {
                records: VecDeque::with_capacity(capacity),
                dropped: 0,
            }),
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.capacity > 0
    }

    pub(crate) fn push(&self, record: TraceRecord) {
        if !self.is_on() {
            return;
        }
        let mut ring = self.ring.lock();
        let oldest = if ring.records.len() == self.capacity {
            ring.dropped += 1;
            ring.records.pop_front()
        } else {
            None
        };
        ring.records.push_back(record);
        drop(ring);
        drop(oldest);
    }

    pub(crate) fn snapshot(&self) -> Trace {
        let ring = self.ring.lock();
        Trace {
            records: ring.records.iter().cloned().collect(),
            dropped: ring.dropped,
        }
    }
}
