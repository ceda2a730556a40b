//! `loom`: every concurrency model, searched by the model checker.
//!
//! A model is a test in a module called `models`. Each runs in a process of its
//! own, since a model that fails may abort. The line that it prints is the
//! evidence of the search: without one, or with one that says the search was
//! cut, the model counts as failed.

mod run;
mod said;

use std::fs;
use std::path::Path;
use std::time::Duration;

use clap::Args;

use crate::cargo::{self, Built};
use crate::failure::Failure;
use crate::program::Program;
use crate::table;
use crate::tally::Tally;
use crate::workspace::Workspace;

#[cfg(test)]
mod tests;

/// How long a test binary may take to list its tests.
const LIST_LIMIT: Duration = Duration::from_secs(30);

/// What loom is told.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only list the models.
    #[arg(long)]
    list: bool,
    /// Run only the models whose path contains this text.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Search with this many preemptions instead of each model's own bound.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    preemptions: Option<u32>,
    /// End a model after this many seconds; it then counts as failed.
    #[arg(long, value_name = "SECONDS", default_value_t = 300,
          value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
}

impl Options {
    /// Everything, with each model's own bound.
    pub(crate) fn all() -> Self {
        Self {
            list: false,
            model: None,
            preemptions: None,
            timeout: 300,
        }
    }
}

/// A model that was found.
#[derive(Debug, Clone)]
struct Model {
    built: Built,
    /// The test's path within its crate.
    path: String,
}

/// Builds, lists and runs the models.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<Tally, Failure> {
    let crates = crates_with_models(workspace.root());
    if crates.is_empty() {
        println!("No crate has a `models` module.");
        return Ok(Tally::default());
    }
    let mut models = find(workspace, &crates)?;
    if let Some(wanted) = &options.model {
        let known: Vec<String> = models.iter().map(|model| model.path.clone()).collect();
        models.retain(|model| model.path.contains(wanted.as_str()));
        if models.is_empty() {
            return Err(Failure::Unknown {
                what: "model",
                wanted: wanted.clone(),
                known,
            });
        }
    }
    if options.list {
        for model in &models {
            println!("{}: {}", model.built.package, model.path);
        }
        return Ok(Tally::default());
    }
    let outcomes = run::all(&models, options);
    judge(&models, &outcomes)
}

/// The library crates with a `models.rs`, by name.
fn crates_with_models(root: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(root.join("crates"))
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().join("src/lib.rs").is_file())
        .filter(|entry| has_models(&entry.path().join("src")))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn has_models(dir: &Path) -> bool {
    fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| {
            let path = entry.path();
            path.is_dir() && (path.ends_with("models") || has_models(&path))
                || path.ends_with("models.rs")
        })
}

/// Builds the crates' tests under the model checker, at once, so that they
/// share what they depend on, and lists their models.
fn find(workspace: &Workspace, crates: &[String]) -> Result<Vec<Model>, Failure> {
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    let packages = crates.iter().flat_map(|name| ["--package", name]);
    // A target directory of its own: other flags would rebuild everything.
    let build = Program::cargo()
        .args(["test", "--release", "--lib", "--no-run"])
        .args(packages)
        .env("RUSTFLAGS", format!("{flags} --cfg runtime_loom").trim())
        .env("CARGO_TARGET_DIR", workspace.target().join("loom"));
    let mut models = Vec::new();
    for built in cargo::build(build, workspace.root())? {
        let listed = built.program().args(["--list"]).capture(LIST_LIMIT)?;
        if !listed.success {
            let name = &built.package;
            return Err(Failure::checks(format!("listing the models of {name}")));
        }
        models.extend(said::models(&listed.lines).map(|path| Model {
            built: built.clone(),
            path,
        }));
    }
    Ok(models)
}

/// Prints the table and the outputs of those that failed.
fn judge(models: &[Model], outcomes: &[run::Outcome]) -> Result<Tally, Failure> {
    let mut lines = table::with_head(["model", "claim", "executions", "bound", "time", ""]);
    let mut tally = Tally::default();
    for (model, outcome) in models.iter().zip(outcomes) {
        let name = format!("{}::{}", model.built.package, model.path);
        let time = table::seconds(outcome.elapsed);
        let verdict = match &outcome.fault {
            None => "ok".to_owned(),
            Some(fault) => fault.to_string(),
        };
        if outcome.searches.is_empty() {
            lines.add_row([&name, "", "", "", &time, &verdict]);
        }
        for search in &outcome.searches {
            let executions = search.executions.to_string();
            let bound = search.bound.to_string();
            lines.add_row([&name, &search.claim, &executions, &bound, &time, &verdict]);
        }
        tally.add(Tally::one(outcome.fault.is_none()));
        if outcome.fault.is_some() {
            println!("--- output of {name} ---");
            for line in &outcome.lines {
                println!("{line}");
            }
            println!("---");
        }
    }
    println!("{lines}");
    println!("{} models passed, {} failed", tally.passed, tally.failed);
    if tally.failed > 0 {
        return Err(Failure::Cases { tally });
    }
    Ok(tally)
}
