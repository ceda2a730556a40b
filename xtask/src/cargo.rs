//! Building with cargo and learning where the executables are.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::failure::Failure;
use crate::program::Program;

#[cfg(test)]
mod tests;

/// An executable that cargo built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Built {
    /// The package's name.
    pub(crate) package: String,
    /// The target's name within it.
    pub(crate) target: String,
    /// The target's kind as cargo spells it: `lib`, `bin`, `example`, `test`.
    pub(crate) kind: String,
    /// The package's directory: tests expect to start in it.
    pub(crate) dir: PathBuf,
    /// The executable.
    pub(crate) path: PathBuf,
}

impl Built {
    /// The executable as a program, in the surroundings that cargo gives it.
    pub(crate) fn program(&self) -> Program {
        Program::new(&self.path)
            .env("CARGO_MANIFEST_DIR", &self.dir)
            .env("CARGO_PKG_NAME", &self.package)
            .dir(&self.dir)
    }
}

/// Runs a building cargo command in `root` and returns its executables.
pub(crate) fn build(program: Program, root: &Path) -> Result<Vec<Built>, Failure> {
    let answer = program
        .args(["--message-format", "json-render-diagnostics"])
        .dir(root)
        .output()?;
    executables(&String::from_utf8_lossy(&answer))
}

/// The executables that cargo's messages tell of, in their order.
fn executables(messages: &str) -> Result<Vec<Built>, Failure> {
    let mut built = Vec::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Message =
            serde_json::from_str(line).map_err(|source| Failure::CargoAnswer { source })?;
        if let (Some(path), Some(target), Some(manifest)) =
            (message.executable, message.target, message.manifest_path)
        {
            let dir = manifest.parent().map(Path::to_path_buf).unwrap_or_default();
            built.push(Built {
                package: package_name(&dir),
                target: target.name,
                kind: target.kind.into_iter().next().unwrap_or_default(),
                dir,
                path,
            });
        }
    }
    Ok(built)
}

#[derive(Debug, Deserialize)]
struct Message {
    executable: Option<PathBuf>,
    target: Option<Target>,
    manifest_path: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

/// Every package of the workspace lies in a directory of its own name.
fn package_name(dir: &Path) -> String {
    dir.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
