//! Which device was asked for, and why none could be opened.

use std::fmt;

use runtime_sync::unmodelled::Arc;

use super::{DeviceInfo, DeviceUuid};

/// Which device a runtime should open.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum DeviceSelector {
    /// What the variable `LANEKEEPER_DEVICE` names, by UUID or by name, or else
    /// the best: discrete before integrated before virtual before software.
    #[default]
    Best,
    /// The one whose name contains this text, in any case.
    Named(Arc<str>),
    /// The one with this UUID.
    Uuid(DeviceUuid),
}

/// A device that was found, and why it was not taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// What it is.
    pub info: DeviceInfo,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DeviceInfo {
            name,
            kind,
            uuid,
            missing,
            ..
        } = &self.info;
        write!(f, "{name} ({kind}, {uuid}")?;
        if !missing.is_empty() {
            write!(f, ", lacks {}", missing.join(", "))?;
        }
        f.write_str(")")
    }
}

/// Why no device could be opened. Each is worth a retry after the cause is gone.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// No Vulkan loader is installed.
    #[error("no Vulkan loader was found (libvulkan)")]
    NoLoader,
    /// There is a loader but no driver that it can load.
    #[error("the Vulkan loader found no driver")]
    NoDriver,
    /// The instance could not be made.
    #[error("no Vulkan instance could be made: {call} answered code {code}")]
    Instance {
        /// The driver call.
        call: &'static str,
        /// The driver's own result code (`VkResult`).
        code: i32,
    },
    /// There are drivers but no device.
    #[error("the drivers offer no device")]
    NoDevice,
    /// Only software devices are there, and they were not allowed.
    #[error(
        "only software devices were found, and they are not allowed: {}",
        List(candidates)
    )]
    OnlySoftware {
        /// What was found.
        candidates: Vec<Candidate>,
    },
    /// No device matches what was asked for.
    #[error("no device matches `{wanted}` among: {}", List(candidates))]
    NoMatch {
        /// What was asked for.
        wanted: Arc<str>,
        /// What was found.
        candidates: Vec<Candidate>,
    },
    /// Several devices match what was asked for.
    #[error("several devices match `{wanted}`: {}", List(candidates))]
    Ambiguous {
        /// What was asked for.
        wanted: Arc<str>,
        /// Those that match.
        candidates: Vec<Candidate>,
    },
    /// The device lacks what the runtime needs.
    #[error("the device lacks what the runtime needs: {candidate}")]
    MissingFeature {
        /// The device, with what it lacks.
        candidate: Candidate,
    },
    /// The device could not be opened.
    #[error("{candidate} could not be opened: {call} answered code {code}")]
    Open {
        /// The device.
        candidate: Candidate,
        /// The driver call.
        call: &'static str,
        /// The driver's own result code (`VkResult`).
        code: i32,
    },
}

struct List<'a>(&'a [Candidate]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (place, candidate) in self.0.iter().enumerate() {
            if place > 0 {
                f.write_str("; ")?;
            }
            candidate.fmt(f)?;
        }
        Ok(())
    }
}
