//! The texts that the rules look at.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::failure::Failure;

/// Files by their path from the root, with forward slashes.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Reads every text below `root` that a rule may want.
    pub(super) fn read(root: &Path) -> Result<Self, Failure> {
        let mut tree = Self::default();
        tree.read_dir(root, "")?;
        Ok(tree)
    }

    /// A tree of the given files.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        Self {
            files: files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
                .collect(),
        }
    }

    /// A file's text.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// All files, in the order of their paths.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    fn read_dir(&mut self, dir: &Path, below: &str) -> Result<(), Failure> {
        let fault = |source| Failure::File {
            path: dir.to_path_buf(),
            source,
        };
        for entry in fs::read_dir(dir).map_err(fault)? {
            let entry = entry.map_err(fault)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type().map_err(fault)?;
            let path = if below.is_empty() {
                name.clone()
            } else {
                format!("{below}/{name}")
            };
            if kind.is_dir() {
                // Build output, what is no part of the project, hidden things.
                let skipped = matches!(name.as_str(), "target" | "shared") || name.starts_with('.');
                if !skipped {
                    self.read_dir(&entry.path(), &path)?;
                }
            } else if kind.is_file() && is_wanted(&name) {
                let text = fs::read_to_string(entry.path()).map_err(|source| Failure::File {
                    path: entry.path(),
                    source,
                })?;
                self.files.insert(path, text);
            }
        }
        Ok(())
    }
}

fn is_wanted(name: &str) -> bool {
    [".rs", ".toml", ".md", ".snap", ".snap.new", ".pending-snap"]
        .iter()
        .any(|ending| name.ends_with(ending))
}
