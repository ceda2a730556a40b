//! The host's image of a buffer: bytes at a stable address.
//!
//! The address leaves the device as a [`HostSpan`], and whoever uses it does so
//! through raw pointers. SAFETY.md rule S31 binds them: host accesses through a
//! span exclude, on the same bytes widened to the atom, every flush,
//! invalidate and accepted work that conflicts. Under that rule the accesses
//! here, which only happen in flush, invalidate, submit and the run of accepted
//! work, race with none of them; among themselves they are ordered by the
//! device's state lock.

#![expect(
    unsafe_code,
    reason = "host bytes are shared with raw pointers that the runtime holds"
)]

use std::cell::UnsafeCell;
use std::ops::Range;
use std::ptr::NonNull;

use crate::device::HostSpan;

/// As much alignment as mappings of real drivers promise.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Block([u8; Block::BYTES]);

impl Block {
    const BYTES: usize = 64;
}

/// Bytes whose address stays the same for their whole life.
pub(super) struct HostImage {
    blocks: Box<[UnsafeCell<Block>]>,
    bytes: usize,
}

// SAFETY: S31, as the module says: all accesses through the cells are ordered
// by the device's state lock, or by the promises of those who use the span.
unsafe impl Send for HostImage {}
// SAFETY: S31, as for `Send`.
unsafe impl Sync for HostImage {}

impl HostImage {
    /// `bytes` bytes of `filler`, or nothing when the host has no memory.
    pub(super) fn new(bytes: usize, filler: u8) -> Option<Self> {
        let count = bytes.div_ceil(Block::BYTES);
        let mut blocks = Vec::new();
        blocks.try_reserve_exact(count).ok()?;
        blocks.resize_with(count, || UnsafeCell::new(Block([filler; Block::BYTES])));
        Some(Self {
            blocks: blocks.into_boxed_slice(),
            bytes,
        })
    }

    pub(super) fn span(&self) -> HostSpan {
        HostSpan {
            start: NonNull::from(&*self.blocks).cast(),
            bytes: self.bytes,
        }
    }

    /// Copies `range` into `target`, which has the same length.
    pub(super) fn read(&self, range: Range<usize>, target: &mut [u8]) {
        let start = self.checked(&range, target.len());
        // SAFETY: S31; `start` is the first of `target.len()` bytes inside the
        // blocks, and `target` is exclusively borrowed, so they do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(start, target.as_mut_ptr(), target.len()) }
    }

    /// Copies `source` over `range`, which has the same length.
    pub(super) fn write(&self, range: Range<usize>, source: &[u8]) {
        let start = self.checked(&range, source.len());
        // SAFETY: S31; `start` is the first of `source.len()` bytes inside the
        // blocks, which are cells, and `source` lies elsewhere.
        unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), start, source.len()) }
    }

    /// Fills `range` with one byte.
    pub(super) fn fill(&self, range: Range<usize>, byte: u8) {
        let start = self.checked(&range, range.len());
        // SAFETY: S31; `start` is the first of `range.len()` bytes inside the
        // blocks, which are cells.
        unsafe { std::ptr::write_bytes(start, byte, range.len()) }
    }

    fn checked(&self, range: &Range<usize>, length: usize) -> *mut u8 {
        assert!(
            range.start <= range.end && range.end <= self.bytes && range.len() == length,
            "host bytes {range:?} of {} do not match {length}",
            self.bytes
        );
        let start = self.span().start.as_ptr();
        // SAFETY: S31: the assertion keeps the offset within the blocks.
        unsafe { start.add(range.start) }
    }
}
