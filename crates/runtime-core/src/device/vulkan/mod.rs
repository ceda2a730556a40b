//! The Vulkan device.
//!
//! [`VulkanDevice::open`] chooses a physical device and opens it; after that it
//! is a [`Device`] like any other. It needs Vulkan 1.3 with timeline semaphores,
//! synchronization2 and host query reset, and nothing beyond that.
//!
//! The device schedules nothing: it has one lock and one timeline for each
//! queue, one lock for memory, and holds no list of what was submitted. Only
//! timelines synchronise, never binary semaphores or fences.
//! All names of the driver's own types stay in here, except for
//! [`VulkanOptions::entry`] and what the feature `ash` gives away.
#![expect(
    unsafe_code,
    reason = "a submission's obligations are the caller's, as the trait says"
)]

#[cfg(feature = "ash")]
pub mod access;
mod buffer;
mod fault;
mod features;
mod instance;
mod kernel;
mod memory;
mod names;
mod queue;
mod queues;
mod record;
mod region;
mod root;
mod selection;
mod sets;
mod survey;

use std::any::Any;
use std::ffi::CString;
use std::fmt;
use std::time::Duration;

use runtime_sync::unmodelled::Arc;

#[cfg(feature = "ash")]
pub use access::{VulkanAccess, VulkanQueue};

use self::buffer::Buffer;
use self::instance::Instance;
use self::kernel::Kernel;
use self::queue::{Queue, Waits};
use self::region::Region;
use self::root::{Extras, Root};
use super::{
    BufferSpec, DEVICE_VARIABLE, Device, DeviceBuffer, DeviceFault, DeviceInfo, DeviceKernel,
    DeviceRegion, DeviceSelector, KernelSpec, Leading, Point, QueueIndex, RegionPlan,
    SelectionError, Waited,
};

/// How a device is opened.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct VulkanOptions {
    /// The entry point to start from, instead of the system's loader. An
    /// interposed one sees every call, which is how faults are injected above a
    /// healthy driver.
    pub entry: Option<::ash::Entry>,
    /// Which device is wanted.
    pub selector: DeviceSelector,
    /// Lets the processor itself be the best device, where it is the only one.
    pub allow_software: bool,
    /// Device extensions to switch on beside what the runtime needs, for code
    /// that records its own commands.
    pub extensions: Vec<CString>,
    /// Creates one more compute queue, for code that submits by itself.
    pub reserve_queue: bool,
    /// Gives the driver's objects their labels as names, where the loader has
    /// `VK_EXT_debug_utils`.
    pub debug_names: bool,
}

impl VulkanOptions {
    /// The same options with another entry point.
    #[must_use]
    pub fn entry(mut self, entry: ::ash::Entry) -> Self {
        self.entry = Some(entry);
        self
    }

    /// The same options for another device.
    #[must_use]
    pub fn selector(mut self, selector: DeviceSelector) -> Self {
        self.selector = selector;
        self
    }

    /// The same options with or without software devices.
    #[must_use]
    pub fn allow_software(mut self, allow: bool) -> Self {
        self.allow_software = allow;
        self
    }

    /// The same options with one more device extension.
    #[must_use]
    pub fn extension(mut self, name: CString) -> Self {
        self.extensions.push(name);
        self
    }

    /// The same options with or without a reserved queue.
    #[must_use]
    pub fn reserve_queue(mut self, reserve: bool) -> Self {
        self.reserve_queue = reserve;
        self
    }

    /// The same options with or without names for debuggers.
    #[must_use]
    pub fn debug_names(mut self, give: bool) -> Self {
        self.debug_names = give;
        self
    }
}

impl fmt::Debug for VulkanOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VulkanOptions")
            .field("interposed", &self.entry.is_some())
            .field("selector", &self.selector)
            .field("allow_software", &self.allow_software)
            .field("extensions", &self.extensions)
            .field("reserve_queue", &self.reserve_queue)
            .field("debug_names", &self.debug_names)
            .finish()
    }
}

/// All devices that the installed drivers have, usable or not (then
/// [`DeviceInfo::missing`] says why), in the driver's order.
///
/// # Errors
/// No loader, no driver, or a failed call.
pub fn enumerate(entry: Option<::ash::Entry>) -> Result<Vec<DeviceInfo>, SelectionError> {
    let instance = Instance::open(entry, false)?;
    let surveys = survey::survey(&instance)?;
    Ok(surveys.into_iter().map(|survey| survey.info).collect())
}

/// A GPU, or the processor standing in for one, opened through Vulkan.
///
/// Dropping it, and everything it made, destroys the driver's device, provided
/// that all accepted work is proven to have ended. Otherwise the driver's device
/// is left as it is and its memory is lost to the process; nothing ever blocks.
#[derive(Debug)]
pub struct VulkanDevice {
    root: Arc<Root>,
}

