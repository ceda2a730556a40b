//! The two queries as compute kernels, in exact 32-bit arithmetic.
//!
//! One workgroup scans one tile of 4,096 rows and writes its own partial sums,
//! which the host adds up; loops are short (one driver ends a shader's loops
//! after 65,535 iterations). A partial sum is two words, low then high.
//! Invariant: what one invocation accumulates fits a word without carry; the
//! bounds are proven against the largest values of the columns in each
//! module's tests. Carries exist only where a workgroup adds up its
//! invocations, where the order of additions changes nothing.
//! Workgroup memory stays small: some drivers take a second for every few
//! hundred words that they have to clear.

pub(crate) mod q1;
pub(crate) mod q6;

use crate::answers::Answer;
use crate::queries::Query;

#[cfg(test)]
pub(crate) mod tests;

/// Words of partial sums that each tile writes.
pub(crate) fn words_per_tile(query: Query) -> usize {
    match query {
        Query::Q1 => q1::WORDS_PER_TILE,
        Query::Q6 => q6::WORDS_PER_TILE,
    }
}

/// The answer of a query, from the partial sums of any number of tiles.
pub(crate) fn answer(query: Query, partials: &[u32]) -> Answer {
    match query {
        Query::Q1 => Answer::Q1(q1::answer(partials)),
        Query::Q6 => Answer::Q6(q6::answer(partials)),
    }
}

/// Adds up the two-word sums that lie `stride` sums apart, from sum `first`.
fn total(partials: &[u32], first: usize, stride: usize) -> u128 {
    let (pairs, _) = partials.as_chunks::<2>();
    let every = pairs.iter().skip(first).step_by(stride);
    every
        .map(|[low, high]| u128::from(*high) << 32 | u128::from(*low))
        .sum()
}
