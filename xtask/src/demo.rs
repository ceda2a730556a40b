//! `demo`: the demo program, optimised.

use std::ffi::OsString;

use clap::Args;

use crate::failure::Failure;
use crate::program::Program;
use crate::setup::{self, Need};
use crate::workspace::Workspace;

/// What the demo is told.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Options {
    /// Arguments for the demo; `demo --help` shows its own help.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

/// Sets up what is missing, then builds and runs the demo.
pub(crate) fn run(workspace: &Workspace, options: Options) -> Result<(), Failure> {
    setup::ensure(Need::Run)?;
    Program::cargo()
        .args(["run", "--release", "--package", "tpch-demo", "--"])
        .args(options.args)
        .dir(workspace.root())
        .run()
}
