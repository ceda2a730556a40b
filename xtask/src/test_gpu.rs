//! `test-gpu`: one device suite, on every device.
//!
//! The suite runs on the scripted device, then on every Vulkan device under
//! core, synchronization and thread-safety validation; any message of the layer
//! is a failure. Because a silent layer would pass everything, each device first
//! gets the probes: deliberate misuse whose message must be seen.

mod targets;
mod validation;

use std::time::Duration;

use clap::Args;

use crate::cargo::{self, Built};
use crate::failure::Failure;
use crate::program::{Captured, Program};
use crate::setup::{self, Need};
use crate::table;
use crate::tally::Tally;
use crate::workspace::Workspace;

use targets::Target;
use validation::Validation;

#[cfg(test)]
mod tests;

/// The crates that bring a device suite.
const PACKAGES: [&str; 2] = ["runtime-core", "native-session"];

/// The suite's test target.
const SUITE: &str = "device_suite";

/// How long one crate's suite may run on one device.
const SUITE_LIMIT: Duration = Duration::from_secs(600);

/// Tells the suite its device.
const DEVICE_VARIABLE: &str = "LANEKEEPER_TEST_DEVICE";

/// Tells the suite that validation is on: deliberate misuse stays out.
const VALIDATION_VARIABLE: &str = "LANEKEEPER_TEST_VALIDATION";

/// What test-gpu is told.
#[derive(Debug, Default, Args)]
pub(crate) struct Options {
    /// Run on this device only: `scripted`, or a part of a Vulkan device's name or its UUID.
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Only list the devices.
    #[arg(long)]
    list: bool,
    /// Run only the cases whose path contains this text.
    #[arg(long, value_name = "NAME")]
    case: Option<String>,
}

impl Options {
    /// The scripted device alone.
    pub(crate) fn scripted() -> Self {
        Self {
            device: Some(targets::SCRIPTED.into()),
            ..Self::default()
        }
    }
}

/// The driver, by a part of its devices' names, that refuses a wrong entry point
/// instead of crashing.
const REFUSES_MISUSE: &str = "llvmpipe";

/// The module with the misuse that it refuses, as the runner spells it.
const MISUSE_MODULE: &str = "device::vulkan::tests::computing::";

/// The files whose ignored tests run here, from the root; others run nowhere.
pub(crate) const IGNORED_RUN_HERE: [&str; 2] = [
    "crates/runtime-core/src/device/vulkan/tests/computing.rs",
    "crates/runtime-core/tests/validation_probe.rs",
];

/// What one crate's suite (or the probes) came to on one device.
#[derive(Debug)]
struct Outcome {
    device: String,
    suite: String,
    tally: Tally,
    messages: usize,
    elapsed: Duration,
    verdict: String,
}

/// Runs the suites and prints what came of them on each device.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<Tally, Failure> {
    let scripted_only = options.device.as_deref() == Some(targets::SCRIPTED);
    if !scripted_only {
        setup::ensure(Need::Test)?;
    }
    let targets = targets::chosen(options.device.as_deref())?;
    if options.list {
        for target in &targets {
            println!("{target}");
        }
        return Ok(Tally::default());
    }
    let suites = build(workspace)?;
    let validation = Validation::write(&workspace.target().join("validation"))?;
    let mut outcomes: Vec<Outcome> = missing(&suites).collect();
    for target in &targets {
        println!("\n--- {target}");
        match target {
            Target::Unusable { .. } => {}
            Target::Scripted => {
                for suite in &suites {
                    outcomes.push(run_suite(suite, target, None, options)?);
                }
            }
            Target::Vulkan { .. } => {
                outcomes.push(run_probes(workspace, target, &validation)?);
                if target.name().contains(REFUSES_MISUSE) {
                    outcomes.push(run_misuse(workspace, target)?);
                }
                for suite in &suites {
                    outcomes.push(run_suite(suite, target, Some(&validation), options)?);
                }
            }
        }
    }
    summarize(&outcomes)
}

/// Builds the suites with the features that the other tests use, so that the
/// crates below them are built once.
fn build(workspace: &Workspace) -> Result<Vec<Built>, Failure> {
    let build = Program::cargo().args(["test", "--no-run", "--all-features", "--test", SUITE]);
    cargo::build(build, workspace.root())
}

/// A failed outcome for each crate whose suite is not there.
fn missing(suites: &[Built]) -> impl Iterator<Item = Outcome> {
    PACKAGES
        .into_iter()
        .filter(|package| !suites.iter().any(|suite| suite.package == *package))
        .map(|package| Outcome {
            device: "any".into(),
            suite: package.into(),
            tally: Tally::one(false),
            messages: 0,
            elapsed: Duration::ZERO,
            verdict: "FAILED (it has no device suite)".into(),
        })
}

