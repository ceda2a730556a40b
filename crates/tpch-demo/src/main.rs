//! TPC-H Q1 and Q6 on the GPU, every run an admitted attempt with its report.

mod answers;
mod arrange;
mod classifier;
mod columns;
mod cpu;
mod document;
mod drive;
mod error;
mod generate;
mod kernels;
mod lanes;
mod latency;
mod open;
mod options;
mod print;
mod queries;
mod resident;
mod run;
mod tally;
mod trace;
mod work;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use tracing_subscriber::EnvFilter;

use crate::document::Document;
use crate::error::DemoError;
use crate::options::Options;

/// Exit code for wrong answers, wrong reports, or a close that was not clean.
const DIFFERS: u8 = 1;

fn main() -> ExitCode {
    let options = Options::parse();
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn".into()))
        .with_writer(std::io::stderr)
        .init();
    match run::run(&options).and_then(|document| show(&options, &document)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(DIFFERS),
        Err(error) => {
            eprintln!("tpch-demo: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// Writes the document to standard output; true if the run passed.
fn show(options: &Options, document: &Document) -> Result<bool, DemoError> {
    let text = if options.json {
        serde_json::to_string_pretty(&document.judged())? + "\n"
    } else {
        print::tables(document)
    };
    let mut output = std::io::stdout().lock();
    output
        .write_all(text.as_bytes())
        .map_err(DemoError::Output)?;
    Ok(document.passed())
}
