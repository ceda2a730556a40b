//! Stand-ins that make a device look like another one.
//!
//! Two families where there is one: the second, made for transfers, is the same
//! queue again, so a test in this disguise submits from one thread. Memory that
//! is not coherent where it is. Fewer allocations than the driver allows.

use std::ffi::CStr;

use ash::vk;

use super::interposer::{below, disguised};

/// How a device looks, and what was seen of its use.
#[derive(Default)]
pub(super) struct Disguise {
    pub(super) transfer_family: bool,
    pub(super) incoherent: bool,
    pub(super) allocation_limit: Option<u32>,
    /// The values waited for, by submission.
    pub(super) waits: Vec<Vec<u64>>,
    /// The ranges flushed and invalidated: memory, offset, length.
    pub(super) ranges: Vec<(vk::DeviceMemory, u64, u64)>,
    /// The memory barriers recorded: to which stages, with which accesses.
    pub(super) barriers: Vec<(vk::PipelineStageFlags2, vk::AccessFlags2)>,
    /// How many devices were destroyed.
    pub(super) destroyed: u32,
    /// How many buffers were asked for.
    pub(super) buffers: u32,
    /// The families that buffers were made for.
    pub(super) sharing: Vec<u32>,
}

impl Disguise {
    pub(super) fn note_waits(&mut self, submits: &[vk::SubmitInfo2<'_>]) {
        for submit in submits {
            let count = submit.wait_semaphore_info_count as usize;
            let waits = if count == 0 {
                Vec::new()
            } else {
                // SAFETY: Vulkan's caller passes that many waits.
                let waits =
                    unsafe { std::slice::from_raw_parts(submit.p_wait_semaphore_infos, count) };
                waits.iter().map(|wait| wait.value).collect()
            };
            self.waits.push(waits);
        }
    }
}

/// The stand-in for a function, if it has one.
pub(super) fn stand_in(name: &CStr) -> Option<*const ()> {
    Some(match name.to_bytes() {
        b"vkGetPhysicalDeviceProperties" => {
            properties as vk::PFN_vkGetPhysicalDeviceProperties as *const ()
        }
        b"vkGetPhysicalDeviceMemoryProperties" => {
            memory as vk::PFN_vkGetPhysicalDeviceMemoryProperties as *const ()
        }
        b"vkGetPhysicalDeviceQueueFamilyProperties" => {
            families as vk::PFN_vkGetPhysicalDeviceQueueFamilyProperties as *const ()
        }
        b"vkCmdPipelineBarrier2" => barrier as vk::PFN_vkCmdPipelineBarrier2 as *const (),
        b"vkDestroyDevice" => destroy as vk::PFN_vkDestroyDevice as *const (),
        b"vkGetDeviceQueue" => queue as vk::PFN_vkGetDeviceQueue as *const (),
        b"vkCreateCommandPool" => pool as vk::PFN_vkCreateCommandPool as *const (),
        b"vkCreateBuffer" => buffer as vk::PFN_vkCreateBuffer as *const (),
        b"vkFlushMappedMemoryRanges" => flush as vk::PFN_vkFlushMappedMemoryRanges as *const (),
        b"vkInvalidateMappedMemoryRanges" => {
            invalidate as vk::PFN_vkInvalidateMappedMemoryRanges as *const ()
        }
        _ => return None,
    })
}

/// The queues to create, in the driver's families.
pub(super) fn undisguised(info: &vk::DeviceCreateInfo<'_>) -> u32 {
    if disguised(|disguise| disguise.transfer_family) {
        1
    } else {
        info.queue_create_info_count
    }
}

unsafe extern "system" fn properties(
    physical: vk::PhysicalDevice,
    properties: *mut vk::PhysicalDeviceProperties,
) {
    // SAFETY: the type belongs to the name.
    let function: vk::PFN_vkGetPhysicalDeviceProperties =
        unsafe { below(c"vkGetPhysicalDeviceProperties") };
    // SAFETY: the arguments are passed on as they came.
    unsafe { function(physical, properties) };
    if let Some(limit) = disguised(|disguise| disguise.allocation_limit) {
        // SAFETY: Vulkan's caller gives a place to write to.
        unsafe { (*properties).limits.max_memory_allocation_count = limit };
    }
}

unsafe extern "system" fn memory(
    physical: vk::PhysicalDevice,
    memory: *mut vk::PhysicalDeviceMemoryProperties,
) {
    // SAFETY: the type belongs to the name.
    let function: vk::PFN_vkGetPhysicalDeviceMemoryProperties =
        unsafe { below(c"vkGetPhysicalDeviceMemoryProperties") };
    // SAFETY: the arguments are passed on as they came.
    unsafe { function(physical, memory) };
    if disguised(|disguise| disguise.incoherent) {
        // SAFETY: the loader just wrote it.
        for kind in unsafe { &mut (*memory).memory_types } {
            kind.property_flags &= !vk::MemoryPropertyFlags::HOST_COHERENT;
        }
    }
}

unsafe extern "system" fn families(
    physical: vk::PhysicalDevice,
    count: *mut u32,
    families: *mut vk::QueueFamilyProperties,
) {
    if !disguised(|disguise| disguise.transfer_family) {
        // SAFETY: the type belongs to the name.
        let function: vk::PFN_vkGetPhysicalDeviceQueueFamilyProperties =
            unsafe { below(c"vkGetPhysicalDeviceQueueFamilyProperties") };
        // SAFETY: the arguments are passed on as they came.
        unsafe { function(physical, count, families) };
        return;
    }
    // SAFETY: Vulkan's caller gives a place to write to.
    unsafe { count.write(2) };
    if families.is_null() {
        return;
    }
    let all = vk::QueueFlags::COMPUTE | vk::QueueFlags::TRANSFER;
    for (place, flags) in [all, vk::QueueFlags::TRANSFER].into_iter().enumerate() {
        let family = vk::QueueFamilyProperties {
            queue_flags: flags,
            queue_count: 1,
            ..Default::default()
        };
        // SAFETY: the caller has asked for the count before, which is two.
        let to = unsafe { families.add(place) };
        // SAFETY: as above.
        unsafe { to.write(family) };
    }
}

unsafe extern "system" fn queue(
    device: vk::Device,
    family: u32,
    number: u32,
    queue: *mut vk::Queue,
) {
    let split = disguised(|disguise| disguise.transfer_family);
    // SAFETY: the type belongs to the name.
    let function: vk::PFN_vkGetDeviceQueue = unsafe { below(c"vkGetDeviceQueue") };
    // SAFETY: the arguments are passed on, without the disguise.
    unsafe { function(device, if split { 0 } else { family }, number, queue) };
}

unsafe extern "system" fn destroy(
    device: vk::Device,
    callbacks: *const vk::AllocationCallbacks<'_>,
) {
    disguised(|disguise| disguise.destroyed += 1);
    // SAFETY: the type belongs to the name.
    let function: vk::PFN_vkDestroyDevice = unsafe { below(c"vkDestroyDevice") };
    // SAFETY: the arguments are passed on as they came.
    unsafe { function(device, callbacks) };
}

unsafe extern "system" fn pool(
    device: vk::Device,
    info: *const vk::CommandPoolCreateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    pool: *mut vk::CommandPool,
) -> vk::Result {
    // SAFETY: Vulkan's caller passes an info that is alive.
    let mut info = unsafe { *info };
    if disguised(|disguise| disguise.transfer_family) {
        info.queue_family_index = 0;
    }
    // SAFETY: the type belongs to the name.
    let function: vk::PFN_vkCreateCommandPool = unsafe { below(c"vkCreateCommandPool") };
    // SAFETY: the arguments are passed on, without the disguise.
    unsafe { function(device, &raw const info, callbacks, pool) }
}

unsafe extern "system" fn buffer(
    device: vk::Device,
    info: *const vk::BufferCreateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    buffer: *mut vk::Buffer,
) -> vk::Result {
    // SAFETY: Vulkan's caller passes an info that is alive.
    let mut info = unsafe { *info };
    disguised(|disguise| disguise.buffers += 1);
    if info.sharing_mode == vk::SharingMode::CONCURRENT {
        let count = info.queue_family_index_count as usize;
        // SAFETY: Vulkan's caller passes that many families.
        let families = unsafe { std::slice::from_raw_parts(info.p_queue_family_indices, count) };
        disguised(|disguise| disguise.sharing = families.to_vec());
        info.sharing_mode = vk::SharingMode::EXCLUSIVE;
    }
    // SAFETY: the type belongs to the name.
    let function: vk::PFN_vkCreateBuffer = unsafe { below(c"vkCreateBuffer") };
    // SAFETY: the arguments are passed on, without the disguise.
    unsafe { function(device, &raw const info, callbacks, buffer) }
}

unsafe extern "system" fn barrier(
    commands: vk::CommandBuffer,
    info: *const vk::DependencyInfo<'_>,
) {
    // SAFETY: Vulkan's caller passes an info that is alive.
    let described = unsafe { *info };
    let count = described.memory_barrier_count as usize;
    // SAFETY: Vulkan's caller passes that many barriers.
    let memory = unsafe { std::slice::from_raw_parts(described.p_memory_barriers, count) };
    for one in memory {
        assert_eq!(one.src_stage_mask, vk::PipelineStageFlags2::ALL_COMMANDS);
        assert_eq!(one.src_access_mask, vk::AccessFlags2::MEMORY_WRITE);
        let to = (one.dst_stage_mask, one.dst_access_mask);
        disguised(|disguise| disguise.barriers.push(to));
    }
    // SAFETY: the type belongs to the name.
    let function: vk::PFN_vkCmdPipelineBarrier2 = unsafe { below(c"vkCmdPipelineBarrier2") };
    // SAFETY: the arguments are passed on as they came.
    unsafe { function(commands, info) };
}

unsafe extern "system" fn flush(
    device: vk::Device,
    count: u32,
    ranges: *const vk::MappedMemoryRange<'_>,
) -> vk::Result {
    // SAFETY: as this function's caller promises.
    unsafe { note(count, ranges) };
    // SAFETY: the type belongs to the name.
    let function: vk::PFN_vkFlushMappedMemoryRanges =
        unsafe { below(c"vkFlushMappedMemoryRanges") };
    // SAFETY: the arguments are passed on as they came.
    unsafe { function(device, count, ranges) }
}

unsafe extern "system" fn invalidate(
    device: vk::Device,
    count: u32,
    ranges: *const vk::MappedMemoryRange<'_>,
) -> vk::Result {
    // SAFETY: as this function's caller promises.
    unsafe { note(count, ranges) };
    // SAFETY: the type belongs to the name.
    let function: vk::PFN_vkInvalidateMappedMemoryRanges =
        unsafe { below(c"vkInvalidateMappedMemoryRanges") };
    // SAFETY: the arguments are passed on as they came.
    unsafe { function(device, count, ranges) }
}

/// # Safety
/// There are that many ranges.
unsafe fn note(count: u32, ranges: *const vk::MappedMemoryRange<'_>) {
    // SAFETY: the caller's promise.
    let ranges = unsafe { std::slice::from_raw_parts(ranges, count as usize) };
    let ranges = ranges.iter().map(|one| (one.memory, one.offset, one.size));
    disguised(|disguise| disguise.ranges.extend(ranges));
}
