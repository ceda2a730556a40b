//! The project's own commands, behind `cargo xtask`.
//!
//! Each subject has a module; this file only names the commands and turns how
//! they ended into an exit code.

mod cargo;
mod demo;
mod deny;
mod doctor;
mod failure;
mod loom;
mod platform;
mod program;
mod setup;
mod table;
mod tally;
mod test;
mod test_gpu;
mod tidy;
mod vulkan;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::failure::Failure;
use crate::workspace::Workspace;

/// Sets the machine up, runs the demo, the tests and the project's own checks.
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    after_help = "Exit codes: 0 all is well; 1 a check or a test failed; 2 the command line is wrong; \
                  3 this machine lacks something that could not be installed; \
                  4 a program could not be run or a file not be read. \
                  `demo` passes the demo's own codes on: 1 a wrong answer, report or close; \
                  2 options; 3 no device; 4 the runtime or the backend failed; \
                  5 a file could not be written."
)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Find or install the Vulkan loader, a software driver and the validation layer.
    Setup(setup::Options),
    /// Run the demo, optimised; everything behind `demo` goes to it.
    Demo(demo::Options),
    /// Run every check and test, as continuous integration does.
    Test(test::Options),
    /// Run the device suite on the scripted and on every Vulkan device, under validation.
    TestGpu(test_gpu::Options),
    /// Run the concurrency models under the model checker.
    Loom(loom::Options),
    /// Tell what this machine's devices offer the runtime, and what is wrong.
    Doctor(doctor::Options),
    /// Check the house rules: what crates must not know, and the evidence for scenarios.
    Tidy,
    /// Run cargo-deny over licences, sources and banned crates, where it is installed.
    Deny,
    /// Run what continuous integration runs: the same as `test`.
    Ci(test::Options),
}

fn main() -> ExitCode {
    let line = CommandLine::parse();
    match run(line.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.is_told() {
                eprintln!("error: {failure}");
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(command: Command) -> Result<(), Failure> {
    let workspace = Workspace::find()?;
    match command {
        Command::Setup(options) => setup::run(&options),
        Command::Demo(options) => demo::run(&workspace, &options),
        Command::Test(options) | Command::Ci(options) => test::run(&workspace, &options),
        Command::TestGpu(options) => test_gpu::run(&workspace, &options).map(|_| ()),
        Command::Doctor(options) => doctor::run(&options),
        Command::Loom(options) => loom::run(&workspace, &options).map(|_| ()),
        Command::Tidy => tidy::run(&workspace),
        Command::Deny => deny::run(&workspace),
    }
}

#[cfg(test)]
mod tests;