impl VulkanDevice {
    /// Chooses a device and opens it. Nothing is left behind on failure.
    ///
    /// # Errors
    /// See [`SelectionError`]: no loader, no driver, no device, no match or more
    /// than one, something missing, or the driver's refusal.
    pub fn open(options: VulkanOptions) -> Result<Self, SelectionError> {
        let variable = std::env::var(DEVICE_VARIABLE).ok();
        let wanted = selection::wish(options.selector, variable.as_deref());
        let instance = Instance::open(options.entry, options.debug_names)?;
        let mut surveys = survey::survey(&instance)?;
        let devices: Vec<DeviceInfo> = surveys.iter().map(|one| one.info.clone()).collect();
        let place = selection::choose(&devices, &wanted, options.allow_software)?;
        let chosen = surveys.swap_remove(place);
        let extras = Extras {
            extensions: &options.extensions,
            reserve_queue: options.reserve_queue,
        };
        let root = Root::open(instance, chosen, extras)?;
        tracing::debug!(device = root.info.name, driver = root.info.driver, "opened");
        Ok(Self {
            root: Arc::new(root),
        })
    }

    /// The native handles, for code that records its own commands.
    #[cfg(feature = "ash")]
    pub fn access(&self) -> VulkanAccess {
        VulkanAccess::new(&self.root)
    }

    fn queue(&self, queue: QueueIndex) -> Result<&Queue, DeviceFault> {
        let queue = self.root.queues.get(queue.index());
        queue.ok_or(DeviceFault::OtherDevice { object: "point" })
    }

    /// What a submission to `queue` waits for: the highest point of every other
    /// queue. Its own line needs no wait, and a wait on its own timeline could
    /// only stand in the way of what it waits for.
    fn waits(&self, queue: QueueIndex, points: &[Point]) -> Result<Waits, DeviceFault> {
        let mut waits = Waits::new();
        for point in points.iter().filter(|point| point.queue != queue) {
            let timeline = self.queue(point.queue)?.timeline();
            match waits.iter_mut().find(|(known, _)| *known == timeline) {
                Some((_, value)) => *value = point.value.max(*value),
                None => waits.push((timeline, point.value)),
            }
        }
        Ok(waits)
    }
}

impl Device for VulkanDevice {
    fn info(&self) -> &DeviceInfo {
        &self.root.info
    }

    fn allocate(&self, spec: BufferSpec<'_>) -> Result<Arc<dyn DeviceBuffer>, DeviceFault> {
        self.root.loss.check()?;
        Ok(Arc::new(Buffer::new(&self.root, spec)?))
    }

    fn build_kernel(&self, spec: KernelSpec<'_>) -> Result<Arc<dyn DeviceKernel>, DeviceFault> {
        self.root.loss.check()?;
        Ok(Arc::new(Kernel::new(&self.root, spec)?))
    }

    fn record(&self, plan: &RegionPlan) -> Result<Arc<dyn DeviceRegion>, DeviceFault> {
        self.root.loss.check()?;
        Ok(Arc::new(Region::new(&self.root, plan)?))
    }

    unsafe fn submit(
        &self,
        region: &dyn DeviceRegion,
        leading: Leading,
        waits: &[Point],
    ) -> Result<Point, DeviceFault> {
        self.root.loss.check()?;
        let region = region
            .as_any()
            .downcast_ref::<Region>()
            .filter(|region| region.is_of(&self.root))
            .ok_or(DeviceFault::OtherDevice { object: "region" })?;
        let index = region.queue();
        let waits = self.waits(index, waits)?;
        let queue = self.queue(index)?;
        let commands = region.commands(leading);
        // SAFETY: S2: the caller keeps the region, does not submit it twice at once
        // and waits only for accepted points; the region was recorded for its
        // queue's family, and waits on its own timeline are left out.
        let value = unsafe { queue.submit(&self.root.device, &self.root.loss, commands, &waits) }?;
        Ok(Point {
            queue: index,
            value,
        })
    }

    fn reached(&self, queue: QueueIndex) -> Result<u64, DeviceFault> {
        self.root.loss.check()?;
        let queue = self.queue(queue)?;
        queue.reached(&self.root.device, &self.root.loss)
    }

    fn wait(&self, point: Point, limit: Duration) -> Result<Waited, DeviceFault> {
        self.root.loss.check()?;
        let queue = self.queue(point.queue)?;
        queue.wait(&self.root.device, &self.root.loss, point.value, limit)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(all(test, not(runtime_loom)))]
mod tests;
