//! A private stream: native objects of one owner on the runtime's device.
//!
//! The stream makes every object and is the only one that destroys any, so
//! nothing outlives it and a constructor that fails half way leaves nothing.
//! It submits through the locked queue of the compute lane and counts on a
//! timeline of its own; whatever it records begins and ends with a full memory
//! barrier, since the runtime knows nothing of its buffers.
//!
//! Invariant: objects are destroyed only after the timeline has reached the last
//! submitted value. Without that they are left as they are, with their device.
#![expect(
    unsafe_code,
    reason = "native objects are made, used and destroyed through C functions"
)]

mod objects;

use std::fmt;
use std::time::{Duration, Instant};

use ash::vk;
use runtime_core::Lane;
use runtime_core::device::Limits;
use runtime_core::device::vulkan::VulkanAccess;
use runtime_core::quarantine::Owner;

/// The longest that one driver call waits, so that a loss is noticed soon.
const SLICE: Duration = Duration::from_millis(100);
/// How long a drain goes on before the stream counts as stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a stream answers instead of success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamFault {
    /// The driver refused.
    Driver {
        /// The driver call.
        call: &'static str,
        /// Its answer.
        code: vk::Result,
    },
    /// The device has no memory that the host can map.
    NoHostMemory,
    /// The last submission had not ended after a minute.
    Stuck,
}

impl fmt::Display for StreamFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Driver { call, code } => write!(f, "{call} answered {code}"),
            Self::NoHostMemory => f.write_str("the device has no memory that the host can map"),
            Self::Stuck => write!(f, "the stream did not end within {PATIENCE:?}"),
        }
    }
}

impl std::error::Error for StreamFault {}

fn driver(call: &'static str) -> impl FnOnce(vk::Result) -> StreamFault {
    move |code| StreamFault::Driver { call, code }
}

type Result<T> = std::result::Result<T, StreamFault>;

/// The objects, and the line in which they are used.
#[derive(Debug)]
pub(crate) struct Stream {
    access: Owner<VulkanAccess>,
    objects: Vec<Object>,
    pool: vk::CommandPool,
    timeline: vk::Semaphore,
    submitted: u64,
}

/// Something to destroy.
#[derive(Debug, Clone, Copy)]
enum Object {
    CommandPool(vk::CommandPool),
    Semaphore(vk::Semaphore),
    Buffer(vk::Buffer),
    Memory(vk::DeviceMemory),
    SetLayout(vk::DescriptorSetLayout),
    PipelineLayout(vk::PipelineLayout),
    Pipeline(vk::Pipeline),
    DescriptorPool(vk::DescriptorPool),
}

/// A buffer with memory of its own, which the host can map.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Storage {
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    bytes: usize,
}

/// A pipeline whose bindings are storage buffers 0, 1, 2 and so on of group 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel {
    set_layout: vk::DescriptorSetLayout,
    layout: vk::PipelineLayout,
    pipeline: vk::Pipeline,
}

/// A kernel with its buffers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    kernel: Kernel,
    set: vk::DescriptorSet,
}

/// Recorded commands, to be submitted any number of times.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recorded {
    commands: vk::CommandBuffer,
}

impl Stream {
    /// A stream with nothing in it.
    pub(crate) fn new(access: VulkanAccess) -> Result<Self> {
        let mut stream = Self {
            access: Owner::new(access),
            objects: Vec::new(),
            pool: vk::CommandPool::null(),
            timeline: vk::Semaphore::null(),
            submitted: 0,
        };
        let family = stream.access.get().family(Lane::Compute);
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(family);
        // SAFETY: VUID-vkCreateCommandPool-queueFamilyIndex-01937: the family is
        // one that the device was opened with.
        stream.pool = unsafe { stream.device().create_command_pool(&info, None) }
            .map_err(driver("vkCreateCommandPool"))?;
        stream.objects.push(Object::CommandPool(stream.pool));

        let mut kind = vk::SemaphoreTypeCreateInfo::default()
            .semaphore_type(vk::SemaphoreType::TIMELINE)
            .initial_value(0);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: VUID-VkSemaphoreTypeCreateInfo-timelineSemaphore-03252: every
        // device of the runtime is opened with timeline semaphores.
        stream.timeline = unsafe { stream.device().create_semaphore(&info, None) }
            .map_err(driver("vkCreateSemaphore"))?;
        stream.objects.push(Object::Semaphore(stream.timeline));
        Ok(stream)
    }

