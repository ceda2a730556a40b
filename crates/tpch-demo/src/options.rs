//! What the program is asked to do.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Parser;

/// Runs TPC-H Q1 and Q6 on a GPU that many attempts and a model share.
///
/// Every run is an admitted attempt with its own grant and report. The answers
/// are checked against the published ones at scale factor 1 and against plain
/// CPU loops at every scale; a difference ends the program with exit code 1.
#[derive(Clone, Debug, Parser)]
#[command(name = "tpch-demo", version)]
pub(crate) struct Options {
    /// Scale factor: 1 is six million rows.
    #[arg(long, default_value_t = 1.0)]
    pub(crate) scale: f64,

    /// Attempts to drive through the session; 64 hold every kind of ending.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub(crate) attempts: u32,

    /// Attempts under way at once.
    #[arg(long, default_value = "8")]
    pub(crate) concurrency: NonZeroUsize,

    /// Name or UUID of the device; the best one otherwise.
    #[arg(long)]
    pub(crate) device: Option<String>,

    /// Write everything as one JSON document to standard output.
    #[arg(long)]
    pub(crate) json: bool,

    /// Write a trace of the device's lanes, for Perfetto or chrome://tracing.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// Write the backend's metrics as OpenMetrics text.
    #[arg(long, value_name = "FILE")]
    pub(crate) metrics: Option<PathBuf>,
}
