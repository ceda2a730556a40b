//! Q1: eight sums for each of four groups.
//!
//! A price with its discount taken off has 30 bits and the charge has 37, so
//! both are summed as two words of different weight: the 16 low bits and the
//! rest. The rest weighs 2^16.

use super::total;
use crate::answers::{Q1Answer, Sums};
use crate::queries::Q1Predicate;

#[cfg(test)]
mod tests;

/// The kernel. Binds `terms`, `price_cents` and `partials`.
pub(crate) const SOURCE: &str = include_str!("q1/q1.wgsl");

/// Words of partial sums that each tile writes.
pub(crate) const WORDS_PER_TILE: usize = 2 * SUMS_PER_TILE;

const SUMS_PER_TILE: usize = 4 * SUMS_PER_GROUP;
const SUMS_PER_GROUP: usize = 8;

/// Values of the kernel's overrides.
pub(crate) fn constants(predicate: &Q1Predicate) -> [(&'static str, u32); 1] {
    [("last_ship_day", predicate.last_ship_day)]
}

/// The answer, from the partial sums of any number of tiles.
pub(crate) fn answer(partials: &[u32]) -> Q1Answer {
    let mut groups = [Sums::default(); 4];
    for (group, sums) in groups.iter_mut().enumerate() {
        let sum = |index: usize| total(partials, group * SUMS_PER_GROUP + index, SUMS_PER_TILE);
        *sums = Sums {
            count: sum(0),
            quantity: sum(1),
            discount_percent: sum(2),
            base_price: sum(3),
            disc_price: sum(4) + (sum(5) << 16),
            charge: sum(6) + (sum(7) << 16),
        };
    }
    Q1Answer { groups }
}