    /// The limits that the device's kernels keep.
    pub(crate) fn limits(&self) -> Limits {
        self.access.get().info().limits
    }

    fn device(&self) -> &ash::Device {
        self.access.get().device()
    }

    /// Writes the buffer's bytes, after what was submitted has ended.
    pub(crate) fn write(&mut self, storage: Storage, bytes: &[u8]) -> Result<()> {
        assert_eq!(bytes.len(), storage.bytes, "a buffer is written whole");
        self.drain()?;
        let start = self.map(storage)?;
        // SAFETY: D1: the mapping is as long as both, and nothing else uses the
        // bytes: the stream is drained, and borrowed for this call alone.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len()) };
        self.unmap(storage);
        Ok(())
    }

    /// Reads the buffer's bytes, after what was submitted has ended.
    pub(crate) fn read(&mut self, storage: Storage) -> Result<Vec<u8>> {
        self.drain()?;
        let start = self.map(storage)?;
        // SAFETY: D1: the mapping is this long, and the drained stream writes no
        // more while it is borrowed.
        let bytes = unsafe { std::slice::from_raw_parts(start, storage.bytes) }.to_vec();
        self.unmap(storage);
        Ok(bytes)
    }

    fn map(&self, storage: Storage) -> Result<*mut u8> {
        let flags = vk::MemoryMapFlags::empty();
        // SAFETY: VUID-vkMapMemory-memory-00678: every mapping is undone before
        // the call that made it returns, and this one is of mappable memory.
        let start = unsafe {
            self.device()
                .map_memory(storage.memory, 0, vk::WHOLE_SIZE, flags)
        };
        Ok(start.map_err(driver("vkMapMemory"))?.cast())
    }

    fn unmap(&self, storage: Storage) {
        // SAFETY: VUID-vkUnmapMemory-memory-00689: the caller has just mapped it.
        unsafe { self.device().unmap_memory(storage.memory) };
    }

    /// Records phases of dispatches. Those of one phase may run at once; a later
    /// phase sees what an earlier one wrote, and the host sees it all.
    pub(crate) fn record(&mut self, phases: &[&[(Bound, [u32; 3])]]) -> Result<Recorded> {
        let device = self.device();
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(self.pool)
            .level(vk::CommandBufferLevel::PRIMARY)
            .command_buffer_count(1);
        // SAFETY: VUID-vkAllocateCommandBuffers-pAllocateInfo-00907: the count
        // is one, and the pool is used by one thread at a time.
        let buffers = unsafe { device.allocate_command_buffers(&info) }
            .map_err(driver("vkAllocateCommandBuffers"))?;
        let commands = buffers[0];
        let info = vk::CommandBufferBeginInfo::default()
            .flags(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE);
        // SAFETY: VUID-vkBeginCommandBuffer-commandBuffer-00049: it is new.
        unsafe { device.begin_command_buffer(commands, &info) }
            .map_err(driver("vkBeginCommandBuffer"))?;
        self.barrier(commands);
        for phase in phases {
            for (bound, groups) in *phase {
                self.dispatch(commands, *bound, *groups);
            }
            self.barrier(commands);
        }
        // SAFETY: VUID-vkEndCommandBuffer-commandBuffer-00059: it was begun above.
        unsafe { device.end_command_buffer(commands) }.map_err(driver("vkEndCommandBuffer"))?;
        Ok(Recorded { commands })
    }

    /// Orders everything before it against everything after it, host included.
    fn barrier(&self, commands: vk::CommandBuffer) {
        let all = vk::PipelineStageFlags2::ALL_COMMANDS;
        let barriers = [vk::MemoryBarrier2::default()
            .src_stage_mask(all)
            .src_access_mask(vk::AccessFlags2::MEMORY_WRITE)
            .dst_stage_mask(all | vk::PipelineStageFlags2::HOST)
            .dst_access_mask(
                vk::AccessFlags2::MEMORY_READ
                    | vk::AccessFlags2::MEMORY_WRITE
                    | vk::AccessFlags2::HOST_READ,
            )];
        let info = vk::DependencyInfo::default().memory_barriers(&barriers);
        // SAFETY: VUID-vkCmdPipelineBarrier2-commandBuffer-recording: it is
        // being recorded, on a device with synchronization2.
        unsafe { self.device().cmd_pipeline_barrier2(commands, &info) };
    }

