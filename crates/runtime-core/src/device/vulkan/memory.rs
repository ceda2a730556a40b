//! The device's memory: which type, which block, and how many of them.
//!
//! Lock order: the allocator's lock, then nothing. Driver calls that allocate
//! and free blocks are made under it.
//! Memory does not know what it is allocated for beyond its placement.
//!
//! Dropping the allocator frees every block, whoever uses it, so the memory is
//! dropped with the root and not before.
#![expect(
    unsafe_code,
    reason = "the memory object of an allocation is told only to those who keep it"
)]

pub(super) mod atom;
pub(super) mod types;

use std::collections::HashMap;

use ash::vk;
use gpu_allocator::vulkan::{
    Allocation, AllocationCreateDesc, AllocationScheme, Allocator, AllocatorCreateDesc,
};
use gpu_allocator::{AllocationError, AllocationSizes, AllocatorDebugSettings, MemoryLocation};
use runtime_sync::Mutex;

use super::fault::Loss;
use super::instance::Instance;
use super::survey::Survey;
use crate::device::{DeviceFault, MemoryPlacement};

/// The first block of a memory type is the smallest that the allocator makes,
/// since some drivers commit a block at once; each further one is twice as large.
const FIRST_BLOCK_BYTES: u64 = 4 << 20;
const LARGEST_BLOCK_BYTES: u64 = 64 << 20;

/// All memory of a device.
#[derive(Debug)]
pub(super) struct Memory {
    types: Vec<vk::MemoryType>,
    unified: bool,
    atom_bytes: u64,
    limit: u32,
    blocks: Mutex<Blocks>,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) buffer: vk::Buffer,
    pub(super) needs: vk::MemoryRequirements,
    pub(super) bytes: u64,
    pub(super) placement: MemoryPlacement,
    pub(super) label: &'a str,
}

impl Memory {
    pub(super) fn new(
        instance: &Instance,
        device: &ash::Device,
        survey: &Survey,
    ) -> Result<Self, AllocationError> {
        let mut debug_settings = AllocatorDebugSettings::default();
        debug_settings.log_leaks_on_shutdown = false;
        let allocator = Allocator::new(&AllocatorCreateDesc {
            instance: instance.raw().clone(),
            device: device.clone(),
            physical_device: survey.physical,
            debug_settings,
            buffer_device_address: false,
            allocation_sizes: AllocationSizes::new(FIRST_BLOCK_BYTES, FIRST_BLOCK_BYTES)
                .with_max_device_memblock_size(LARGEST_BLOCK_BYTES)
                .with_max_host_memblock_size(LARGEST_BLOCK_BYTES),
        })?;
        Ok(Self {
            types: survey.memory.memory_types_as_slice().to_vec(),
            unified: survey.unified,
            atom_bytes: survey.info.limits.atom_bytes,
            limit: survey.info.limits.allocations,
            blocks: Mutex::new(Blocks {
                allocator,
                tenants: HashMap::new(),
            }),
        })
    }

    /// Memory for a buffer that is not bound yet.
    pub(super) fn allocate(
        &self,
        loss: &Loss,
        request: Request<'_>,
    ) -> Result<Allocation, DeviceFault> {
        let types = types::preferred(
            &self.types,
            request.needs.memory_type_bits,
            request.placement,
            self.unified,
        );
        if types.is_empty() {
            return Err(DeviceFault::NoSuchMemory {
                placement: request.placement,
            });
        }
        let mut blocks = self.blocks.lock();
        self.require_block(&blocks)?;
        // Where a whole block does not fit any more, the buffer alone may.
        let schemes = [
            AllocationScheme::GpuAllocatorManaged,
            AllocationScheme::DedicatedBuffer(request.buffer),
        ];
        for index in types {
            for scheme in schemes {
                let needs = self.needs(request.needs, index, scheme);
                match blocks.allocate(request.label, needs, scheme) {
                    Ok(allocation) => return Ok(allocation),
                    Err(AllocationError::OutOfMemory) => {}
                    Err(other) => return Err(self.fault(loss, &other)),
                }
            }
        }
        Err(DeviceFault::OutOfDeviceMemory {
            requested_bytes: request.bytes,
        })
    }

    /// Gives memory back. Nothing is bound to it any more.
    pub(super) fn free(&self, allocation: Allocation) {
        self.blocks.lock().free(allocation);
    }

