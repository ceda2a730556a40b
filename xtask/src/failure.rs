//! How a command can fail, and the exit code that says so.

use std::io;
use std::path::PathBuf;

use crate::setup::Part;
use crate::tally::Tally;

/// Why a command did not end well.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A check said no; it has printed why.
    #[error("{checks} failed")]
    Checks {
        /// What said no, in the plural or the singular as it reads best.
        checks: String,
    },
    /// Some test cases failed; they have been printed.
    #[error("{} of {} cases failed", tally.failed, tally.passed + tally.failed)]
    Cases {
        /// How many.
        tally: Tally,
    },
    /// A program that we started ended badly; its own output said why.
    #[error("`{words}` ended with {code}")]
    Ended {
        /// The command line.
        words: String,
        /// Its exit code, or what ended it.
        code: ExitWords,
    },
    /// Parts of the machine are missing and were not installed.
    #[error("missing on this machine: {}", Part::list(parts))]
    Missing {
        /// Which parts.
        parts: Vec<Part>,
    },
    /// A program could not be started.
    #[error("`{program}` could not be started: {source}")]
    Start {
        /// Its name.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No workspace is here.
    #[error("no Cargo workspace with this project's `xtask` was found at or above {}", start.display())]
    NoWorkspace {
        /// Where the search began.
        start: PathBuf,
    },
    /// Nothing matches what was asked for.
    #[error("no {what} is called `{wanted}`; there are: {}", known.join(", "))]
    Unknown {
        /// What was looked for.
        what: &'static str,
        /// The name.
        wanted: String,
        /// What there is.
        known: Vec<String>,
    },
    /// What cargo said could not be understood.
    #[error("cargo's answer could not be read: {source}")]
    CargoAnswer {
        /// The decoder's complaint.
        source: serde_json::Error,
    },
}

impl Failure {
    /// A failed check with the words for it.
    pub(crate) fn checks(checks: impl Into<String>) -> Self {
        Self::Checks {
            checks: checks.into(),
        }
    }

    /// The code that the process ends with; the command line's help lists them.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Checks { .. } | Self::Cases { .. } => 1,
            Self::Unknown { .. } => 2,
            Self::Ended { code, .. } => code.code(),
            Self::Missing { .. } => 3,
            Self::Start { .. }
            | Self::File { .. }
            | Self::NoWorkspace { .. }
            | Self::CargoAnswer { .. } => 4,
        }
    }

    /// What went wrong is on the screen already.
    pub(crate) fn is_told(&self) -> bool {
        matches!(self, Self::Checks { checks } if checks.is_empty())
    }
}

/// How a program ended badly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitWords {
    /// By itself, with this code.
    Code(i32),
    /// By a signal.
    Signal,
}

impl ExitWords {
    fn code(self) -> u8 {
        match self {
            Self::Code(code) => u8::try_from(code).unwrap_or(1),
            Self::Signal => 1,
        }
    }
}

impl From<std::process::ExitStatus> for ExitWords {
    fn from(status: std::process::ExitStatus) -> Self {
        status.code().map_or(Self::Signal, Self::Code)
    }
}

impl std::fmt::Display for ExitWords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal => f.write_str("a signal"),
        }
    }
}
