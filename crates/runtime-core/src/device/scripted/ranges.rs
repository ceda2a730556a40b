//! Sets of byte ranges, and what conflicts in them. Pure.

use std::collections::BTreeMap;
use std::ops::Range;

/// Disjoint byte ranges in rising order, none empty, none touching the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RangeSet {
    ranges: Vec<Range<u64>>,
}

impl RangeSet {
    pub(super) fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let from = self.ranges.partition_point(|have| have.end < range.start);
        let to = self.ranges.partition_point(|have| have.start <= range.end);
        let touched = self.ranges.get(from..to).unwrap_or_default();
        let start = touched
            .first()
            .map_or(range.start, |first| first.start.min(range.start));
        let end = touched
            .last()
            .map_or(range.end, |last| last.end.max(range.end));
        self.ranges.splice(from..to, std::iter::once(start..end));
    }

    pub(super) fn remove(&mut self, range: &Range<u64>) {
        if range.is_empty() {
            return;
        }
        let from = self.ranges.partition_point(|have| have.end <= range.start);
        let to = self.ranges.partition_point(|have| have.start < range.end);
        let touched = self.ranges.get(from..to).unwrap_or_default();
        let left = touched.first().map(|first| first.start..range.start);
        let right = touched.last().map(|last| range.end..last.end);
        let rest: Vec<_> = left
            .into_iter()
            .chain(right)
            .filter(|part| !part.is_empty())
            .collect();
        self.ranges.splice(from..to, rest);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.ranges.iter().cloned()
    }

    /// The parts of the set inside `window`.
    pub(super) fn within(&self, window: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let from = self.ranges.partition_point(|have| have.end <= window.start);
        self.ranges
            .iter()
            .skip(from)
            .take_while({
                let end = window.end;
                move |have| have.start < end
            })
            .map(move |have| have.start.max(window.start)..have.end.min(window.end))
            .filter(|part| !part.is_empty())
    }

    /// The first byte of `window` in the set.
    pub(super) fn first_within(&self, window: Range<u64>) -> Option<u64> {
        self.within(window).next().map(|part| part.start)
    }

    /// The first byte in both sets.
    pub(super) fn first_shared(&self, other: &Self) -> Option<u64> {
        let (mut ours, mut theirs) = (
            self.ranges.iter().peekable(),
            other.ranges.iter().peekable(),
        );
        while let (Some(one), Some(two)) = (ours.peek(), theirs.peek()) {
            let start = one.start.max(two.start);
            if start < one.end.min(two.end) {
                return Some(start);
            }
            if one.end <= two.end {
                ours.next();
            } else {
                theirs.next();
            }
        }
        None
    }
}

/// Which bytes of a memory are read and written.
#[derive(Debug, Clone, Default)]
pub(super) struct Touched {
    pub(super) reads: RangeSet,
    pub(super) writes: RangeSet,
}

/// Which bytes of which memories some commands read and write.
#[derive(Debug, Clone, Default)]
pub(super) struct Accesses {
    memories: BTreeMap<u64, Touched>,
}

impl Accesses {
    pub(super) fn read(&mut self, memory: u64, range: Range<u64>) {
        self.memories.entry(memory).or_default().reads.insert(range);
    }

    pub(super) fn write(&mut self, memory: u64, range: Range<u64>) {
        self.memories
            .entry(memory)
            .or_default()
            .writes
            .insert(range);
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (memory, touched) in &other.memories {
            let entry = self.memories.entry(*memory).or_default();
            touched
                .reads
                .iter()
                .for_each(|range| entry.reads.insert(range));
            touched
                .writes
                .iter()
                .for_each(|range| entry.writes.insert(range));
        }
    }

    pub(super) fn memory(&self, memory: u64) -> Option<&Touched> {
        self.memories.get(&memory)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Touched)> {
        self.memories
            .iter()
            .map(|(memory, touched)| (*memory, touched))
    }

    /// The first byte, of any memory, that both touch and one of them writes.
    pub(super) fn conflict(&self, other: &Self) -> Option<u64> {
        self.memories.iter().find_map(|(memory, ours)| {
            let theirs = other.memories.get(memory)?;
            [
                ours.writes.first_shared(&theirs.writes),
                ours.writes.first_shared(&theirs.reads),
                ours.reads.first_shared(&theirs.writes),
            ]
            .into_iter()
            .flatten()
            .min()
        })
    }
}
