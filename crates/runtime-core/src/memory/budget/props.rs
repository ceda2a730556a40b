use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Charge, MemoryBudget};

const LABELS: [&str; 3] = ["a", "b", "c"];

#[derive(Debug, Clone)]
enum Operation {
    Charge { bytes: u64, label: usize },
    Resize { which: usize, bytes: u64 },
    Drop { which: usize },
}

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => 0_u64..60,
        1 => Just(100_u64),
        1 => Just(u64::MAX),
        1 => any::<u64>(),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        3 => (size(), 0..LABELS.len()).prop_map(|(bytes, label)| Operation::Charge { bytes, label }),
        2 => (any::<usize>(), size()).prop_map(|(which, bytes)| Operation::Resize { which, bytes }),
        2 => any::<usize>().prop_map(|which| Operation::Drop { which }),
    ]
}

/// Does one operation on the budget and says whether it was taken.
fn apply(operation: &Operation, budget: &MemoryBudget, live: &mut Vec<Charge>) -> bool {
    match *operation {
        Operation::Charge { bytes, label } => match budget.charge(bytes, LABELS[label]) {
            Ok(charge) => {
                live.push(charge);
                true
            }
            Err(_) => false,
        },
        Operation::Resize { which, bytes } if !live.is_empty() => {
            let index = which % live.len();
            live[index].resize(bytes).is_ok()
        }
        Operation::Drop { which } if !live.is_empty() => {
            let index = which % live.len();
            live.swap_remove(index);
            true
        }
        _ => true,
    }
}

proptest! {
    #[test]
    fn the_ledger_agrees_with_plain_sums(
        operations in prop::collection::vec(operation(), 0..60),
    ) {
        const CAPACITY: u128 = 100;
        let parent = MemoryBudget::new(150, "parent");
        let budget = parent.child(100, "budget").unwrap();
        let mut live: Vec<Charge> = Vec::new();
        let mut oracle: Vec<(usize, u64)> = Vec::new();
        let mut peak = 0_u128;
        for operation in operations {
            let sum: u128 = oracle.iter().map(|(_, bytes)| u128::from(*bytes)).sum();
            let taken = apply(&operation, &budget, &mut live);
            let fits = match operation {
                Operation::Charge { bytes, label } => {
                    let fits = sum + u128::from(bytes) <= CAPACITY;
                    if fits {
                        oracle.push((label, bytes));
                    }
                    fits
                }
                Operation::Resize { which, bytes } if !oracle.is_empty() => {
                    let index = which % oracle.len();
                    let fits = sum - u128::from(oracle[index].1) + u128::from(bytes) <= CAPACITY;
                    if fits {
                        oracle[index].1 = bytes;
                    }
                    fits
                }
                Operation::Drop { which } if !oracle.is_empty() => {
                    let index = which % oracle.len();
                    oracle.swap_remove(index);
                    true
                }
                _ => true,
            };
            prop_assert_eq!(taken, fits);

            let mut by_label: BTreeMap<&str, u64> = BTreeMap::new();
            for (label, bytes) in &oracle {
                *by_label.entry(LABELS[*label]).or_default() += bytes;
            }
            by_label.retain(|_, bytes| *bytes > 0);
            let used: u64 = by_label.values().sum();
            peak = peak.max(u128::from(used));
            prop_assert_eq!(budget.used_bytes(), used);
            prop_assert_eq!(budget.free_bytes(), 100 - used);
            prop_assert_eq!(u128::from(budget.peak_bytes()), peak);
            let holders = budget.holders(usize::MAX);
            prop_assert!(holders.is_sorted_by(|left, right| left.bytes >= right.bytes));
            let named: BTreeMap<&str, u64> = holders
                .iter()
                .map(|holder| (holder.label.as_ref(), holder.bytes))
                .collect();
            prop_assert_eq!(named, by_label);
            prop_assert_eq!(parent.used_bytes(), 100);
        }
        drop(budget);
        drop(live);
        prop_assert_eq!(parent.used_bytes(), 0);
    }
}
