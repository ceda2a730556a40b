//! Recorded regions.
//!
//! A region has a command pool and a descriptor pool of its own, so nothing
//! about it needs a lock: it is recorded once, by one thread, and from then on
//! only submitted. It is recorded twice, with and without a leading barrier,
//! because a barrier inside a command buffer costs nothing and one in a command
//! buffer of its own a whole submission's work.
#![expect(
    unsafe_code,
    reason = "pools and command buffers are created through C functions"
)]

use std::any::Any;

use ash::vk;
use runtime_sync::unmodelled::Arc;

use super::buffer::Buffer;
use super::kernel::Kernel;
use super::record::{Step, record};
use super::root::Root;
use super::sets::Sets;
use crate::device::{
    Command, DeviceBuffer, DeviceFault, DeviceKernel, DeviceRegion, Leading, QueueIndex,
    RegionPlan, Span,
};

/// Two command buffers and all that they use.
#[derive(Debug)]
pub(super) struct Region {
    root: Arc<Root>,
    queue: QueueIndex,
    pool: vk::CommandPool,
    plain: vk::CommandBuffer,
    ordered: vk::CommandBuffer,
    // Destroyed before the kernels below, whose layouts its sets have.
    sets: Option<Sets>,
    _buffers: Vec<Arc<dyn DeviceBuffer>>,
    _kernels: Vec<Arc<dyn DeviceKernel>>,
}

impl Region {
    /// Records a plan.
    pub(super) fn new(root: &Arc<Root>, plan: &RegionPlan) -> Result<Self, DeviceFault> {
        let queue = root.info.lanes.queue(plan.lane);
        // From here on the region destroys what it has, also half made.
        let mut region = Self {
            root: Arc::clone(root),
            queue,
            pool: pool(root, queue)?,
            plain: vk::CommandBuffer::null(),
            ordered: vk::CommandBuffer::null(),
            sets: None,
            _buffers: Vec::new(),
            _kernels: Vec::new(),
        };
        let steps = region.steps(plan)?;
        let [plain, ordered] = region.command_buffers()?;
        record(root, plain, Leading::Nothing, &steps, plan.read_by_host)?;
        record(root, ordered, Leading::Barrier, &steps, plan.read_by_host)?;
        root.names.give(plain, &plan.label);
        root.names.give(ordered, &plan.label);
        region.plain = plain;
        region.ordered = ordered;
        Ok(region)
    }

    /// The queue that runs it.
    pub(super) fn queue(&self) -> QueueIndex {
        self.queue
    }

    /// Whether `root` made it.
    pub(super) fn is_of(&self, root: &Arc<Root>) -> bool {
        Arc::ptr_eq(&self.root, root)
    }

    /// The command buffer that begins so.
    pub(super) fn commands(&self, leading: Leading) -> vk::CommandBuffer {
        match leading {
            Leading::Barrier => self.ordered,
            Leading::Nothing => self.plain,
        }
    }

    /// The plan in native handles, with a descriptor set for each dispatch.
    fn steps(&mut self, plan: &RegionPlan) -> Result<Vec<Step>, DeviceFault> {
        let root = Arc::clone(&self.root);
        self.sets = Sets::for_commands(&root, &plan.commands)?;
        let mut steps = Vec::with_capacity(plan.commands.len());
        for command in &plan.commands {
            steps.push(match command {
                Command::Fill { target, word } => Step::Fill {
                    buffer: self.buffer(target)?,
                    offset: target.offset,
                    bytes: target.bytes,
                    word: *word,
                },
                Command::Copy { source, target } => Step::Copy {
                    source: self.buffer(source)?,
                    target: self.buffer(target)?,
                    part: vk::BufferCopy2::default()
                        .src_offset(source.offset)
                        .dst_offset(target.offset)
                        .size(source.bytes),
                },
                Command::Dispatch {
                    kernel,
                    bindings,
                    groups,
                } => {
                    self._kernels.push(Arc::clone(kernel));
                    let kernel = kernel_of(&root, kernel)?;
                    for bound in bindings {
                        self.buffer(&bound.span)?;
                    }
                    let sets = match &mut self.sets {
                        Some(sets) => sets.bind(&root, kernel, bindings)?,
                        None => Vec::new(),
                    };
                    Step::Dispatch {
                        pipeline: kernel.pipeline(),
                        layout: kernel.layout(),
                        sets,
                        groups: *groups,
                    }
                }
                Command::Barrier => Step::Barrier,
            });
        }
        Ok(steps)
    }

    /// The span's native buffer, which the region keeps from now on.
    fn buffer(&mut self, span: &Span) -> Result<vk::Buffer, DeviceFault> {
        let raw = buffer_of(&self.root, span)?;
        self._buffers.push(Arc::clone(&span.buffer));
        Ok(raw)
    }

    fn command_buffers(&self) -> Result<[vk::CommandBuffer; 2], DeviceFault> {
        const CALL: &str = "vkAllocateCommandBuffers";
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(self.pool)
            .level(vk::CommandBufferLevel::PRIMARY)
            .command_buffer_count(2);
        // SAFETY: S44: the pool is used by this thread alone, as
        // VkCommandBufferAllocateInfo's threading rule wants.
        let buffers = unsafe { self.root.device.allocate_command_buffers(&info) }
            .map_err(|code| self.root.loss.fault(CALL, code))?;
        buffers
            .try_into()
            .map_err(|_| self.root.loss.fault(CALL, vk::Result::ERROR_UNKNOWN))
    }
}

impl DeviceRegion for Region {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: VUID-vkDestroyCommandPool-commandPool-00041: no command buffer
        // of it is pending (rule S42). It frees them all.
        unsafe { self.root.device.destroy_command_pool(self.pool, None) };
        if let Some(sets) = self.sets.take() {
            sets.destroy(&self.root);
        }
    }
}

/// The native buffer of a span, if the device made it.
pub(super) fn buffer_of(root: &Arc<Root>, span: &Span) -> Result<vk::Buffer, DeviceFault> {
    span.buffer
        .as_any()
        .downcast_ref::<Buffer>()
        .filter(|buffer| buffer.is_of(root))
        .map(Buffer::raw)
        .ok_or(DeviceFault::OtherDevice { object: "buffer" })
}

/// The native kernel, if the device made it.
pub(super) fn kernel_of<'a>(
    root: &Arc<Root>,
    kernel: &'a Arc<dyn DeviceKernel>,
) -> Result<&'a Kernel, DeviceFault> {
    kernel
        .as_any()
        .downcast_ref::<Kernel>()
        .filter(|kernel| kernel.is_of(root))
        .ok_or(DeviceFault::OtherDevice { object: "kernel" })
}

fn pool(root: &Root, queue: QueueIndex) -> Result<vk::CommandPool, DeviceFault> {
    const CALL: &str = "vkCreateCommandPool";
    let family = root.info.queue_families.get(queue.index()).copied();
    let family =
        family.ok_or_else(|| root.loss.fault(CALL, vk::Result::ERROR_FEATURE_NOT_PRESENT))?;
    let info = vk::CommandPoolCreateInfo::default().queue_family_index(family);
    // SAFETY: VUID-vkCreateCommandPool-queueFamilyIndex-01937: the family is the
    // one of a queue that the device has.
    unsafe { root.device.create_command_pool(&info, None) }
        .map_err(|code| root.loss.fault(CALL, code))
}
