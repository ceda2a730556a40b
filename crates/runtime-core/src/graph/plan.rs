//! Splitting a graph into regions.
//!
//! Pure. A node's *depth* counts the changes of lane on the longest way of
//! conflicts that leads to it; nodes of one lane and one depth are a region.
//! Every conflict then leads from a region to itself or to a deeper one, so the
//! regions, ordered by depth, form no circle.

use super::builder::{Node, Operation};
use super::hazards::{Access, HazardTable};
use crate::lane::Lane;
use crate::lane::order::Touch;

/// Nodes of one lane that run without leaving it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RegionLayout {
    pub(super) lane: Lane,
    /// Indices of nodes in program order, each with whether a barrier must
    /// stand before it.
    pub(super) steps: Vec<Step>,
    /// What the region touches in all.
    pub(super) touches: Vec<Touch>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) node: usize,
    pub(super) barrier_before: bool,
}

/// The byte ranges that an operation touches in coordinated buffers. Staging is
/// a run's own, and its slot keeps runs apart.
pub(super) fn touches(operation: &Operation) -> Vec<Touch> {
    let touch = |view: &crate::memory::View, access| Touch {
        buffer: view.buffer_id(),
        range: view.range(),
        access,
    };
    match operation {
        Operation::Fill { target, .. }
        | Operation::Upload { target, .. }
        | Operation::Constant { target, .. } => vec![touch(target, Access::Write)],
        Operation::Copy { source, target } => {
            vec![touch(source, Access::Read), touch(target, Access::Write)]
        }
        Operation::Download { source, .. } => vec![touch(source, Access::Read)],
        Operation::Dispatch { bindings, .. } => bindings
            .iter()
            .map(|slot| {
                let access = if slot.writes {
                    Access::Write
                } else {
                    Access::Read
                };
                touch(&slot.view, access)
            })
            .collect(),
    }
}

/// The regions of a graph, each behind all that it depends on.
pub(super) fn regions(nodes: &[Node]) -> Vec<RegionLayout> {
    let touched: Vec<Vec<Touch>> = nodes.iter().map(|node| touches(&node.operation)).collect();
    let depths = depths(nodes, &touched);
    let mut keys: Vec<(usize, Lane)> = nodes
        .iter()
        .zip(&depths)
        .map(|(node, depth)| (*depth, node.lane))
        .collect();
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter()
        .map(|(depth, lane)| {
            let members: Vec<usize> = (0..nodes.len())
                .filter(|node| depths[*node] == depth && nodes[*node].lane == lane)
                .collect();
            RegionLayout {
                lane,
                steps: steps(&members, &touched),
                touches: members
                    .iter()
                    .flat_map(|node| touched[*node].iter().cloned())
                    .collect(),
            }
        })
        .collect()
}

fn depths(nodes: &[Node], touched: &[Vec<Touch>]) -> Vec<usize> {
    let mut table = HazardTable::new();
    let mut depths: Vec<usize> = Vec::with_capacity(nodes.len());
    for (index, node) in nodes.iter().enumerate() {
        let mut depth = 0;
        for touch in &touched[index] {
            let mut found = |earlier: usize| {
                if earlier == index {
                    return;
                }
                let change = usize::from(nodes[earlier].lane != node.lane);
                depth = depth.max(depths[earlier] + change);
            };
            table.access(
                touch.buffer,
                touch.range.clone(),
                touch.access,
                index,
                |_| true,
                &mut found,
            );
        }
        depths.push(depth);
    }
    depths
}

/// Puts a barrier before each node that conflicts with one since the last.
fn steps(members: &[usize], touched: &[Vec<Touch>]) -> Vec<Step> {
    let mut table = HazardTable::new();
    let mut since_barrier = 0;
    let mut steps = Vec::with_capacity(members.len());
    for (place, node) in members.iter().enumerate() {
        let mut barrier_before = false;
        for touch in &touched[*node] {
            table.access(
                touch.buffer,
                touch.range.clone(),
                touch.access,
                place,
                |earlier| earlier >= since_barrier,
                &mut |earlier| barrier_before |= earlier != place,
            );
        }
        if barrier_before {
            since_barrier = place;
        }
        steps.push(Step {
            node: *node,
            barrier_before,
        });
    }
    steps
}
