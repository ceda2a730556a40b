use proptest::prelude::*;

use super::*;
use crate::columns::{Lineitem, MOST_QUANTITY, Terms};
use crate::kernels::tests::{add_with_carry, largest_tile, tiles};
use crate::{cpu, queries::Q1Predicate};

const INVOCATIONS: usize = 64;
const ROWS: usize = 64;

/// One invocation's accumulators, in the kernel's words: checked additions
/// stand for the proof that they never carry.
fn invocation(words: &[(u32, u32)], lane: usize, predicate: &Q1Predicate) -> [[u32; 6]; 4] {
    let mut groups = [[0u32; 6]; 4];
    for (word, price) in words.iter().skip(lane).step_by(INVOCATIONS) {
        let terms = Terms::from_word(*word);
        if terms.ship_day() > predicate.last_ship_day {
            continue;
        }
        let disc_price = price.checked_mul(100 - terms.discount_percent()).unwrap();
        let taxed = 100 + terms.tax_percent();
        let (disc_low, disc_high) = (disc_price & 0xffff, disc_price >> 16);
        let row = [
            1 | terms.quantity() << 7 | terms.discount_percent() << 20,
            *price,
            disc_low,
            disc_high,
            disc_low.checked_mul(taxed).unwrap(),
            disc_high.checked_mul(taxed).unwrap(),
        ];
        for (sum, value) in groups[terms.group_index()].iter_mut().zip(row) {
            *sum = sum.checked_add(value).unwrap();
        }
    }
    groups
}

/// What the kernel writes for a table.
fn emulated(table: &Lineitem, predicate: &Q1Predicate) -> Vec<u32> {
    let mut partials = Vec::new();
    for segment in &table.segments {
        let rows: Vec<_> = segment
            .terms()
            .iter()
            .copied()
            .zip(segment.price_cents().iter().copied())
            .collect();
        for tile in rows.chunks(INVOCATIONS * ROWS) {
            let mut sums = [[0u32; 2]; SUMS_PER_TILE];
            for lane in 0..INVOCATIONS {
                let groups = invocation(tile, lane, predicate);
                for (group, [tally, base, disc_low, disc_high, charge_low, charge_high]) in
                    groups.into_iter().enumerate()
                {
                    let shared = [
                        tally & 127,
                        tally >> 7 & 8191,
                        tally >> 20,
                        base,
                        disc_low,
                        disc_high,
                        charge_low,
                        charge_high,
                    ];
                    for (index, value) in shared.into_iter().enumerate() {
                        let sum = &mut sums[group * SUMS_PER_GROUP + index];
                        *sum = add_with_carry(*sum, value);
                    }
                }
            }
            partials.extend(sums.as_flattened());
        }
    }
    partials
}

#[test]
fn the_largest_tile_carries_nowhere() {
    let predicate = Q1Predicate::PUBLISHED;
    // No discount makes the largest price, so that is the larger charge.
    let table = largest_tile(predicate.last_ship_day, MOST_QUANTITY, 0);
    let answer = answer(&emulated(&table, &predicate));
    assert_eq!(answer, cpu::q1(&table, &predicate));
    assert_eq!(answer.groups[2].count, 4096);
    assert_eq!(answer.groups[2].quantity, 4096 * 50);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn words_agree_with_wide_integers(table in tiles()) {
        let predicate = Q1Predicate::PUBLISHED;
        prop_assert_eq!(answer(&emulated(&table, &predicate)), cpu::q1(&table, &predicate));
    }
}
