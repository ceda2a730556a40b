//! The table against brute force over single bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use proptest::prelude::*;

use super::{Access, HazardTable};

const BYTES: u64 = 12;

#[derive(Debug, Clone)]
struct Step {
    region: usize,
    range: Range<u64>,
    access: Access,
}

impl Step {
    fn conflicts_with(&self, other: &Self) -> bool {
        let writes = self.access == Access::Write || other.access == Access::Write;
        writes && self.range.start < other.range.end && other.range.start < self.range.end
    }

    fn at(&self, byte: u64) -> Option<Self> {
        self.range.contains(&byte).then(|| Self {
            range: byte..byte + 1,
            ..self.clone()
        })
    }
}

fn some_range() -> impl Strategy<Value = Range<u64>> {
    (0..BYTES, 1..=BYTES).prop_map(|(start, bytes)| start..BYTES.min(start + bytes))
}

fn some_access() -> impl Strategy<Value = Access> {
    prop_oneof![Just(Access::Read), Just(Access::Write)]
}

/// Regions in order, each with a few accesses in a row.
fn in_order() -> impl Strategy<Value = Vec<Step>> {
    let accesses = prop::collection::vec((some_range(), some_access()), 1..4);
    prop::collection::vec(accesses, 0..24).prop_map(|regions| {
        let numbered = regions.into_iter().enumerate();
        numbered
            .flat_map(|(region, accesses)| {
                accesses.into_iter().map(move |(range, access)| Step {
                    region,
                    range,
                    access,
                })
            })
            .collect()
    })
}

/// Accesses of a few regions in any order.
fn interleaved() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..6_usize, some_range(), some_access());
    prop::collection::vec(step, 0..40).prop_map(|steps| {
        let steps = steps.into_iter();
        steps
            .map(|(region, range, access)| Step {
                region,
                range,
                access,
            })
            .collect()
    })
}

type Edges = BTreeSet<(usize, usize)>;

fn inferred(steps: &[Step], table: &mut HazardTable<usize>) -> Edges {
    let mut edges = Edges::new();
    for step in steps {
        let (region, range) = (step.region, step.range.clone());
        table.access(0, range, step.access, region, |_| true, &mut |earlier| {
            edges.insert((earlier, region));
        });
    }
    edges
}

/// Which of `count` nodes lead to which, over one or more edges.
fn closure(count: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> Vec<Vec<bool>> {
    let mut reaches = vec![vec![false; count]; count];
    for (from, to) in edges {
        reaches[from][to] = true;
    }
    for via in 0..count {
        for from in 0..count {
            for to in 0..count {
                reaches[from][to] |= reaches[from][via] && reaches[via][to];
            }
        }
    }
    reaches
}

fn conflicts(steps: &[Step]) -> Vec<(usize, usize)> {
    let pairs = (0..steps.len()).flat_map(|later| (0..later).map(move |earlier| (earlier, later)));
    pairs
        .filter(|&(earlier, later)| steps[earlier].conflicts_with(&steps[later]))
        .collect()
}

/// The transitive reductions of what happens to each byte, as pairs of regions.
fn reduced_per_byte(steps: &[Step]) -> Edges {
    let mut edges = Edges::new();
    for byte in 0..BYTES {
        let here: Vec<Step> = steps.iter().filter_map(|step| step.at(byte)).collect();
        let direct = conflicts(&here);
        let reaches = closure(here.len(), direct.iter().copied());
        for (from, to) in direct {
            let implied = (0..here.len()).any(|via| reaches[from][via] && reaches[via][to]);
            let (from, to) = (here[from].region, here[to].region);
            if !implied && from != to {
                edges.insert((from, to));
            }
        }
    }
    edges
}

/// The same steps with at most one per region and byte: a write if there is one.
fn strongest_per_byte(steps: &[Step]) -> Vec<Step> {
    let mut strongest: BTreeMap<(usize, u64), Access> = BTreeMap::new();
    for step in steps {
        for byte in step.range.clone() {
            let access = strongest.entry((step.region, byte)).or_insert(step.access);
            if step.access == Access::Write {
                *access = Access::Write;
            }
        }
    }
    let steps = strongest.into_iter();
    steps
        .map(|((region, byte), access)| Step {
            region,
            range: byte..byte + 1,
            access,
        })
        .collect()
}

fn uncovered(steps: &[Step], edges: &Edges) -> Option<(usize, usize)> {
    let count = 1 + steps.iter().map(|step| step.region).max().unwrap_or(0);
    let reaches = closure(count, edges.iter().copied());
    conflicts(steps)
        .into_iter()
        .map(|(earlier, later)| (steps[earlier].region, steps[later].region))
        .find(|&(earlier, later)| earlier != later && !reaches[earlier][later])
}

proptest! {
    #[test]
    fn edges_are_each_bytes_reduction(steps in in_order()) {
        let edges = inferred(&steps, &mut HazardTable::new());
        prop_assert_eq!(uncovered(&steps, &edges), None);
        // Not an edge less than one reduction per byte needs, and none more than
        // the reduction over single accesses has: that is the stated slack.
        let fewest = reduced_per_byte(&strongest_per_byte(&steps));
        prop_assert!(edges.is_superset(&fewest), "{edges:?} lack some of {fewest:?}");
        let most = reduced_per_byte(&steps);
        prop_assert!(edges.is_subset(&most), "{edges:?} exceed {most:?}");
    }

    #[test]
    fn interleaved_regions_miss_no_conflict(steps in interleaved()) {
        let edges = inferred(&steps, &mut HazardTable::new());
        prop_assert_eq!(uncovered(&steps, &edges), None);
    }

    /// Regions end in an order that keeps the table's one demand; sweeps run
    /// because many buffers fill the table.
    #[test]
    fn ended_regions_hide_no_conflict(
        steps in in_order(),
        ends in prop::collection::vec(any::<bool>(), 128),
    ) {
        let mut table = HazardTable::new();
        let mut live: Vec<bool> = Vec::new();
        let mut edges = Edges::new();
        let mut ends = ends.into_iter();
        let mut must_precede = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            if step.region == live.len() {
                live.push(true);
            }
            for earlier in &steps[..index] {
                let (from, to) = (earlier.region, step.region);
                if live[from] && from != to && earlier.conflicts_with(step) {
                    must_precede.push((from, to));
                }
            }
            let is_live = |region: usize| live[region];
            let (region, range) = (step.region, step.range.clone());
            table.access(0, range, step.access, region, is_live, &mut |earlier| {
                assert!(live[earlier], "{earlier} had ended");
                edges.insert((earlier, region));
            });
            // Many foreign segments, so that the table is swept again and again.
            let elsewhere = 1 + index as u64;
            for piece in 0..20 {
                let range = piece * 2..piece * 2 + 1;
                table.access(elsewhere, range, Access::Write, region, is_live, &mut |_| {});
            }
            for region in 0..step.region {
                let free = !edges.iter().any(|&(from, to)| to == region && live[from]);
                if free && ends.next() == Some(true) {
                    live[region] = false;
                }
            }
        }
        let reaches = closure(live.len(), edges.iter().copied());
        for (from, to) in must_precede {
            prop_assert!(reaches[from][to], "{from} need not precede {to}");
        }
    }
}
