//! The Khronos validation layer: how it is switched on and what it says.
//!
//! It is switched on from outside, by variables and a settings file, so that
//! what is tested is what ships.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cargo::{self, Built};
use crate::failure::Failure;
use crate::program::Program;
use crate::workspace::Workspace;

/// How long a probe may run.
pub(super) const PROBE_LIMIT: Duration = Duration::from_secs(60);

/// The test target with the deliberate misuse.
const PROBE_TARGET: &str = "validation_probe";

/// Messages go to standard output: every instance of a process opens a log file
/// anew and would empty it. Thread safety is on where nothing disables it.
/// Synchronization is checked inside command buffers only: layers that do not
/// know timelines report ordered pairs of submissions falsely.
const SETTINGS: &str = "\
khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.log_filename = stdout
khronos_validation.report_flags = error,warn
khronos_validation.enable_message_limit = false
khronos_validation.disables =
khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT
";

/// The layer's settings on disk.
#[derive(Debug)]
pub(super) struct Validation {
    dir: PathBuf,
}

impl Validation {
    /// Writes the settings into `dir`.
    pub(super) fn write(dir: &Path) -> Result<Self, Failure> {
        let path = dir.join("vk_layer_settings.txt");
        fs::create_dir_all(dir)
            .and_then(|()| fs::write(&path, SETTINGS))
            .map_err(|source| Failure::File { path, source })?;
        Ok(Self {
            dir: dir.to_path_buf(),
        })
    }

    /// The program with the layer switched on.
    pub(super) fn apply(&self, program: Program) -> Program {
        program
            .env("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation")
            .env("VK_LAYER_SETTINGS_PATH", &self.dir)
    }
}

/// The line is the head of a message of the layer, of any kind.
pub(super) fn is_message(line: &str) -> bool {
    [
        "Validation Error: [",
        "Validation Warning: [",
        "Validation Performance Warning: [",
        "UNASSIGNED-",
        "SYNC-HAZARD-",
    ]
    .iter()
    .any(|mark| line.contains(mark))
}

/// A deliberate misuse and the message that must be seen.
#[derive(Debug)]
pub(super) struct Probe {
    /// The kind of validation that it probes.
    pub(super) kind: &'static str,
    test: &'static str,
    message: &'static str,
}

/// One probe for each kind of validation.
pub(super) const PROBES: [Probe; 3] = [
    Probe {
        kind: "core",
        test: "core_validation_sees_an_empty_buffer",
        message: "VUID-VkBufferCreateInfo-size-00912",
    },
    Probe {
        kind: "synchronization",
        test: "synchronization_validation_sees_a_missing_barrier",
        message: "SYNC-HAZARD-WRITE-AFTER-WRITE",
    },
    Probe {
        kind: "thread safety",
        test: "thread_validation_sees_two_at_once",
        message: "Threading-MultipleThreads",
    },
];

impl Probe {
    /// The probe as a program.
    pub(super) fn program(&self, built: &Built) -> Program {
        built
            .program()
            .args(["--ignored", "--nocapture", "--exact", self.test])
    }

    /// The layer saw it, and the line that says so is one that a suite's run
    /// would be failed for.
    pub(super) fn is_seen_in(&self, lines: &[String]) -> bool {
        lines
            .iter()
            .any(|line| line.contains(self.message) && is_message(line))
    }
}

/// Builds the program with the probes.
pub(super) fn build_probes(workspace: &Workspace) -> Result<Built, Failure> {
    let build =
        Program::cargo().args(["test", "--no-run", "--all-features", "--test", PROBE_TARGET]);
    cargo::build(build, workspace.root())?
        .into_iter()
        .next()
        .ok_or_else(|| Failure::Unknown {
            what: "test target",
            wanted: PROBE_TARGET.into(),
            known: Vec::new(),
        })
}
