//! The columns on the device, and the kernels that scan them.
//!
//! They outlive every attempt, so they are charged to the runtime's own budget
//! and reserved on the backend beside the grants.

use bytemuck::cast_slice;
use runtime_core::device::MemoryPlacement;
use runtime_core::kernel::Wgsl;
use runtime_core::{Buffer, Dispatch, GraphBuilder, Kernel, Runtime, View};

use crate::columns::{Lineitem, Segment};
use crate::kernels::{q1, q6, words_per_tile};
use crate::queries::{Q1Predicate, Q6Predicate, Query};

#[cfg(test)]
mod tests;

/// Storage bindings begin at multiples of the greatest alignment that any
/// device may demand.
const BINDING_ALIGN: u64 = 256;

/// One segment's columns on the device.
#[derive(Debug)]
struct ResidentSegment {
    terms: Buffer,
    price_cents: Buffer,
    tiles: usize,
}

/// The table on the device, ready to be scanned.
#[derive(Debug)]
pub(crate) struct Resident {
    segments: Vec<ResidentSegment>,
    q1: Kernel,
    q6: Kernel,
}

impl Resident {
    /// Uploads the columns and builds the kernels. Blocks.
    ///
    /// The columns are charged to `reserved`, a view of a reservation; what
    /// uploading stages, and the kernels, are the runtime's own.
    pub(crate) fn upload(
        runtime: &Runtime,
        reserved: &Runtime,
        table: &Lineitem,
    ) -> runtime_core::Result<Resident> {
        let segments = table
            .segments
            .iter()
            .map(|segment| upload_segment(runtime, reserved, segment));
        let q1 = with_constants(
            Wgsl::new(q1::SOURCE).label("q1"),
            &q1::constants(&Q1Predicate::PUBLISHED),
        );
        let q6 = with_constants(
            Wgsl::new(q6::SOURCE).label("q6"),
            &q6::constants(&Q6Predicate::PUBLISHED),
        );
        Ok(Resident {
            segments: segments.collect::<runtime_core::Result<_>>()?,
            q1: runtime.kernel(q1)?,
            q6: runtime.kernel(q6)?,
        })
    }

    /// Bytes of partial sums that a query writes.
    pub(crate) fn partial_bytes(&self, query: Query) -> u64 {
        partial_bytes(self.segments.iter().map(|segment| segment.tiles), query)
    }

    /// Adds the dispatches of a query to a graph, one for each segment; their
    /// partial sums go to `partials`, which has [`partial_bytes`](Self::partial_bytes).
    pub(crate) fn scan(
        &self,
        graph: &mut GraphBuilder,
        query: Query,
        partials: &View,
    ) -> runtime_core::Result<()> {
        let kernel = match query {
            Query::Q1 => &self.q1,
            Query::Q6 => &self.q6,
        };
        let mut offset = 0;
        for segment in &self.segments {
            let bytes = segment_partial_bytes(segment.tiles, query);
            // A segment has at most 1,024 tiles, which every device can count.
            let groups = u32::try_from(segment.tiles).unwrap_or(u32::MAX);
            graph.dispatch(
                Dispatch::new(kernel)
                    .bind("terms", &segment.terms.view())
                    .bind("price_cents", &segment.price_cents.view())
                    .bind("partials", &partials.slice(offset, bytes)?)
                    .groups([groups, 1, 1]),
            )?;
            offset += bytes;
        }
        Ok(())
    }
}

/// Bytes of partial sums that a query writes for a table that is still on the
/// host.
pub(crate) fn partial_bytes(segment_tiles: impl Iterator<Item = usize>, query: Query) -> u64 {
    segment_tiles
        .map(|tiles| segment_partial_bytes(tiles, query))
        .sum()
}

/// Bytes of one segment's partial sums. What pads them for alignment is zero
/// from the buffer's allocation on, and adds nothing to a sum.
fn segment_partial_bytes(tiles: usize, query: Query) -> u64 {
    ((tiles * words_per_tile(query)) as u64 * 4).next_multiple_of(BINDING_ALIGN)
}

fn upload_segment(
    runtime: &Runtime,
    reserved: &Runtime,
    segment: &Segment,
) -> runtime_core::Result<ResidentSegment> {
    let upload = |words: &[u32], label: &str| {
        let bytes: &[u8] = cast_slice(words);
        let column = reserved.allocate_named(bytes.len() as u64, MemoryPlacement::Device, label)?;
        runtime.upload(&column.view(), bytes)?;
        Ok::<_, runtime_core::Error>(column)
    };
    Ok(ResidentSegment {
        terms: upload(segment.terms(), "lineitem terms")?,
        price_cents: upload(segment.price_cents(), "lineitem prices")?,
        tiles: segment.tiles(),
    })
}

fn with_constants(kernel: Wgsl, constants: &[(&'static str, u32)]) -> Wgsl {
    constants.iter().fold(kernel, |kernel, (name, value)| {
        kernel.constant(*name, *value)
    })
}
