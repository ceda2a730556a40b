//! `test`: every check and test, one after the other.

mod steps;

use std::time::{Duration, Instant};

use clap::Args;

use crate::failure::Failure;
use crate::setup::{self, Need};
use crate::table;
use crate::tally::Tally;
use crate::workspace::Workspace;

use steps::Step;

/// What test is told.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Leave out the slow steps: documentation, examples, real devices, models.
    #[arg(long)]
    quick: bool,
    /// Run only this step; repeat it for several.
    #[arg(long, value_name = "STEP", value_enum)]
    only: Vec<Step>,
    /// Run the later steps also when one has failed.
    #[arg(long)]
    keep_going: bool,
}

/// How a step ended.
#[derive(Debug)]
struct Ended {
    step: Step,
    tally: Tally,
    elapsed: Duration,
    failure: Option<Failure>,
}

/// Runs the steps, then prints what came of each and the counts of all.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<(), Failure> {
    let wanted = wanted(options);
    // The first page's examples open a Vulkan device too.
    let on_devices = [Step::Tests, Step::DocTests, Step::Examples];
    if on_devices.iter().any(|step| wanted.contains(step)) {
        setup::ensure(Need::Test)?;
    }
    let began = Instant::now();
    let mut ended: Vec<Ended> = Vec::new();
    for (place, step) in wanted.iter().enumerate() {
        println!(
            "\n=== {} ({} of {}) ===",
            step.title(),
            place + 1,
            wanted.len()
        );
        let outcome = one(workspace, *step, options.quick);
        let failed = outcome.failure.is_some();
        ended.push(outcome);
        if failed && !options.keep_going {
            break;
        }
    }
    summarize(&wanted, &ended, began.elapsed())
}

/// The steps to run, in the fixed order.
fn wanted(options: &Options) -> Vec<Step> {
    Step::ALL
        .into_iter()
        .filter(|step| {
            if options.only.is_empty() {
                !options.quick || step.is_quick()
            } else {
                options.only.contains(step)
            }
        })
        .collect()
}

fn one(workspace: &Workspace, step: Step, quick: bool) -> Ended {
    let began = Instant::now();
    let mut tally = Tally::default();
    let failure = step.run(workspace, quick, &mut tally).err();
    if let Some(failure) = failure.as_ref().filter(|failure| !failure.is_told()) {
        println!("error: {failure}");
    }
    let elapsed = began.elapsed();
    println!("--- {}: {}", step.title(), table::seconds(elapsed));
    Ended {
        step,
        tally: tally.of_step(failure.is_none()),
        elapsed,
        failure,
    }
}

fn summarize(wanted: &[Step], ended: &[Ended], elapsed: Duration) -> Result<(), Failure> {
    let mut lines = table::with_head(["step", "result", "passed", "failed", "time"]);
    let mut all = Tally::default();
    for outcome in ended {
        all.add(outcome.tally);
        let verdict = if outcome.failure.is_some() {
            "FAILED"
        } else {
            "ok"
        };
        lines.add_row([
            outcome.step.title().to_owned(),
            verdict.to_owned(),
            outcome.tally.passed.to_string(),
            outcome.tally.failed.to_string(),
            table::seconds(outcome.elapsed),
        ]);
    }
    for step in &wanted[ended.len()..] {
        lines.add_row([step.title(), "not run", "", "", ""]);
    }
    println!("\n{lines}");
    println!("in {}", table::seconds(elapsed));
    println!("{} passed, {} failed", all.passed, all.failed);
    if all.failed > 0 {
        return Err(Failure::checks(""));
    }
    Ok(())
}
