//! Q6: one sum over the few rows that its predicate accepts.

use super::total;
use crate::answers::Q6Answer;
use crate::queries::Q6Predicate;

#[cfg(test)]
mod tests;

/// The kernel. Binds `terms`, `price_cents` and `partials`.
pub(crate) const SOURCE: &str = include_str!("q6/q6.wgsl");

/// Words of partial sums that each tile writes.
pub(crate) const WORDS_PER_TILE: usize = 2;

/// Values of the kernel's overrides.
pub(crate) fn constants(predicate: &Q6Predicate) -> [(&'static str, u32); 5] {
    [
        ("first_ship_day", predicate.first_ship_day),
        ("end_ship_day", predicate.end_ship_day),
        ("least_discount_percent", predicate.least_discount_percent),
        ("most_discount_percent", predicate.most_discount_percent),
        ("end_quantity", predicate.end_quantity),
    ]
}

/// The answer, from the partial sums of any number of tiles.
pub(crate) fn answer(partials: &[u32]) -> Q6Answer {
    Q6Answer {
        revenue: total(partials, 0, 1),
    }
}
