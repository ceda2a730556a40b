//! Ranges of mapped memory that a flush or an invalidation may name.

/// A part of one memory object that belongs to one buffer alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Plot {
    /// Its first byte in the memory object; a multiple of the atom.
    pub(in super::super) start: u64,
    /// Its length: a multiple of the atom, or up to the object's end.
    pub(in super::super) bytes: u64,
}

impl Plot {
    /// Widens `offset..offset + bytes` of the plot to the atom, a power of two,
    /// and clamps it to the plot; as offset in the memory object and length.
    pub(in super::super) fn widened(self, offset: u64, bytes: u64, atom: u64) -> (u64, u64) {
        let first = offset.min(self.bytes) & !(atom - 1);
        let end = offset
            .saturating_add(bytes)
            .checked_next_multiple_of(atom)
            .map_or(self.bytes, |end| end.min(self.bytes));
        (self.start + first, end.saturating_sub(first))
    }
}

#[cfg(all(test, not(runtime_loom)))]
mod tests;
