//! The answers of Q1 and Q6 as exact integers, and as the published text.
//!
//! Sums stay in the smallest unit that the query's arithmetic makes: cents,
//! then ten-thousandths where a percentage was multiplied in once, then
//! millionths. Rounding happens once, when an answer is written out.

use tpchgen::q_and_a::QueryAndAnswer;

use crate::columns::Group;
use crate::queries::Query;

#[cfg(test)]
mod tests;

/// The exact sums of one group of Q1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) count: u128,
    pub(crate) quantity: u128,
    pub(crate) discount_percent: u128,
    /// Cents.
    pub(crate) base_price: u128,
    /// Ten-thousandths of the currency.
    pub(crate) disc_price: u128,
    /// Millionths of the currency.
    pub(crate) charge: u128,
}

/// The answer of the pricing summary report: sums of every group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Q1Answer {
    /// In the order of [`Group::ALL`].
    pub(crate) groups: [Sums; 4],
}

/// The answer of the revenue forecast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Q6Answer {
    /// Ten-thousandths of the currency.
    pub(crate) revenue: u128,
}

/// The answer of either query.
#[expect(
    clippy::large_enum_variant,
    reason = "a few exist, and copying one is nothing beside running a query"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Q1(Q1Answer),
    Q6(Q6Answer),
}

impl Answer {
    pub(crate) fn table(&self) -> Table {
        match self {
            Answer::Q1(answer) => answer.table(),
            Answer::Q6(answer) => answer.table(),
        }
    }
}

/// An answer as rows of fields, the form in which answers are published.
pub(crate) type Table = Vec<Vec<String>>;

/// Column names of a query's answer, as published.
pub(crate) fn columns(query: Query) -> &'static [&'static str] {
    match query {
        Query::Q1 => &[
            "l_returnflag",
            "l_linestatus",
            "sum_qty",
            "sum_base_price",
            "sum_disc_price",
            "sum_charge",
            "avg_qty",
            "avg_price",
            "avg_disc",
            "count_order",
        ],
        Query::Q6 => &["revenue"],
    }
}

impl Q1Answer {
    /// One row for each group that has rows, in the published order.
    pub(crate) fn table(&self) -> Table {
        let groups = Group::ALL.into_iter().zip(&self.groups);
        groups
            .filter(|(_, sums)| sums.count > 0)
            .map(|(group, sums)| row(group, sums))
            .collect()
    }
}

impl Q6Answer {
    pub(crate) fn table(&self) -> Table {
        vec![vec![decimal(self.revenue, 10_000)]]
    }
}

/// The published answer of a query at a scale factor, without its header;
/// nothing where none is published.
pub(crate) fn published(query: Query, scale: f64) -> Option<Table> {
    let carried = QueryAndAnswer::new(query.number(), scale).ok()?;
    let lines = carried.answer().trim().lines().skip(1);
    Some(
        lines
            .map(|line| {
                line.split('|')
                    .map(|field| field.trim().to_owned())
                    .collect()
            })
            .collect(),
    )
}

fn row(group: Group, sums: &Sums) -> Vec<String> {
    vec![
        group.return_flag().to_owned(),
        group.line_status().to_owned(),
        decimal(sums.quantity, 1),
        decimal(sums.base_price, 100),
        decimal(sums.disc_price, 10_000),
        decimal(sums.charge, 1_000_000),
        decimal(sums.quantity, sums.count),
        decimal(sums.base_price, 100 * sums.count),
        decimal(sums.discount_percent, 100 * sums.count),
        sums.count.to_string(),
    ]
}

/// A quotient with two decimals, halves rounded up, as answers are published.
fn decimal(numerator: u128, denominator: u128) -> String {
    let hundredths = (numerator * 200 + denominator) / (2 * denominator);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}
