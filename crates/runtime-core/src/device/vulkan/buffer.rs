//! Buffers.
#![expect(
    unsafe_code,
    reason = "buffers are created, bound and flushed through C functions"
)]

use std::any::Any;

use ash::vk;
use gpu_allocator::vulkan::Allocation;
use runtime_sync::unmodelled::Arc;

use super::memory::atom::Plot;
use super::memory::{self, Request};
use super::root::Root;
use crate::device::{BufferSpec, DeviceBuffer, DeviceFault, HostSpan};

/// A buffer and the memory bound to it.
#[derive(Debug)]
pub(super) struct Buffer {
    root: Arc<Root>,
    raw: vk::Buffer,
    bytes: u64,
    allocation: Allocation,
}

impl Buffer {
    /// Creates a buffer and binds memory to it.
    pub(super) fn new(root: &Arc<Root>, spec: BufferSpec<'_>) -> Result<Self, DeviceFault> {
        if spec.bytes > root.info.limits.buffer_bytes {
            return Err(DeviceFault::OutOfDeviceMemory {
                requested_bytes: spec.bytes,
            });
        }
        // From here on the buffer destroys what it has, also half made.
        let mut buffer = Self {
            root: Arc::clone(root),
            raw: create(root, spec)?,
            bytes: spec.bytes,
            allocation: Allocation::default(),
        };
        // SAFETY: VUID-vkGetBufferMemoryRequirements-buffer-parameter: the
        // buffer is the device's.
        let needs = unsafe { root.device.get_buffer_memory_requirements(buffer.raw) };
        buffer.allocation = root.memory().allocate(
            &root.loss,
            Request {
                buffer: buffer.raw,
                needs,
                bytes: spec.bytes,
                placement: spec.placement,
                label: spec.label,
            },
        )?;
        let object = memory::object(&buffer.allocation);
        // SAFETY: VUID-vkBindBufferMemory-memoryOffset-01036 and -size-01037:
        // the allocation was made for the buffer's needs; nothing is bound yet.
        unsafe {
            root.device
                .bind_buffer_memory(buffer.raw, object, buffer.allocation.offset())
        }
        .map_err(|code| root.loss.fault("vkBindBufferMemory", code))?;
        root.names.give(buffer.raw, spec.label);
        Ok(buffer)
    }

    /// The native buffer.
    pub(super) fn raw(&self) -> vk::Buffer {
        self.raw
    }

    /// Whether `root` made it.
    pub(super) fn is_of(&self, root: &Arc<Root>) -> bool {
        Arc::ptr_eq(&self.root, root)
    }

    /// The range that a flush or an invalidation names, where one is needed.
    fn mapped(&self, offset: u64, bytes: u64) -> Option<vk::MappedMemoryRange<'static>> {
        if bytes == 0 || !memory::is_flushed_by_hand(self.allocation.memory_properties()) {
            return None;
        }
        let plot = Plot {
            start: self.allocation.offset(),
            bytes: self.allocation.size(),
        };
        let (offset, bytes) = plot.widened(offset, bytes, self.root.info.limits.atom_bytes);
        Some(
            vk::MappedMemoryRange::default()
                .memory(memory::object(&self.allocation))
                .offset(offset)
                .size(bytes),
        )
    }
}

impl DeviceBuffer for Buffer {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn host(&self) -> Option<HostSpan> {
        Some(HostSpan {
            start: self.allocation.mapped_ptr()?.cast(),
            bytes: usize::try_from(self.bytes).ok()?,
        })
    }

    fn flush(&self, offset: u64, bytes: u64) -> Result<(), DeviceFault> {
        self.root.loss.check()?;
        let Some(range) = self.mapped(offset, bytes) else {
            return Ok(());
        };
        // SAFETY: VUID-VkMappedMemoryRange-memory-00684: host-visible blocks
        // are mapped for their whole life; VUID-VkMappedMemoryRange-offset-00687
        // and -size-01390: the range is widened to the atom inside the plot.
        unsafe { self.root.device.flush_mapped_memory_ranges(&[range]) }
            .map_err(|code| self.root.loss.fault("vkFlushMappedMemoryRanges", code))
    }

    fn invalidate(&self, offset: u64, bytes: u64) -> Result<(), DeviceFault> {
        self.root.loss.check()?;
        let Some(range) = self.mapped(offset, bytes) else {
            return Ok(());
        };
        // SAFETY: VUID-VkMappedMemoryRange-size-01390, as for flushing.
        unsafe { self.root.device.invalidate_mapped_memory_ranges(&[range]) }
            .map_err(|code| self.root.loss.fault("vkInvalidateMappedMemoryRanges", code))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: VUID-vkDestroyBuffer-buffer-00922: no accepted work still uses
        // it, which is the dropper's promise (rule S42).
        unsafe { self.root.device.destroy_buffer(self.raw, None) };
        self.root
            .memory()
            .free(std::mem::take(&mut self.allocation));
    }
}

fn create(root: &Root, spec: BufferSpec<'_>) -> Result<vk::Buffer, DeviceFault> {
    let mut info = vk::BufferCreateInfo::default().size(spec.bytes).usage(
        vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::UNIFORM_BUFFER
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST,
    );
    if root.sharing.len() > 1 {
        info = info
            .sharing_mode(vk::SharingMode::CONCURRENT)
            .queue_family_indices(&root.sharing);
    }
    // SAFETY: VUID-VkBufferCreateInfo-size-00912: the runtime asks for no empty
    // buffer; VUID-VkBufferCreateInfo-size-06409: nor is it above the limit; VUID-VkBufferCreateInfo-sharingMode-01419: the families are
    // distinct.
    unsafe { root.device.create_buffer(&info, None) }.map_err(|code| {
        match root.loss.fault("vkCreateBuffer", code) {
            DeviceFault::OutOfDeviceMemory { .. } => DeviceFault::OutOfDeviceMemory {
                requested_bytes: spec.bytes,
            },
            other => other,
        }
    })
}
