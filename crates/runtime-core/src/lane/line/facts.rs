//! What goes into the line and what comes out of it.

use slotmap::new_key_type;

use crate::device::{DeviceFault, Point, QueueIndex};
use crate::lane::Lane;
use crate::lane::order::{Orders, RegionFacts, RegionKey, Touch};

new_key_type! {
    /// A submission that is not published yet.
    pub(crate) struct SubmissionKey;
}

/// One region as the line sees it.
#[derive(Debug, Clone)]
pub(crate) struct PlannedRegion {
    pub(crate) lane: Lane,
    pub(crate) queue: QueueIndex,
    pub(crate) touches: Vec<Touch>,
}

/// A prepared graph as the line sees it: its regions, each behind those of
/// smaller index that it conflicts with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    pub(crate) regions: Vec<PlannedRegion>,
}

impl Plan {
    pub(crate) fn has_compute(&self) -> bool {
        self.regions
            .iter()
            .any(|region| region.lane == Lane::Compute)
    }
}

/// How a submission ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    Succeeded,
    Cancelled,
    DependencyFailed,
    /// The driver refused one of its regions.
    Refused(DeviceFault),
    /// The device was lost; `uncertain` when the driver had some of it.
    Lost {
        uncertain: bool,
    },
}

/// A region that the shell hands to the driver now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) region: RegionKey,
    pub(crate) facts: RegionFacts,
    pub(crate) orders: Orders,
}

/// A submission that is over and still holds its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Finished {
    pub(crate) key: SubmissionKey,
    /// The device may still work on it, for all we know.
    pub(crate) uncertain: bool,
}

/// How far a submission has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Part of it is not with the driver yet.
    OnHost,
    /// All of it is with the driver; it ends after this point.
    OnDevice(Point),
    /// It is over, and perhaps not published yet.
    Over,
}
