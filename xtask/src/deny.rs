//! `deny`: licences, sources and banned crates, judged by cargo-deny.

use crate::failure::Failure;
use crate::program::Program;
use crate::workspace::Workspace;

/// Runs cargo-deny, or says that it is not installed.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    if !Program::cargo().args(["deny", "--version"]).works() {
        println!(
            "cargo-deny is not installed, so deny.toml was not checked \
             (install it with `cargo install cargo-deny --locked`)"
        );
        return Ok(());
    }
    Program::cargo()
        .args(["deny", "check", "bans", "licenses", "sources"])
        .dir(workspace.root())
        .run()
}
