//! The columns of `lineitem` that Q1 and Q6 read, eight bytes a row.
//!
//! A row is one word of terms and one word of price.
//! Everything but the price fits in 28 bits, so both queries read the same two
//! columns, and a filtered row costs four bytes of traffic.
//! Invariant: a segment holds a whole number of tiles; the rows that fill its
//! last tile carry [`Terms::PADDING`], which no predicate of either query
//! accepts, so kernels need no row count and no bounds test.
//! This module knows neither the generator nor the device.

use std::fmt;

#[cfg(test)]
mod tests;

/// Rows that one workgroup of either kernel reads.
pub(crate) const TILE_ROWS: usize = 4096;

/// Most rows of one segment: 16 MiB a column, well under the 128 MiB that the
/// narrowest driver allows in one storage binding.
pub(crate) const SEGMENT_ROWS: usize = 4 << 20;

/// Largest values that the specification allows, which the kernels' word sizes
/// are proven against: a part costs at most 2,099.00 and a line has at most 50.
pub(crate) const MOST_PRICE_CENTS: u32 = 209_900 * 50;
pub(crate) const MOST_QUANTITY: u32 = 50;
pub(crate) const MOST_DISCOUNT_PERCENT: u32 = 10;
pub(crate) const MOST_TAX_PERCENT: u32 = 8;

const DAY_BITS: u32 = 12;
const QUANTITY_SHIFT: u32 = 12;
const DISCOUNT_SHIFT: u32 = 18;
const TAX_SHIFT: u32 = 22;
const GROUP_SHIFT: u32 = 26;

/// A pair of return flag and line status that occurs in generated data.
///
/// The other two pairs cannot: what was returned was received, and what was
/// received was shipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(crate) enum Group {
    AcceptedFulfilled = 0,
    NoneFulfilled = 1,
    NoneOpen = 2,
    ReturnedFulfilled = 3,
}

impl Group {
    /// Every group, in the order of the published answer.
    pub(crate) const ALL: [Group; 4] = [
        Group::AcceptedFulfilled,
        Group::NoneFulfilled,
        Group::NoneOpen,
        Group::ReturnedFulfilled,
    ];

    /// The group of a generated row, or nothing for a pair that cannot occur.
    pub(crate) fn named(return_flag: &str, line_status: &str) -> Option<Group> {
        Group::ALL
            .into_iter()
            .find(|group| group.return_flag() == return_flag && group.line_status() == line_status)
    }

    pub(crate) fn return_flag(self) -> &'static str {
        match self {
            Group::AcceptedFulfilled => "A",
            Group::NoneFulfilled | Group::NoneOpen => "N",
            Group::ReturnedFulfilled => "R",
        }
    }

    pub(crate) fn line_status(self) -> &'static str {
        match self {
            Group::NoneOpen => "O",
            Group::AcceptedFulfilled | Group::NoneFulfilled | Group::ReturnedFulfilled => "F",
        }
    }
}

/// Everything that the queries read of a row except its price, in one word.
///
/// Bits, from the lowest: 12 ship day since 1992-01-01, 6 quantity, 4 discount
/// in percent, 4 tax in percent, 2 group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms(u32);

impl Terms {
    /// A row that no predicate accepts: its day lies beyond the calendar.
    pub(crate) const PADDING: Terms = Terms((1 << DAY_BITS) - 1);

    /// Packs one row, or says which value its field cannot hold.
    pub(crate) fn pack(
        ship_day: i64,
        quantity: i64,
        discount_percent: i64,
        tax_percent: i64,
        group: Group,
    ) -> Result<Terms, OutOfRange> {
        let last_day = i64::from(Terms::PADDING.0) - 1;
        Ok(Terms(
            field("shipdate", ship_day, last_day)?
                | field("quantity", quantity, i64::from(MOST_QUANTITY))? << QUANTITY_SHIFT
                | field(
                    "discount",
                    discount_percent,
                    i64::from(MOST_DISCOUNT_PERCENT),
                )? << DISCOUNT_SHIFT
                | field("tax", tax_percent, i64::from(MOST_TAX_PERCENT))? << TAX_SHIFT
                | (group as u32) << GROUP_SHIFT,
        ))
    }

