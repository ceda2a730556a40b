//! Which queues are taken, and which lane runs on which.
//!
//! Pure: the families of a device in, a plan out.

use ash::vk;

use crate::device::{LaneMap, QueueIndex};
use crate::lane::Lane;

/// A queue of the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueuePlace {
    /// The driver's index of its family.
    pub(super) family: u32,
    /// Its number in the family.
    pub(super) number: u32,
}

/// The queues of a device that the runtime takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QueuePlan {
    /// By [`QueueIndex`].
    pub(super) queues: Vec<QueuePlace>,
    /// Which of them carries each lane.
    pub(super) lanes: LaneMap,
    /// One more compute queue, for code that submits by itself.
    pub(super) spare: Option<QueuePlace>,
}

impl QueuePlan {
    /// Plans the queues of a device; `None` where nothing computes.
    ///
    /// Compute goes to a family without graphics where there is one, so that a
    /// display does not stand in its line. Transfers go to a family that does
    /// nothing else, because only there they have engines of their own: one
    /// queue for each direction where it has two. Otherwise everything shares
    /// the compute queue.
    pub(super) fn new(families: &[vk::QueueFamilyProperties]) -> Option<Self> {
        let compute = family_where(families, |flags| {
            flags.contains(vk::QueueFlags::COMPUTE) && !flags.contains(vk::QueueFlags::GRAPHICS)
        })
        .or_else(|| family_where(families, |flags| flags.contains(vk::QueueFlags::COMPUTE)))?;
        let transfer = family_where(families, is_transfer_only);

        let mut queues = vec![first_of(compute)];
        let mut lanes = LaneMap::shared();
        if let Some(transfer) = transfer {
            queues.push(first_of(transfer));
            lanes = LaneMap::split(QueueIndex(0), QueueIndex(1));
            if transfer.count > 1 {
                queues.push(QueuePlace {
                    family: transfer.index,
                    number: 1,
                });
                lanes = lanes.with(Lane::Download, QueueIndex(2));
            }
        }
        Some(Self {
            queues,
            lanes,
            spare: spare(families, compute),
        })
    }

    /// The families of the queues, each once, in rising order.
    pub(super) fn families(&self) -> Vec<u32> {
        distinct(self.queues.iter().map(|place| place.family))
    }
}

/// Each value once, in rising order.
pub(super) fn distinct(values: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut values: Vec<u32> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// A family that was picked.
#[derive(Debug, Clone, Copy)]
struct Family {
    index: u32,
    count: u32,
}

fn first_of(family: Family) -> QueuePlace {
    QueuePlace {
        family: family.index,
        number: 0,
    }
}

fn family_where(
    families: &[vk::QueueFamilyProperties],
    fits: impl Fn(vk::QueueFlags) -> bool,
) -> Option<Family> {
    (0_u32..)
        .zip(families)
        .find(|(_, family)| family.queue_count > 0 && fits(family.queue_flags))
        .map(|(index, family)| Family {
            index,
            count: family.queue_count,
        })
}

/// Video and optical-flow families also offer transfers, through engines that
/// are not made for them.
fn is_transfer_only(flags: vk::QueueFlags) -> bool {
    let beside =
        vk::QueueFlags::TRANSFER | vk::QueueFlags::SPARSE_BINDING | vk::QueueFlags::PROTECTED;
    flags.contains(vk::QueueFlags::TRANSFER) && beside.contains(flags)
}

fn spare(families: &[vk::QueueFamilyProperties], compute: Family) -> Option<QueuePlace> {
    if compute.count > 1 {
        return Some(QueuePlace {
            family: compute.index,
            number: 1,
        });
    }
    (0_u32..)
        .zip(families)
        .find(|(index, family)| {
            *index != compute.index
                && family.queue_count > 0
                && family.queue_flags.contains(vk::QueueFlags::COMPUTE)
        })
        .map(|(family, _)| QueuePlace { family, number: 0 })
}

#[cfg(all(test, not(runtime_loom)))]
mod tests;