fn run_suite(
    suite: &Built,
    target: &Target,
    validation: Option<&Validation>,
    options: &Options,
) -> Result<Outcome, Failure> {
    let mut program = target
        .apply(suite.program())
        .env("INSTA_UPDATE", "no")
        .args(&options.case);
    if let Some(validation) = validation {
        program = validation.apply(program).env(VALIDATION_VARIABLE, "1");
    }
    let captured = program.capture(SUITE_LIMIT)?;
    let outcome = judge(target.name(), &suite.package, &captured);
    if outcome.tally.failed > 0 {
        for line in &captured.lines {
            println!("{line}");
        }
    }
    tell(&outcome);
    Ok(outcome)
}

/// Counts the cases and the layer's messages. Messages without a failed case
/// are a failure of their own.
fn judge(device: &str, suite: &str, captured: &Captured) -> Outcome {
    let mut tally = Tally::default();
    for line in &captured.lines {
        tally.see(line);
    }
    let messages = captured
        .lines
        .iter()
        .filter(|line| validation::is_message(line))
        .count();
    let verdict = if !captured.success {
        format!("FAILED ({})", captured.ending)
    } else if messages > 0 {
        "FAILED (validation messages)".into()
    } else if tally == Tally::default() {
        "FAILED (no case ran)".into()
    } else {
        "ok".into()
    };
    Outcome {
        device: device.to_owned(),
        suite: suite.to_owned(),
        tally: tally.of_step(verdict == "ok"),
        messages,
        elapsed: captured.elapsed,
        verdict,
    }
}

fn run_probes(
    workspace: &Workspace,
    target: &Target,
    validation: &Validation,
) -> Result<Outcome, Failure> {
    let mut tally = Tally::default();
    let mut elapsed = Duration::ZERO;
    let mut unseen = Vec::new();
    let probes = validation::build_probes(workspace)?;
    for probe in validation::PROBES {
        let program = validation.apply(target.apply(probe.program(&probes)));
        let captured = program.capture(validation::PROBE_LIMIT)?;
        elapsed += captured.elapsed;
        let seen = captured.success && probe.is_seen_in(&captured.lines);
        tally.add(Tally::one(seen));
        if !seen {
            unseen.push(probe.kind);
            for line in &captured.lines {
                println!("{line}");
            }
        }
    }
    let verdict = if unseen.is_empty() {
        "ok".into()
    } else {
        format!("FAILED (not seen: {})", unseen.join(", "))
    };
    let outcome = Outcome {
        device: target.name().to_owned(),
        suite: "probes of validation".into(),
        tally,
        messages: 0,
        elapsed,
        verdict,
    };
    tell(&outcome);
    Ok(outcome)
}

/// Uses that no specification allows and this driver refuses: the tests that are
/// ignored elsewhere, since other drivers crash on them. They run without the
/// layer, which would report them.
fn run_misuse(workspace: &Workspace, target: &Target) -> Result<Outcome, Failure> {
    let program = Program::cargo()
        .args([
            "test",
            "--package",
            "runtime-core",
            "--all-features",
            "--lib",
        ])
        .args([MISUSE_MODULE, "--", "--ignored"])
        // An inherited layer would report what is tested here.
        .env("VK_INSTANCE_LAYERS", "")
        .dir(workspace.root());
    let captured = target.apply(program).capture(SUITE_LIMIT)?;
    let outcome = judge(target.name(), "misuse, without validation", &captured);
    if outcome.tally.failed > 0 {
        for line in &captured.lines {
            println!("{line}");
        }
    }
    tell(&outcome);
    Ok(outcome)
}

fn tell(outcome: &Outcome) {
    println!(
        "{}: {} passed, {} failed, {} validation messages: {}",
        outcome.suite,
        outcome.tally.passed,
        outcome.tally.failed,
        outcome.messages,
        outcome.verdict
    );
}

fn summarize(outcomes: &[Outcome]) -> Result<Tally, Failure> {
    let mut lines = table::with_head([
        "device", "suite", "passed", "failed", "messages", "time", "result",
    ]);
    let mut all = Tally::default();
    for outcome in outcomes {
        all.add(outcome.tally);
        lines.add_row([
            outcome.device.clone(),
            outcome.suite.clone(),
            outcome.tally.passed.to_string(),
            outcome.tally.failed.to_string(),
            outcome.messages.to_string(),
            table::seconds(outcome.elapsed),
            outcome.verdict.clone(),
        ]);
    }
    println!("\n{lines}");
    if all.failed > 0 {
        return Err(Failure::Cases { tally: all });
    }
    Ok(all)
}
