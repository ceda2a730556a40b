//! `tidy`: the house rules that protect the architecture and the evidence.
//!
//! Rules are pure: they take the texts of the repository and return violations.
//! Matters of taste are not among them; those are for readers.

mod code;
mod deny_reasons;
mod manifests;
mod scenarios;
mod snapshots;
mod sources;
mod tree;

use std::fmt;

use crate::failure::Failure;
use crate::workspace::Workspace;

use tree::Tree;

/// A rule that is broken, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Violation {
    /// The file, from the root.
    path: String,
    /// The line, from 1; absent when the whole file is meant.
    line: Option<usize>,
    /// What is wrong, as a sentence.
    words: String,
}

impl Violation {
    fn at(path: &str, line: usize, words: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line: Some(line),
            words: words.into(),
        }
    }

    fn whole(path: &str, words: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line: None,
            words: words.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.words),
            None => write!(f, "{}: {}", self.path, self.words),
        }
    }
}

/// A set of rules with a name.
type Rules = (&'static str, fn(&Tree) -> Vec<Violation>);

const RULES: [Rules; 5] = [
    ("what crates may depend on", manifests::check),
    ("what sources may name", sources::check),
    ("the scenario table", scenarios::check),
    ("snapshots", snapshots::check),
    ("reasons in deny.toml", deny_reasons::check),
];

/// Checks every rule and prints each violation.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    let tree = Tree::read(workspace.root())?;
    let mut count = 0;
    for (name, check) in RULES {
        let violations = check(&tree);
        println!("tidy: {name}: {}", verdict(violations.len()));
        for violation in &violations {
            println!("  {violation}");
        }
        count += violations.len();
    }
    if count > 0 {
        return Err(Failure::checks(format!("{count} house rules")));
    }
    Ok(())
}

fn verdict(violations: usize) -> String {
    match violations {
        0 => "ok".into(),
        1 => "1 violation".into(),
        more => format!("{more} violations"),
    }
}
