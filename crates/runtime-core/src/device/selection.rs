//! Which device was asked for, and why none could be opened.

use std::fmt;

use runtime_sync::unmodelled::Arc;

use super::{DeviceInfo, DeviceUuid};

/// The environment variable that names a device where the program does not.
pub const DEVICE_VARIABLE: &str = "LANEKEEPER_DEVICE";

/// Which device a runtime should open.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum DeviceSelector {
    /// What the variable [`DEVICE_VARIABLE`] names, by UUID or by name, or else
    /// the best: discrete before integrated before virtual, and the processor
    /// itself last, if it is allowed at all.
    #[default]
    Best,
    /// The only one with this name, or else the only one whose name contains
    /// it, in any case. A software device may be named.
    Named(Arc<str>),
    /// The one with this UUID, which may be a software device's.
    Uuid(DeviceUuid),
}

/// A device that was found, and why it was not taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// What it is.
    pub info: Box<DeviceInfo>,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DeviceInfo {
            name,
            kind,
            uuid,
            missing,
            ..
        } = &*self.info;
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
    /// The loader is older than what the runtime needs.
    #[error("the Vulkan loader offers {major}.{minor}, and 1.3 is needed")]
    LoaderTooOld {
        /// The loader's major version.
        major: u32,
        /// The loader's minor version.
        minor: u32,
    },
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
    /// Every device that fits lacks what the runtime needs.
    #[error("what fits lacks what the runtime needs: {}", List(candidates))]
    MissingFeature {
        /// The devices that fit, each with what it lacks.
        candidates: Vec<Candidate>,
    },
    /// The device lacks an extension that was asked for.
    #[error("{candidate} has no extension {extension}")]
    MissingExtension {
        /// The device.
        candidate: Candidate,
        /// The extension's name.
        extension: String,
    },
    /// A queue of one's own was asked for, and the device has none left.
    #[error("{candidate} has no queue to reserve")]
    NoReservedQueue {
        /// The device.
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