    /// How many blocks the driver gave.
    #[cfg(test)]
    pub(super) fn block_count(&self) -> usize {
        self.blocks.lock().count()
    }

    /// The driver's count of allocations is only known exactly by asking the
    /// allocator for everything it has, so that is done only near the limit.
    fn require_block(&self, blocks: &Blocks) -> Result<(), DeviceFault> {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        // At most one block of each type is kept without a tenant.
        let at_most = blocks.tenants.len() + self.types.len();
        if at_most < limit || blocks.count() < limit {
            return Ok(());
        }
        Err(DeviceFault::TooManyAllocations { limit: self.limit })
    }

    /// The buffer's needs, narrowed to one type, and in memory that is flushed
    /// by hand padded to the atom, so that no flush touches a neighbour. A
    /// dedicated memory object has no neighbours, and must have the exact size
    /// (VUID-VkMemoryDedicatedAllocateInfo-buffer-02965).
    fn needs(
        &self,
        mut needs: vk::MemoryRequirements,
        index: u32,
        scheme: AllocationScheme,
    ) -> vk::MemoryRequirements {
        needs.memory_type_bits = 1 << index;
        let flags = usize::try_from(index)
            .ok()
            .and_then(|index| self.types.get(index))
            .map(|kind| kind.property_flags)
            .unwrap_or_default();
        if is_flushed_by_hand(flags) && scheme == AllocationScheme::GpuAllocatorManaged {
            needs.alignment = needs.alignment.max(self.atom_bytes);
            needs.size = needs
                .size
                .checked_next_multiple_of(self.atom_bytes)
                .unwrap_or(needs.size);
        }
        needs
    }

    /// The allocator tells most of the driver's results only as text.
    fn fault(&self, loss: &Loss, failure: &AllocationError) -> DeviceFault {
        const CALL: &str = "vkAllocateMemory";
        match failure {
            AllocationError::FailedToMap(_) => {
                loss.fault("vkMapMemory", vk::Result::ERROR_MEMORY_MAP_FAILED)
            }
            AllocationError::Internal(text) if text.contains("OUT_OF_HOST_MEMORY") => {
                loss.fault(CALL, vk::Result::ERROR_OUT_OF_HOST_MEMORY)
            }
            AllocationError::Internal(text) if text.contains("TOO_MANY_OBJECTS") => {
                DeviceFault::TooManyAllocations { limit: self.limit }
            }
            AllocationError::Internal(text) if text.contains("DEVICE_LOST") => loss.note(CALL),
            _ => loss.fault(CALL, vk::Result::ERROR_UNKNOWN),
        }
    }
}

/// Whether the host sees such memory and must flush and invalidate it.
pub(super) fn is_flushed_by_hand(flags: vk::MemoryPropertyFlags) -> bool {
    flags.contains(vk::MemoryPropertyFlags::HOST_VISIBLE)
        && !flags.contains(vk::MemoryPropertyFlags::HOST_COHERENT)
}

/// The allocator, and how many allocations live in each of its blocks.
#[derive(Debug)]
struct Blocks {
    allocator: Allocator,
    tenants: HashMap<vk::DeviceMemory, u32>,
}

impl Blocks {
    fn allocate(
        &mut self,
        label: &str,
        needs: vk::MemoryRequirements,
        scheme: AllocationScheme,
    ) -> Result<Allocation, AllocationError> {
        let allocation = self.allocator.allocate(&AllocationCreateDesc {
            name: label,
            requirements: needs,
            // Only one type is allowed by now, so the allocator has no choice.
            location: MemoryLocation::Unknown,
            linear: true,
            allocation_scheme: scheme,
        })?;
        *self.tenants.entry(object(&allocation)).or_default() += 1;
        Ok(allocation)
    }

    fn free(&mut self, allocation: Allocation) {
        let object = object(&allocation);
        if let Some(tenants) = self.tenants.get_mut(&object) {
            *tenants -= 1;
            if *tenants == 0 {
                self.tenants.remove(&object);
            }
        }
        if let Err(failure) = self.allocator.free(allocation) {
            tracing::error!(%failure, "the allocator did not take its memory back");
        }
    }

    fn count(&self) -> usize {
        self.allocator.generate_report().blocks.len()
    }
}

/// The memory object that an allocation lies in.
pub(super) fn object(allocation: &Allocation) -> vk::DeviceMemory {
    // SAFETY: rule S41: the object is not freed while the allocation is alive.
    unsafe { allocation.memory() }
}
