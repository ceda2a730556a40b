//! Where the project lies on this machine.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The checkout that the commands work on.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Looks from xtask's own manifest (which cargo names) or else from the
    /// current directory upwards. Not fixed at compile time: checkouts may
    /// share one target directory.
    pub(crate) fn find() -> Result<Self, Failure> {
        let start = env::var_os("CARGO_MANIFEST_DIR")
            .map(PathBuf::from)
            .or_else(|| env::current_dir().ok())
            .unwrap_or_default();
        start
            .ancestors()
            .find(|place| is_root(place))
            .map(|place| Self {
                root: place.to_path_buf(),
            })
            .ok_or(Failure::NoWorkspace { start })
    }

    /// The root directory.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Where builds go: what `CARGO_TARGET_DIR` says, or `target`.
    pub(crate) fn target(&self) -> PathBuf {
        env::var_os("CARGO_TARGET_DIR")
            .filter(|text| !text.is_empty())
            .map_or_else(|| self.root.join("target"), |dir| self.root.join(dir))
    }
}

fn is_root(place: &Path) -> bool {
    place.join("xtask").join("Cargo.toml").is_file()
        && fs::read_to_string(place.join("Cargo.toml"))
            .is_ok_and(|text| text.contains("[workspace]"))
}
