//! All that the device's lock protects.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use runtime_sync::unmodelled::Arc;

use super::memory::Memory;
use super::misuse::Misuse;
use super::region::RegionBody;
use super::script::Script;
use super::timeline::{Pending, Timelines};
use crate::device::{DeviceFault, Leading, Point, QueueIndex};
use crate::lane::Lane;

/// Misuses kept; later ones are dropped.
const MOST_MISUSES: usize = 1024;

/// One submission, as a log tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogEntry {
    /// The lane of its region.
    pub lane: Lane,
    /// The queue that carried it.
    pub queue: QueueIndex,
    /// Its value on the queue's timeline.
    pub value: u64,
    /// The region's label.
    pub label: Arc<str>,
    /// Whether it began with a memory barrier.
    pub leading: Leading,
    /// The points it waited for.
    pub waits: Vec<Point>,
}

impl LogEntry {
    pub(super) fn of(pending: &Pending) -> Self {
        Self {
            lane: pending.body.lane,
            queue: pending.body.queue,
            value: pending.value,
            label: pending.body.label.clone(),
            leading: pending.leading,
            waits: pending.waits.clone(),
        }
    }
}

/// What is alive of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Live {
    /// The device itself has not been dropped.
    pub device: bool,
    /// Buffers.
    pub buffers: usize,
    /// Their bytes.
    pub buffer_bytes: u64,
    /// Kernels.
    pub kernels: usize,
    /// Regions.
    pub regions: usize,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) timelines: Timelines,
    pub(super) script: Script,
    pub(super) lost: bool,
    pub(super) live: Live,
    pub(super) heap_used: Vec<u64>,
    pub(super) executed: VecDeque<LogEntry>,
    pub(super) log_capacity: usize,
    misuses: Vec<Misuse>,
    memories: BTreeMap<u64, Memory>,
    last_id: u64,
}

impl State {
    pub(super) fn new(queues: usize, heaps: usize, log_capacity: usize) -> Self {
        Self {
            timelines: Timelines::new(queues),
            script: Script::default(),
            lost: false,
            live: Live {
                device: true,
                buffers: 0,
                buffer_bytes: 0,
                kernels: 0,
                regions: 0,
            },
            heap_used: vec![0; heaps],
            executed: VecDeque::new(),
            log_capacity,
            misuses: Vec::new(),
            memories: BTreeMap::new(),
            last_id: 0,
        }
    }

    /// Counts a misuse and makes it the answer.
    pub(super) fn caught(&mut self, misuse: Misuse) -> DeviceFault {
        if self.misuses.len() < MOST_MISUSES {
            self.misuses.push(misuse.clone());
        }
        DeviceFault::Misuse(misuse)
    }

    pub(super) fn misuses(&self) -> &[Misuse] {
        &self.misuses
    }

    pub(super) fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Keeps a new memory and returns its identity.
    pub(super) fn keep(&mut self, memory: Memory) -> u64 {
        let id = self.new_id();
        self.live.buffers += 1;
        self.live.buffer_bytes += memory.bytes();
        if let Some(used) = self.heap_used.get_mut(memory.heap) {
            *used += memory.bytes();
        }
        self.memories.insert(id, memory);
        id
    }

    pub(super) fn free(&mut self, id: u64) {
        let Some(memory) = self.memories.remove(&id) else {
            return;
        };
        self.live.buffers -= 1;
        self.live.buffer_bytes -= memory.bytes();
        if let Some(used) = self.heap_used.get_mut(memory.heap) {
            *used -= memory.bytes();
        }
        if let Some((region, _)) = self.unreached_use(id, &(0..memory.bytes()), true) {
            self.caught(Misuse::BufferDropped {
                buffer: memory.label,
                region,
            });
        }
    }

    pub(super) fn memory(&mut self, id: u64) -> Result<&mut Memory, Misuse> {
        self.memories.get_mut(&id).ok_or(Misuse::ForeignObject)
    }

    /// Checks that the host flushed what a region reads.
    pub(super) fn check_flushed(&self, body: &RegionBody) -> Result<(), Misuse> {
        for (id, touched) in body.all.iter() {
            let Some(memory) = self.memories.get(&id) else {
                continue;
            };
            let mut reads = touched.reads.iter();
            if let Some(offset) = reads.find_map(|range| memory.first_unflushed(&range)) {
                return Err(Misuse::MissingFlush {
                    region: body.label.clone(),
                    offset,
                });
            }
        }
        Ok(())
    }

    /// The first accepted, unreached work that writes, or also reads, bytes of
    /// a memory, with the first such byte.
    pub(super) fn unreached_use(
        &self,
        memory: u64,
        range: &Range<u64>,
        reads_too: bool,
    ) -> Option<(Arc<str>, u64)> {
        self.timelines.unreached().find_map(|pending| {
            let touched = pending.body.all.memory(memory)?;
            let written = touched.writes.first_within(range.clone());
            let read = touched.reads.first_within(range.clone());
            let first = written.or(read.filter(|_| reads_too))?;
            Some((pending.body.label.clone(), first))
        })
    }

    /// Ends the running submission of a queue: its point is reached.
    pub(super) fn finish(&mut self, queue: QueueIndex) {
        let Some(done) = self.timelines.finish(queue) else {
            return;
        };
        if done.body.read_by_host {
            for (id, touched) in done.body.all.iter() {
                let Some(memory) = self.memories.get_mut(&id) else {
                    continue;
                };
                touched
                    .writes
                    .iter()
                    .for_each(|range| memory.barrier_to_host(&range));
            }
        }
        if self.log_capacity > 0 {
            if self.executed.len() == self.log_capacity {
                self.executed.pop_front();
            }
            self.executed.push_back(LogEntry::of(&done));
        }
    }
}
