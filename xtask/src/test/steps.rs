//! The steps of `test`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;

use crate::cargo;
use crate::failure::Failure;
use crate::loom;
use crate::program::Program;
use crate::table;
use crate::tally::Tally;
use crate::test_gpu;
use crate::tidy;
use crate::workspace::Workspace;

/// The device suite is a step of its own, on every device.
const DEVICE_SUITE: &str = "device_suite";

/// How long an example may run.
const EXAMPLE_LIMIT: Duration = Duration::from_secs(180);

/// The libraries that must also build without their default features.
const BARE: [&str; 3] = ["runtime-core", "native-session", "backend-session"];

/// A step of the whole test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Step {
    /// Formatting.
    Fmt,
    /// House rules.
    Tidy,
    /// Lints over all targets and features.
    Clippy,
    /// The libraries without their default features.
    Bare,
    /// Unit tests, models on real threads, properties.
    Tests,
    /// The code in the documentation.
    DocTests,
    /// The documentation itself, without a warning.
    Docs,
    /// The examples, each a check of its own.
    Examples,
    /// The device suite on every device.
    Devices,
    /// The models under the model checker.
    Loom,
    /// Licences, sources and banned crates, where cargo-deny is installed.
    Deny,
}

impl Step {
    /// Every step, in the order in which they run: the cheap ones first.
    pub(super) const ALL: [Self; 11] = [
        Self::Fmt,
        Self::Tidy,
        Self::Deny,
        Self::Clippy,
        Self::Bare,
        Self::Tests,
        Self::DocTests,
        Self::Docs,
        Self::Examples,
        Self::Devices,
        Self::Loom,
    ];

    /// Its heading.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Fmt => "formatting",
            Self::Tidy => "house rules",
            Self::Deny => "licences and sources",
            Self::Clippy => "lints",
            Self::Bare => "without default features",
            Self::Tests => "unit, model and property tests",
            Self::DocTests => "documentation tests",
            Self::Docs => "documentation",
            Self::Examples => "examples",
            Self::Devices => "device suite",
            Self::Loom => "model checking",
        }
    }

    /// `--quick` keeps it.
    pub(super) fn is_quick(self) -> bool {
        !matches!(
            self,
            Self::Deny | Self::DocTests | Self::Docs | Self::Examples | Self::Loom
        )
    }

    /// Runs it and adds the cases that it counted.
    pub(super) fn run(
        self,
        workspace: &Workspace,
        quick: bool,
        tally: &mut Tally,
    ) -> Result<(), Failure> {
        let root = workspace.root();
        match self {
            Self::Fmt => cargo_in(root).args(["fmt", "--all", "--check"]).run(),
            Self::Tidy => tidy::run(workspace),
            Self::Deny => crate::deny::run(workspace),
            // Without `--workspace`: the default members, as everywhere here.
            Self::Clippy => cargo_in(root)
                .args(["clippy", "--all-targets", "--all-features", "--"])
                .args(["-D", "warnings"])
                .run(),
            Self::Bare => BARE.iter().try_for_each(|name| {
                cargo_in(root)
                    .args(["check", "--no-default-features", "--package", name])
                    .run()
            }),
            Self::Tests => tests(root, tally),
            Self::DocTests => cargo_in(root)
                .args(["test", "--doc", "--all-features", "--no-fail-fast"])
                .watch(|line| tally.see(line)),
            Self::Docs => cargo_in(root)
                .args(["doc", "--no-deps", "--all-features"])
                .env("RUSTDOCFLAGS", "-D warnings")
                .run(),
            Self::Examples => examples(root, tally),
            Self::Devices => devices(workspace, quick, tally),
            Self::Loom => counted(loom::run(workspace, &loom::Options::all()), tally),
        }
    }
}

/// Cargo as continuous integration runs it: snapshots are compared, not written.
fn cargo_in(root: &Path) -> Program {
    Program::cargo()
        .env("CI", "true")
        .env("INSTA_UPDATE", "no")
        .env("INSTA_WORKSPACE_ROOT", root)
        .dir(root)
}

/// All tests but the device suite, with nextest where it is installed.
fn tests(root: &Path, tally: &mut Tally) -> Result<(), Failure> {
    let mut targets = vec!["--all-features", "--lib", "--bins", "--examples"];
    let suites = integration_tests(root);
    for name in suites.iter().filter(|name| *name != DEVICE_SUITE) {
        targets.extend(["--test", name]);
    }
    let runner: &[&str] = if Program::cargo().args(["nextest", "--version"]).works() {
        &["nextest", "run", "--no-tests", "pass"]
    } else {
        &["test"]
    };
    cargo_in(root)
        .args(runner)
        .args(targets)
        .args(["--no-fail-fast"])
        .watch(|line| tally.see(line))
}

/// The names of the integration tests of all crates.
fn integration_tests(root: &Path) -> BTreeSet<String> {
    let entries = |dir: &Path| {
        fs::read_dir(dir)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
    };
    entries(&root.join("crates"))
        .flat_map(|package| entries(&package.join("tests")))
        .filter(|path| {
            path.extension().is_some_and(|ending| ending == "rs") || path.join("main.rs").is_file()
        })
        .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .collect()
}

/// Builds the examples and runs each without arguments; each must end well.
fn examples(root: &Path, tally: &mut Tally) -> Result<(), Failure> {
    let build = cargo_in(root).args(["build", "--examples", "--all-features"]);
    let mut failed = Vec::new();
    for built in cargo::build(build, root)? {
        if built.kind != "example" {
            continue;
        }
        let name = format!("{}/{}", built.package, built.target);
        let captured = built.program().capture(EXAMPLE_LIMIT)?;
        for line in &captured.lines {
            println!("    {line}");
        }
        println!(
            "{name}: {} ({})",
            captured.ending,
            table::seconds(captured.elapsed)
        );
        tally.add(Tally::one(captured.success));
        if !captured.success {
            failed.push(name);
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::checks(failed.join(", ")))
}

/// The device suite: on every device, or in a hurry on the scripted one.
fn devices(workspace: &Workspace, quick: bool, tally: &mut Tally) -> Result<(), Failure> {
    let options = if quick {
        test_gpu::Options::scripted()
    } else {
        test_gpu::Options::default()
    };
    counted(test_gpu::run(workspace, &options), tally)
}

/// Adds the cases of a command that counts its own, failed or not.
fn counted(outcome: Result<Tally, Failure>, tally: &mut Tally) -> Result<(), Failure> {
    match outcome {
        Ok(cases) => tally.add(cases),
        Err(Failure::Cases { tally: cases }) => {
            tally.add(cases);
            return Err(Failure::Cases { tally: cases });
        }
        Err(failure) => return Err(failure),
    }
    Ok(())
}
