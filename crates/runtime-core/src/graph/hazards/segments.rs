//! The segments of one buffer.

use std::collections::BTreeMap;
use std::ops::{Bound, Range};

use smallvec::SmallVec;

use super::Access;

/// After so many accesses across a boundary without one at it, it heals. High
/// enough that a repeated graph keeps its boundaries from one run to the next,
/// so that it need not cut (and allocate) again.
const PASSES: u8 = 16;

/// Segments by their first byte.
#[derive(Debug)]
pub(super) struct Segments<R> {
    by_start: BTreeMap<u64, Segment<R>>,
}

/// Bytes with one history.
#[derive(Debug, Clone)]
struct Segment<R> {
    /// One past the last byte.
    end: u64,
    /// Who wrote the bytes last.
    writer: Option<R>,
    /// Who read them since, without the writer itself.
    readers: SmallVec<[R; 2]>,
    /// Accesses that passed over its first byte since one began or ended there.
    passes: u8,
}

impl<R> Default for Segments<R> {
    fn default() -> Self {
        Self {
            by_start: BTreeMap::new(),
        }
    }
}

impl<R: Copy + Ord> Segments<R> {
    pub(super) fn len(&self) -> usize {
        self.by_start.len()
    }

    /// Adds to `found` what must precede, and the access to the history.
    /// `range` is not empty.
    pub(super) fn access(
        &mut self,
        range: Range<u64>,
        access: Access,
        region: R,
        is_live: &impl Fn(R) -> bool,
        found: &mut Vec<R>,
    ) {
        self.cut(range.start);
        self.cut(range.end);
        let mut at = range.start;
        while at < range.end {
            let next = self.by_start.range_mut(at..range.end).next();
            let gap_end = match next {
                Some((&start, segment)) if start == at => {
                    segment.conflicts(access, region, is_live, found);
                    segment.record(access, region, is_live);
                    at = segment.end;
                    continue;
                }
                Some((&start, _)) => start,
                None => range.end,
            };
            let mut fresh = Segment::without_history(gap_end);
            fresh.record(access, region, is_live);
            self.by_start.insert(at, fresh);
            at = gap_end;
        }
        self.heal(range);
    }

    /// Drops what is not live, then segments without history, then boundaries
    /// between equal histories.
    pub(super) fn sweep(&mut self, is_live: &impl Fn(R) -> bool) {
        self.by_start.retain(|_, segment| {
            segment.prune(is_live);
            segment.writer.is_some() || !segment.readers.is_empty()
        });
        for segment in self.by_start.values_mut() {
            segment.passes = PASSES;
        }
        self.heal(0..u64::MAX);
    }

    /// Makes `at` a boundary, if it lies inside a segment, and marks it as used.
    fn cut(&mut self, at: u64) {
        if let Some((_, left)) = self.by_start.range_mut(..at).next_back()
            && left.end > at
        {
            let right = left.clone();
            left.end = at;
            self.by_start.insert(at, right);
        }
        if let Some(right) = self.by_start.get_mut(&at) {
            right.passes = 0;
        }
    }

    /// Counts a pass over each boundary inside `range` and joins the segments
    /// on both sides of one that is out of use, if their histories are equal.
    fn heal(&mut self, range: Range<u64>) {
        let Some((&first, _)) = self.by_start.range(range.clone()).next() else {
            return;
        };
        let mut left_start = first;
        loop {
            let inside = (Bound::Excluded(left_start), Bound::Excluded(range.end));
            let Some((&right_start, right)) = self.by_start.range_mut(inside).next() else {
                return;
            };
            right.passes = right.passes.saturating_add(1);
            let joined_end = (right.passes > PASSES).then_some(right.end);
            let joins = joined_end.is_some()
                && match (
                    self.by_start.get(&left_start),
                    self.by_start.get(&right_start),
                ) {
                    (Some(left), Some(right)) => {
                        left.end == right_start && left.has_history_of(right)
                    }
                    _ => false,
                };
            match (joined_end, self.by_start.get_mut(&left_start)) {
                (Some(end), Some(left)) if joins => {
                    left.end = end;
                    self.by_start.remove(&right_start);
                }
                _ => left_start = right_start,
            }
        }
    }
}

impl<R: Copy + Ord> Segment<R> {
    fn without_history(end: u64) -> Self {
        Self {
            end,
            writer: None,
            readers: SmallVec::new(),
            passes: 0,
        }
    }

    fn has_history_of(&self, other: &Self) -> bool {
        self.writer == other.writer && self.readers == other.readers
    }

    /// Adds to `found` who must precede the access. A region never precedes
    /// itself, but what preceded it once need not be found again.
    fn conflicts(
        &self,
        access: Access,
        region: R,
        is_live: &impl Fn(R) -> bool,
        found: &mut Vec<R>,
    ) {
        let mut covered = false;
        if access == Access::Write {
            for &reader in &self.readers {
                if reader == region {
                    covered = true;
                } else if is_live(reader) {
                    covered = true;
                    found.push(reader);
                }
            }
        }
        if let Some(writer) = self.writer
            && !covered
            && writer != region
            && is_live(writer)
        {
            found.push(writer);
        }
    }

    fn record(&mut self, access: Access, region: R, is_live: &impl Fn(R) -> bool) {
        match access {
            Access::Write => {
                self.writer = Some(region);
                // Keeps its capacity for the next run of the same graph.
                self.readers.clear();
            }
            // A region that reads what it wrote is found as the writer.
            Access::Read if self.writer == Some(region) => {}
            Access::Read => {
                if self.readers.last() != Some(&region) {
                    self.make_room(is_live);
                    self.readers.push(region);
                }
            }
        }
    }

    /// Prunes before the list would grow, and lets it grow when that freed less
    /// than half: so it holds at most twice the live readers, at a constant cost
    /// per read over time.
    fn make_room(&mut self, is_live: &impl Fn(R) -> bool) {
        let capacity = self.readers.capacity();
        if self.readers.len() < capacity {
            return;
        }
        self.prune(is_live);
        if self.readers.len() > capacity / 2 {
            self.readers.reserve(capacity);
        }
    }

    fn prune(&mut self, is_live: &impl Fn(R) -> bool) {
        self.writer = self.writer.filter(|&writer| is_live(writer));
        self.readers.retain(|reader| is_live(*reader));
        self.readers.sort_unstable();
        self.readers.dedup();
    }
}