    pub(crate) fn from_word(word: u32) -> Terms {
        Terms(word)
    }

    pub(crate) fn word(self) -> u32 {
        self.0
    }

    /// Days since 1992-01-01.
    pub(crate) fn ship_day(self) -> u32 {
        self.0 & ((1 << DAY_BITS) - 1)
    }

    pub(crate) fn quantity(self) -> u32 {
        self.0 >> QUANTITY_SHIFT & 63
    }

    pub(crate) fn discount_percent(self) -> u32 {
        self.0 >> DISCOUNT_SHIFT & 15
    }

    pub(crate) fn tax_percent(self) -> u32 {
        self.0 >> TAX_SHIFT & 15
    }

    /// Index of the row's group in [`Group::ALL`].
    pub(crate) fn group_index(self) -> usize {
        (self.0 >> GROUP_SHIFT & 3) as usize
    }
}

/// A generated value that does not fit its column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutOfRange {
    pub(crate) column: &'static str,
    pub(crate) value: i64,
    pub(crate) most: i64,
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutOfRange {
            column,
            value,
            most,
        } = self;
        write!(f, "{column} {value} does not fit a column of 0 to {most}")
    }
}

impl std::error::Error for OutOfRange {}

/// A run of rows whose columns are uploaded and scanned together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    rows: usize,
    terms: Vec<u32>,
    price_cents: Vec<u32>,
}

impl Segment {
    pub(crate) fn with_capacity(rows: usize) -> Segment {
        let padded_rows = rows.next_multiple_of(TILE_ROWS);
        Segment {
            rows: 0,
            terms: Vec::with_capacity(padded_rows),
            price_cents: Vec::with_capacity(padded_rows),
        }
    }

    /// Adds one row.
    pub(crate) fn push(&mut self, terms: Terms, price_cents: i64) -> Result<(), OutOfRange> {
        let price = field("extendedprice", price_cents, i64::from(MOST_PRICE_CENTS))?;
        self.terms.push(terms.word());
        self.price_cents.push(price);
        self.rows += 1;
        Ok(())
    }

    /// Fills the last tile with rows that count for nothing.
    pub(crate) fn padded(mut self) -> Segment {
        let padded_rows = self.rows.next_multiple_of(TILE_ROWS);
        self.terms.resize(padded_rows, Terms::PADDING.word());
        self.price_cents.resize(padded_rows, 0);
        self
    }

    /// Rows that the generator made, without padding.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn tiles(&self) -> usize {
        self.terms.len() / TILE_ROWS
    }

    pub(crate) fn terms(&self) -> &[u32] {
        &self.terms
    }

    pub(crate) fn price_cents(&self) -> &[u32] {
        &self.price_cents
    }

    /// Bytes of both columns, padding included.
    pub(crate) fn bytes(&self) -> u64 {
        let words = self.terms.len() + self.price_cents.len();
        words as u64 * 4
    }
}

/// The table, as segments of at most [`SEGMENT_ROWS`] rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lineitem {
    pub(crate) segments: Vec<Segment>,
}

impl Lineitem {
    pub(crate) fn rows(&self) -> u64 {
        self.segments
            .iter()
            .map(|segment| segment.rows() as u64)
            .sum()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.segments.iter().map(Segment::bytes).sum()
    }
}

/// Days from 1992-01-01 to a date of the years 1992 to 1999, for predicates
/// written as dates.
pub(crate) const fn day(year: u32, month: u32, day_of_month: u32) -> u32 {
    const BEFORE_MONTH: [u32; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let years = year - 1992;
    let leap_days_before = years.div_ceil(4);
    let leap_today = if year.is_multiple_of(4) && month > 2 {
        1
    } else {
        0
    };
    years * 365 + leap_days_before + BEFORE_MONTH[month as usize - 1] + leap_today + day_of_month
        - 1
}

/// A value as its column's word.
fn field(column: &'static str, value: i64, most: i64) -> Result<u32, OutOfRange> {
    u32::try_from(value)
        .ok()
        .filter(|word| i64::from(*word) <= most)
        .ok_or(OutOfRange {
            column,
            value,
            most,
        })
}
