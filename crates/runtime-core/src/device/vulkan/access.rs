//! Raw access to the driver, for code that records its own commands.
#![expect(
    unsafe_code,
    reason = "the queue's caller takes obligations that no type can state"
)]

use std::fmt;

use ash::vk;
use runtime_sync::unmodelled::Arc;

pub use ash;

use super::queue::Queue;
use super::root::Root;
use crate::device::DeviceInfo;
use crate::lane::Lane;

/// The native handles of an open device.
///
/// It keeps the driver's device alive. The handles may be copied out, but not
/// used after the last access, device, buffer, kernel and region is gone.
///
/// # Safety
///
/// Ash's functions are unsafe, so using a handle is; whoever uses these also
/// promises that
/// - everything made from the device is destroyed before the access is dropped,
///   and all work submitted through it has ended by then: the runtime's own
///   timelines do not know of it;
/// - queues of lanes are used only inside [`VulkanQueue::with`]; nobody calls
///   `vkQueueWaitIdle` or `vkDeviceWaitIdle`;
/// - neither the device nor the instance is destroyed, and no object that the
///   runtime made is destroyed, reset or signalled;
/// - buffers of the runtime are touched only where the runtime lends them;
/// - what is recorded begins and ends with a memory barrier from and to
///   `ALL_COMMANDS`, since the runtime's own barriers count on it.
#[derive(Clone)]
pub struct VulkanAccess {
    root: Arc<Root>,
}

impl VulkanAccess {
    pub(super) fn new(root: &Arc<Root>) -> Self {
        Self {
            root: Arc::clone(root),
        }
    }

    /// The loader's functions.
    pub fn entry(&self) -> &ash::Entry {
        self.root.instance().entry()
    }

    /// The instance and its functions.
    pub fn instance(&self) -> &ash::Instance {
        self.root.instance().raw()
    }

    /// The physical device.
    pub fn physical_device(&self) -> vk::PhysicalDevice {
        self.root.physical
    }

    /// The device and its functions.
    pub fn device(&self) -> &ash::Device {
        &self.root.device
    }

    /// What the device is, can do, and has switched on.
    pub fn info(&self) -> &DeviceInfo {
        &self.root.info
    }

    /// The queue family that carries a lane.
    pub fn family(&self, lane: Lane) -> u32 {
        let index = self.root.info.lanes.queue(lane).index();
        self.root.info.queue_families[index]
    }

    /// The queue that carries a lane.
    pub fn queue(&self, lane: Lane) -> VulkanQueue<'_> {
        let index = self.root.info.lanes.queue(lane).index();
        VulkanQueue {
            queue: &self.root.queues[index],
        }
    }

    /// The family and handle of the reserved queue, if one was asked for. The
    /// runtime never uses it; the caller keeps its use to one thread at a time.
    pub fn reserved(&self) -> Option<(u32, vk::Queue)> {
        self.root.reserved
    }
}

impl fmt::Debug for VulkanAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VulkanAccess")
            .field("device", &self.root.info.name)
            .finish_non_exhaustive()
    }
}

/// A queue that the runtime submits to as well.
#[derive(Debug, Clone, Copy)]
pub struct VulkanQueue<'a> {
    queue: &'a Queue,
}

impl VulkanQueue<'_> {
    /// Runs `submit` with the queue while nobody else can submit to it.
    ///
    /// # Safety
    /// - `submit` makes at most one submission and waits for nothing: no idle
    ///   call, no fence, no lock of the runtime, no other queue's `with`;
    /// - the submission waits for no value that is not yet on its way: on a
    ///   shared queue everything behind it would stand still;
    /// - it keeps the list of [`VulkanAccess`].
    pub unsafe fn with<R>(&self, submit: impl FnOnce(vk::Queue) -> R) -> R {
        self.queue.with(submit)
    }
}
