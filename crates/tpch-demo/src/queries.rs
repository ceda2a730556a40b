//! The two queries, with the substitution parameters that validate against the
//! published answers.

use crate::columns::{Terms, day};

/// One of the two queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Query {
    Q1,
    Q6,
}

impl Query {
    /// Both, in the order of their answers.
    pub(crate) const ALL: [Query; 2] = [Query::Q1, Query::Q6];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Query::Q1 => "Q1",
            Query::Q6 => "Q6",
        }
    }

    /// Its number in the published set.
    pub(crate) fn number(self) -> i32 {
        match self {
            Query::Q1 => 1,
            Query::Q6 => 6,
        }
    }
}

/// `l_shipdate <= date '1998-12-01' - interval '90' day`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Q1Predicate {
    /// Days since 1992-01-01.
    pub(crate) last_ship_day: u32,
}

impl Q1Predicate {
    pub(crate) const PUBLISHED: Q1Predicate = Q1Predicate {
        last_ship_day: day(1998, 12, 1) - 90,
    };
}

/// `l_shipdate` within the year 1994, `l_discount between 0.05 and 0.07`,
/// `l_quantity < 24`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Q6Predicate {
    /// Days since 1992-01-01.
    pub(crate) first_ship_day: u32,
    /// The first day that is too late, in days since 1992-01-01.
    pub(crate) end_ship_day: u32,
    pub(crate) least_discount_percent: u32,
    pub(crate) most_discount_percent: u32,
    /// The least quantity that is too large.
    pub(crate) end_quantity: u32,
}

impl Q6Predicate {
    pub(crate) const PUBLISHED: Q6Predicate = Q6Predicate {
        first_ship_day: day(1994, 1, 1),
        end_ship_day: day(1995, 1, 1),
        least_discount_percent: 5,
        most_discount_percent: 7,
        end_quantity: 24,
    };

    pub(crate) fn accepts(&self, terms: Terms) -> bool {
        (self.first_ship_day..self.end_ship_day).contains(&terms.ship_day())
            && (self.least_discount_percent..=self.most_discount_percent)
                .contains(&terms.discount_percent())
            && terms.quantity() < self.end_quantity
    }
}
