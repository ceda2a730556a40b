//! Lanes: ordered use of the device.
//!
//! `line` is the pure machine that decides who may do what in which order,
//! `scheduler` the shell that does it. A lane does not know which queue
//! carries its work.

pub(crate) mod lease;
pub(crate) mod line;
pub(crate) mod order;
pub(crate) mod scheduler;
pub(crate) mod signal;
pub(crate) mod stage;
pub(crate) mod turns;

#[cfg(test)]
mod models;
#[cfg(test)]
#[cfg(not(runtime_loom))]
mod tests;

use std::fmt;

pub use lease::{Lease, StageRecord};
pub use stage::{StageEntered, StageScope};
pub use turns::DrainScope;

/// An ordered line of device work. A lane is not a queue: on a device with one
/// queue all lanes share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    /// Bytes from the host to the device.
    Upload,
    /// Kernels, fills, copies, and the stages of native sessions.
    Compute,
    /// Bytes from the device to the host.
    Download,
    /// Work of a neural processor beside the GPU.
    Npu,
}

impl Lane {
    /// How many lanes there are.
    pub const COUNT: usize = 4;

    /// All of them, in the order of their indices.
    pub const ALL: [Self; Self::COUNT] = [Self::Upload, Self::Compute, Self::Download, Self::Npu];

    /// As an index into per-lane tables.
    pub const fn index(self) -> usize {
        match self {
            Self::Upload => 0,
            Self::Compute => 1,
            Self::Download => 2,
            Self::Npu => 3,
        }
    }

    /// Its name, as traces and metrics spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Upload => "upload",
            Self::Compute => "compute",
            Self::Download => "download",
            Self::Npu => "npu",
        }
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