    fn dispatch(&self, commands: vk::CommandBuffer, bound: Bound, groups: [u32; 3]) {
        let device = self.device();
        let point = vk::PipelineBindPoint::COMPUTE;
        // SAFETY: VUID-vkCmdBindPipeline-commandBuffer-recording: it is being
        // recorded, and the pipeline lives as long as the stream.
        unsafe { device.cmd_bind_pipeline(commands, point, bound.kernel.pipeline) };
        let sets = [bound.set];
        // SAFETY: VUID-vkCmdBindDescriptorSets-pDescriptorSets-00358: the set was
        // allocated with the layout of this very kernel.
        unsafe {
            device.cmd_bind_descriptor_sets(commands, point, bound.kernel.layout, 0, &sets, &[]);
        }
        let [x, y, z] = groups;
        // SAFETY: VUID-vkCmdDispatch-groupCountX-00386: the callers stay below
        // 65,535 groups, the least limit that Vulkan allows.
        unsafe { device.cmd_dispatch(commands, x, y, z) };
    }

    /// Hands recorded commands to the compute lane's queue, behind all earlier
    /// ones.
    pub(crate) fn submit(&mut self, recorded: Recorded) -> Result<()> {
        let value = self.submitted + 1;
        let commands = [vk::CommandBufferSubmitInfo::default().command_buffer(recorded.commands)];
        let signals = [vk::SemaphoreSubmitInfo::default()
            .semaphore(self.timeline)
            .value(value)
            .stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)];
        let submits = [vk::SubmitInfo2::default()
            .command_buffer_infos(&commands)
            .signal_semaphore_infos(&signals)];
        let access = self.access.get();
        let submit = |queue| {
            // SAFETY: VUID-vkQueueSubmit2-queue-parameter: the queue is locked
            // for this call, the commands are of its family, and the stream
            // keeps what they use until the timeline has the value.
            unsafe {
                access
                    .device()
                    .queue_submit2(queue, &submits, vk::Fence::null())
            }
        };
        // SAFETY: D2: it makes one submission, which waits for nothing.
        let submitted = unsafe { access.queue(Lane::Compute).with(submit) };
        // What was refused used no value; what was lost may still be running.
        if matches!(submitted, Ok(()) | Err(vk::Result::ERROR_DEVICE_LOST)) {
            self.submitted = value;
        }
        submitted.map_err(driver("vkQueueSubmit2"))
    }

    /// Blocks until everything that was submitted has ended.
    pub(crate) fn drain(&mut self) -> Result<()> {
        if self.submitted == 0 {
            return Ok(());
        }
        let start = Instant::now();
        let (semaphores, values) = ([self.timeline], [self.submitted]);
        let info = vk::SemaphoreWaitInfo::default()
            .semaphores(&semaphores)
            .values(&values);
        let slice_ns = u64::try_from(SLICE.as_nanos()).unwrap_or(u64::MAX);
        while start.elapsed() < PATIENCE {
            // SAFETY: VUID-VkSemaphoreWaitInfo-pSemaphores-03256: the timeline is
            // the stream's own.
            match unsafe { self.device().wait_semaphores(&info, slice_ns) } {
                Ok(()) => return Ok(()),
                Err(vk::Result::TIMEOUT) => {}
                Err(code) => return Err(driver("vkWaitSemaphores")(code)),
            }
        }
        Err(StreamFault::Stuck)
    }

    /// Destroys one object that nothing uses any more.
    fn destroy(&self, object: Object) {
        let device = self.device();
        #[expect(
            clippy::multiple_unsafe_ops_per_block,
            reason = "exactly one of them is run"
        )]
        // SAFETY: D3: the caller has drained the stream, every object is its own
        // and in the list once, and the later ones are destroyed before the
        // earlier ones that they were made from.
        unsafe {
            match object {
                Object::CommandPool(pool) => device.destroy_command_pool(pool, None),
                Object::Semaphore(semaphore) => device.destroy_semaphore(semaphore, None),
                Object::Buffer(buffer) => device.destroy_buffer(buffer, None),
                Object::Memory(memory) => device.free_memory(memory, None),
                Object::SetLayout(layout) => device.destroy_descriptor_set_layout(layout, None),
                Object::PipelineLayout(layout) => device.destroy_pipeline_layout(layout, None),
                Object::Pipeline(pipeline) => device.destroy_pipeline(pipeline, None),
                Object::DescriptorPool(pool) => device.destroy_descriptor_pool(pool, None),
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.drain().is_err() {
            // The device may still work for the objects: they stay, and so does
            // the device, which the access keeps.
            self.access.keep();
            return;
        }
        while let Some(object) = self.objects.pop() {
            self.destroy(object);
        }
    }
}
