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

impl Options {
    /// What goes to the demo. A first `--` only divides its words from ours.
    pub(crate) fn args(&self) -> &[OsString] {
        match self.args.split_first() {
            Some((first, rest)) if first == "--" => rest,
            _ => &self.args,
        }
    }

    /// Only help or a version is wanted, which needs no device.
    pub(crate) fn only_asks(&self) -> bool {
        let asks = ["-h", "--help", "-V", "--version"];
        self.args()
            .iter()
            .any(|arg| asks.iter().any(|ask| arg == ask))
    }
}

/// Sets up what is missing, then builds and runs the demo, where the caller is:
/// the files that it is told to write are named from there.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<(), Failure> {
    if !options.only_asks() {
        setup::ensure(Need::Run)?;
    }
    Program::cargo()
        .args(["run", "--release", "--package", "tpch-demo"])
        .args([
            "--manifest-path".into(),
            workspace.root().join("Cargo.toml"),
        ])
        .args(["--"])
        .args(options.args())
        .run()
}
