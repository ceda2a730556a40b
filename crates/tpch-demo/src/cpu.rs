//! The same queries on the CPU: plain loops over the same columns.
//!
//! They are the oracle at scale factors without a published answer, and what
//! the device's times are honestly compared with.

use crate::answers::{Answer, Q1Answer, Q6Answer};
use crate::columns::{Lineitem, Segment, Terms};
use crate::queries::{Q1Predicate, Q6Predicate, Query};

#[cfg(test)]
mod tests;

/// The answer of a query with its published parameters.
pub(crate) fn answer(query: Query, table: &Lineitem) -> Answer {
    match query {
        Query::Q1 => Answer::Q1(q1(table, &Q1Predicate::PUBLISHED)),
        Query::Q6 => Answer::Q6(q6(table, &Q6Predicate::PUBLISHED)),
    }
}

/// Q1 over the whole table.
pub(crate) fn q1(table: &Lineitem, predicate: &Q1Predicate) -> Q1Answer {
    let mut answer = Q1Answer::default();
    for segment in &table.segments {
        let totals = q1_segment(segment, predicate);
        for (sums, total) in answer.groups.iter_mut().zip(&totals) {
            sums.count += u128::from(total.count);
            sums.quantity += u128::from(total.quantity);
            sums.discount_percent += u128::from(total.discount_percent);
            sums.base_price += u128::from(total.base_price);
            sums.disc_price += u128::from(total.disc_price);
            sums.charge += u128::from(total.charge);
        }
    }
    answer
}

/// Q6 over the whole table.
pub(crate) fn q6(table: &Lineitem, predicate: &Q6Predicate) -> Q6Answer {
    let revenue = table
        .segments
        .iter()
        .map(|segment| u128::from(q6_segment(segment, predicate)))
        .sum();
    Q6Answer { revenue }
}

/// Sums of one group within a segment. A segment of the largest values sums to
/// under 2^59 millionths, so 64 bits are exact.
#[derive(Clone, Copy, Default)]
struct SegmentSums {
    count: u64,
    quantity: u64,
    discount_percent: u64,
    base_price: u64,
    disc_price: u64,
    charge: u64,
}

fn q1_segment(segment: &Segment, predicate: &Q1Predicate) -> [SegmentSums; 4] {
    let mut groups = [SegmentSums::default(); 4];
    for (word, price_cents) in segment.terms().iter().zip(segment.price_cents()) {
        let terms = Terms::from_word(*word);
        if terms.ship_day() > predicate.last_ship_day {
            continue;
        }
        let price = u64::from(*price_cents);
        let disc_price = price * u64::from(100 - terms.discount_percent());
        let sums = &mut groups[terms.group_index()];
        sums.count += 1;
        sums.quantity += u64::from(terms.quantity());
        sums.discount_percent += u64::from(terms.discount_percent());
        sums.base_price += price;
        sums.disc_price += disc_price;
        sums.charge += disc_price * u64::from(100 + terms.tax_percent());
    }
    groups
}

fn q6_segment(segment: &Segment, predicate: &Q6Predicate) -> u64 {
    let mut revenue = 0;
    for (word, price_cents) in segment.terms().iter().zip(segment.price_cents()) {
        let terms = Terms::from_word(*word);
        if predicate.accepts(terms) {
            revenue += u64::from(*price_cents) * u64::from(terms.discount_percent());
        }
    }
    revenue
}
