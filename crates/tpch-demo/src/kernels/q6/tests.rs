use proptest::prelude::*;

use super::*;
use crate::columns::{Lineitem, MOST_DISCOUNT_PERCENT, Terms};
use crate::kernels::tests::{add_with_carry, largest_tile, tiles};
use crate::{cpu, queries::Q6Predicate};

const INVOCATIONS: usize = 128;
const ROWS: usize = 32;

/// A predicate that accepts every row but padding.
const EVERYTHING: Q6Predicate = Q6Predicate {
    first_ship_day: 0,
    end_ship_day: 4095,
    least_discount_percent: 0,
    most_discount_percent: MOST_DISCOUNT_PERCENT,
    end_quantity: 64,
};

/// The rows that one invocation reads, four at a time.
fn rows_of<T>(tile: &[T], lane: usize) -> impl Iterator<Item = &T> {
    tile.chunks(4).skip(lane).step_by(INVOCATIONS).flatten()
}

/// What the kernel writes for a table: checked additions stand for the proof
/// that one invocation never carries.
fn emulated(table: &Lineitem, predicate: &Q6Predicate) -> Vec<u32> {
    let mut partials = Vec::new();
    for segment in &table.segments {
        let rows: Vec<_> = segment.terms().iter().zip(segment.price_cents()).collect();
        for tile in rows.chunks(INVOCATIONS * ROWS) {
            let mut sum = [0u32; 2];
            for lane in 0..INVOCATIONS {
                let mut revenue = 0u32;
                for (word, price) in rows_of(tile, lane) {
                    let terms = Terms::from_word(**word);
                    if predicate.accepts(terms) {
                        let product = price.checked_mul(terms.discount_percent()).unwrap();
                        revenue = revenue.checked_add(product).unwrap();
                    }
                }
                sum = add_with_carry(sum, revenue);
            }
            partials.extend(sum);
        }
    }
    partials
}

#[test]
fn the_largest_tile_carries_nowhere() {
    let table = largest_tile(0, 1, MOST_DISCOUNT_PERCENT);
    let answer = answer(&emulated(&table, &EVERYTHING));
    assert_eq!(answer, cpu::q6(&table, &EVERYTHING));
    assert!(answer.revenue > u128::from(u32::MAX));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn words_agree_with_wide_integers(table in tiles()) {
        let answer = answer(&emulated(&table, &EVERYTHING));
        prop_assert_eq!(answer, cpu::q6(&table, &EVERYTHING));
    }
}
