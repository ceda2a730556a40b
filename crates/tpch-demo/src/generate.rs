//! Generates `lineitem` straight into columns.
//!
//! The table is generated in parts, one segment each, by as many threads as
//! asked for. The rows of a part depend on nothing but its number, so a table
//! of the same parts is the same however the threads shared them.

use std::io::IsTerminal;
use std::panic;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tpchgen::distribution::Distributions;
use tpchgen::generators::{LineItem, LineItemGenerator, OrderGenerator};
use tpchgen::text::TextPool;

use crate::columns::{Group, Lineitem, OutOfRange, SEGMENT_ROWS, Segment, Terms};

#[cfg(test)]
mod tests;

/// Largest scale factor accepted: 600 million rows, 4.8 GB of columns.
pub(crate) const MOST_SCALE: f64 = 100.0;

/// Rows that a part aims at, short of a segment by more than a part varies.
const PART_ROWS: u64 = SEGMENT_ROWS as u64 / 16 * 15;

/// Rows below which a part is not worth a thread.
const LEAST_PART_ROWS: u64 = 1 << 16;

/// Rows between two steps of the progress bar.
const STEP_ROWS: usize = 1 << 14;

/// An order has one to seven lines, four on average.
const LINES_PER_ORDER: u64 = 4;

/// Size of the pool of texts that comments are slices of. The queries never
/// read a comment, so a page replaces the default pool of 300 MiB.
const TEXT_BYTES: i32 = 4096;

/// Why the table could not be generated.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GenerateError {
    #[error("scale factor {scale} is not above 0 and at most {MOST_SCALE}")]
    Scale { scale: f64 },
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    #[error("the generator made the impossible group {return_flag}/{line_status}")]
    ImpossibleGroup {
        return_flag: String,
        line_status: String,
    },
    #[error("a part outgrew the {SEGMENT_ROWS} rows of a segment")]
    PartTooLong,
}

/// Generates the table of a scale factor on `threads` threads (at least one).
///
/// A progress bar runs on standard error where that is a terminal.
pub(crate) fn lineitem(scale: f64, threads: usize) -> Result<Lineitem, GenerateError> {
    if !(scale > 0.0 && scale <= MOST_SCALE) {
        return Err(GenerateError::Scale { scale });
    }
    let plan = Plan::new(scale, threads);
    let bar = progress_bar(plan.estimated_rows);
    let texts = TextPool::new(TEXT_BYTES, Distributions::static_default());
    let next_part = AtomicI32::new(1);
    let generate = || plan.generate(&next_part, &texts, &bar);
    let mut made = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(generate)).collect();
        let mut made = generate()?;
        for other in others {
            made.extend(
                other
                    .join()
                    .unwrap_or_else(|payload| panic::resume_unwind(payload))?,
            );
        }
        Ok::<_, GenerateError>(made)
    })?;
    bar.finish_and_clear();
    made.sort_by_key(|(part, _)| *part);
    let segments = made.into_iter().map(|(_, segment)| segment).collect();
    Ok(Lineitem { segments })
}

/// How a table is divided into parts, which are numbered from one.
#[derive(Clone, Copy, Debug)]
struct Plan {
    scale: f64,
    parts: i32,
    estimated_rows: u64,
}

impl Plan {
    fn new(scale: f64, threads: usize) -> Plan {
        let orders = OrderGenerator::calculate_row_count(scale, 1, 1);
        let estimated_rows = orders.unsigned_abs() * LINES_PER_ORDER;
        let fitting = estimated_rows.div_ceil(PART_ROWS);
        let worthwhile = estimated_rows.div_ceil(LEAST_PART_ROWS);
        let shared = fitting.next_multiple_of(threads.max(1) as u64);
        let parts = shared.min(worthwhile).max(fitting).max(1);
        Plan {
            scale,
            parts: i32::try_from(parts).unwrap_or(i32::MAX),
            estimated_rows,
        }
    }

    /// Generates parts until none is left, and returns them with their numbers.
    fn generate(
        &self,
        next_part: &AtomicI32,
        texts: &TextPool,
        bar: &ProgressBar,
    ) -> Result<Vec<(i32, Segment)>, GenerateError> {
        let mut made = Vec::new();
        loop {
            // Relaxed, without a partner: the counter hands out numbers only.
            let part = next_part.fetch_add(1, Ordering::Relaxed);
            if part > self.parts {
                return Ok(made);
            }
            made.push((part, self.segment(part, texts, bar)?));
        }
    }

    fn segment(
        &self,
        part: i32,
        texts: &TextPool,
        bar: &ProgressBar,
    ) -> Result<Segment, GenerateError> {
        let rows_ahead = self.estimated_rows / u64::from(self.parts.unsigned_abs()) / 16 * 17;
        let capacity =
            usize::try_from(rows_ahead).map_or(SEGMENT_ROWS, |rows| rows.min(SEGMENT_ROWS));
        let mut segment = Segment::with_capacity(capacity);
        let rows = LineItemGenerator::new_with_distributions_and_text_pool(
            self.scale,
            part,
            self.parts,
            Distributions::static_default(),
            texts,
        );
        for row in rows.iter() {
            push(&mut segment, &row)?;
            if segment.rows().is_multiple_of(STEP_ROWS) {
                bar.inc(STEP_ROWS as u64);
            }
        }
        Ok(segment.padded())
    }
}

fn push(segment: &mut Segment, row: &LineItem<'_>) -> Result<(), GenerateError> {
    if segment.rows() == SEGMENT_ROWS {
        return Err(GenerateError::PartTooLong);
    }
    let group = Group::named(row.l_returnflag, row.l_linestatus).ok_or_else(|| {
        GenerateError::ImpossibleGroup {
            return_flag: row.l_returnflag.to_owned(),
            line_status: row.l_linestatus.to_owned(),
        }
    })?;
    let terms = Terms::pack(
        row.l_shipdate.into_inner().into(),
        row.l_quantity,
        row.l_discount.into_inner(),
        row.l_tax.into_inner(),
        group,
    )?;
    Ok(segment.push(terms, row.l_extendedprice.into_inner())?)
}

fn progress_bar(rows: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::with_draw_target(Some(rows), ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template("{msg} {wide_bar} {human_pos} rows, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(rows)
        .with_style(style)
        .with_message("generating lineitem")
}
