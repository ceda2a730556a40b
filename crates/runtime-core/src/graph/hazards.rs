//! Hazards: which earlier work must precede an access to a range of bytes.
//!
//! The table keeps, per buffer, segments of bytes with one history each: the
//! last writer, and the readers since. An access asks the segments it covers
//! and becomes part of their history. Pure: it holds no lock and calls nobody
//! but the caller's own `is_live` and `found`.
//!
//! Invariant: segments of a buffer do not overlap and are not empty. Bytes
//! without a segment have no history.
//!
//! Why the last writer and the readers since are enough: an earlier access to
//! the byte was found by one of those when they came, so a path leads to it.
//! That holds only while a path cannot end early. Hence the one demand on the
//! caller: **a region may cease to be live only after all regions that were
//! found for it have.** A region that will never run (cancelled, refused by the
//! driver) stays live, as an empty step, until those it would have followed end.

#[cfg(all(test, not(runtime_loom)))]
mod props;
mod segments;
#[cfg(all(test, not(runtime_loom)))]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;

use segments::Segments;

/// What is done with a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Access {
    /// Its bytes are read; reads do not conflict with each other.
    Read,
    /// Its bytes are written, or read and written.
    Write,
}

/// The history of every buffer's bytes, as far as it still orders anything.
///
/// A call costs one tree look-up per segment that it covers. Boundaries that no
/// access used for a while are healed, and histories without a live region are
/// swept, so the table holds at most `max(64, 2 * n)` segments, `n` being those
/// with a live region at the last sweep. Repeating the same accesses allocates
/// nothing.
#[derive(Debug)]
pub(crate) struct HazardTable<R> {
    buffers: BTreeMap<u64, Segments<R>>,
    /// Segments of all buffers together.
    segments: usize,
    /// A sweep is due above this number of segments.
    sweep_above: usize,
    /// What one access found, kept for its capacity.
    found: Vec<R>,
}

/// A table this small is never swept.
const SMALL: usize = 64;

impl<R: Copy + Ord> HazardTable<R> {
    /// A table without history.
    pub(crate) fn new() -> Self {
        Self {
            buffers: BTreeMap::new(),
            segments: 0,
            sweep_above: SMALL,
            found: Vec::new(),
        }
    }

    /// Records that `region` accesses `range` of `buffer`, after calling `found`
    /// once for each other live region that must precede it there.
    ///
    /// Reduced per byte: a reader finds the last writer; a writer finds the
    /// readers since the last write, or else the last writer. What reaches
    /// `region` over several bytes may be found although another found region
    /// already follows it; that is all the slack there is, next to a region that
    /// reads a byte before it writes it, which finds for both.
    ///
    /// Reversed and empty ranges touch nothing.
    pub(crate) fn access(
        &mut self,
        buffer: u64,
        range: Range<u64>,
        access: Access,
        region: R,
        is_live: impl Fn(R) -> bool,
        found: &mut impl FnMut(R),
    ) {
        if range.is_empty() {
            return;
        }
        // Its caller may well make the region known only after this.
        let is_live = |asked: R| asked == region || is_live(asked);
        let segments = self.buffers.entry(buffer).or_default();
        let before = segments.len();
        segments.access(range, access, region, &is_live, &mut self.found);
        self.segments = self.segments + segments.len() - before;
        report(&mut self.found, found);
        if self.segments > self.sweep_above {
            self.sweep(is_live);
        }
    }

    /// Drops the history of a buffer that is gone.
    pub(crate) fn forget(&mut self, buffer: u64) {
        if let Some(segments) = self.buffers.remove(&buffer) {
            self.segments -= segments.len();
        }
    }

    /// Drops all history that orders nothing any more.
    fn sweep(&mut self, is_live: impl Fn(R) -> bool) {
        self.buffers.retain(|_, segments| {
            segments.sweep(&is_live);
            segments.len() > 0
        });
        self.segments = self.buffers.values().map(Segments::len).sum();
        self.sweep_above = SMALL.max(self.segments.saturating_mul(2));
    }
}

/// Hands each region on once and leaves the list empty.
fn report<R: Copy + Ord>(all: &mut Vec<R>, found: &mut impl FnMut(R)) {
    all.sort_unstable();
    all.dedup();
    all.drain(..).for_each(found);
}
