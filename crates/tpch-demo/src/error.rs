//! What can end the program early, and with which exit code.

use std::path::PathBuf;

use crate::classifier::ClassifierError;
use crate::generate::GenerateError;

/// Why a run gave no document.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    #[error("could not generate the table: {0}")]
    Generate(#[from] GenerateError),
    #[error("the device runtime failed: {0}")]
    Runtime(#[from] runtime_core::Error),
    #[error("the backend failed: {0}")]
    Backend(#[from] backend_session::Error),
    #[error("the classifier failed: {0}")]
    Classifier(#[from] ClassifierError),
    #[error("a task ended without its result: {0}")]
    Task(#[from] tokio::task::JoinError),
    #[error("could not start: {0}")]
    Start(#[source] std::io::Error),
    #[error("could not write {}: {source}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("could not write to standard output: {0}")]
    Output(#[source] std::io::Error),
    #[error("could not encode as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl DemoError {
    /// The program's exit code: 1 is for wrong answers and reports, 2 for wrong
    /// options, as the option parser has it too.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            DemoError::Generate(GenerateError::Scale { .. }) => 2,
            DemoError::Runtime(error) if error.kind() == runtime_core::ErrorKind::NoDevice => 3,
            DemoError::Write { .. } | DemoError::Output(_) => 5,
            _ => 4,
        }
    }
}
