//! Deliberate invalid use of Vulkan, to see that validation is watching.
//!
//! A run that accepts no validation message proves nothing unless a message
//! would have been seen. `cargo xtask test-gpu` therefore runs each of these
//! under the same settings first and wants its message. They are ignored
//! otherwise: without the layer they show nothing, and a driver owes them
//! nothing.

#![cfg(feature = "ash")]
#![expect(unsafe_code, reason = "Vulkan is called directly, wrongly on purpose")]
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::unwrap_used,
    reason = "the calls around the wrong ones are ordinary set-up of a test"
)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ash::vk;

/// Names the device to use: its name, or its UUID in hexadecimal.
const DEVICE_VARIABLE: &str = "LANEKEEPER_TEST_DEVICE";

/// How long two threads try to meet in one call.
const MEETING_TIME: Duration = Duration::from_secs(2);

/// A device with one compute queue.
struct Opened {
    _entry: ash::Entry,
    instance: ash::Instance,
    device: ash::Device,
    family: u32,
}

impl Opened {
    fn new() -> Self {
        let wanted = std::env::var(DEVICE_VARIABLE).unwrap_or_default();
        let entry = unsafe { ash::Entry::load() }.unwrap();
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
        let create = vk::InstanceCreateInfo::default().application_info(&application);
        let instance = unsafe { entry.create_instance(&create, None) }.unwrap();
        let physical = unsafe { instance.enumerate_physical_devices() }
            .unwrap()
            .into_iter()
            .find(|physical| wanted.is_empty() || is_called(&instance, *physical, &wanted))
            .unwrap();
        let families = unsafe { instance.get_physical_device_queue_family_properties(physical) };
        let family = families
            .iter()
            .position(|family| family.queue_flags.contains(vk::QueueFlags::COMPUTE))
            .and_then(|place| u32::try_from(place).ok())
            .unwrap();
        let queue = [vk::DeviceQueueCreateInfo::default()
            .queue_family_index(family)
            .queue_priorities(&[1.0])];
        let create = vk::DeviceCreateInfo::default().queue_create_infos(&queue);
        let device = unsafe { instance.create_device(physical, &create, None) }.unwrap();
        Self {
            _entry: entry,
            instance,
            device,
            family,
        }
    }

    fn buffer(&self, bytes: u64) -> vk::Buffer {
        let create = vk::BufferCreateInfo::default()
            .size(bytes)
            .usage(vk::BufferUsageFlags::TRANSFER_DST);
        unsafe { self.device.create_buffer(&create, None) }.unwrap()
    }

    fn memory(&self, buffer: vk::Buffer) -> vk::DeviceMemory {
        let needs = unsafe { self.device.get_buffer_memory_requirements(buffer) };
        let create = vk::MemoryAllocateInfo::default()
            .allocation_size(needs.size)
            .memory_type_index(needs.memory_type_bits.trailing_zeros());
        let memory = unsafe { self.device.allocate_memory(&create, None) }.unwrap();
        unsafe { self.device.bind_buffer_memory(buffer, memory, 0) }.unwrap();
        memory
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        unsafe {
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}

fn is_called(instance: &ash::Instance, physical: vk::PhysicalDevice, wanted: &str) -> bool {
    let mut ids = vk::PhysicalDeviceIDProperties::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut ids);
    unsafe { instance.get_physical_device_properties2(physical, &mut properties) };
    let name = properties
        .properties
        .device_name_as_c_str()
        .map(|name| name.to_string_lossy().to_lowercase())
        .unwrap_or_default();
    let uuid: String = ids
        .device_uuid
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    uuid == wanted.replace('-', "") || name.contains(&wanted.to_lowercase())
}

/// Core validation: VUID-VkBufferCreateInfo-size-00912.
#[test]
#[ignore = "invalid on purpose; run by `cargo xtask test-gpu`"]
fn core_validation_sees_an_empty_buffer() {
    let opened = Opened::new();
    let create = vk::BufferCreateInfo::default()
        .size(0)
        .usage(vk::BufferUsageFlags::TRANSFER_DST);
    if let Ok(buffer) = unsafe { opened.device.create_buffer(&create, None) } {
        unsafe { opened.device.destroy_buffer(buffer, None) };
    }
}

/// Synchronization validation: a write after a write without a barrier. The
/// commands are recorded and never submitted.
#[test]
#[ignore = "invalid on purpose; run by `cargo xtask test-gpu`"]
fn synchronization_validation_sees_a_missing_barrier() {
    let opened = Opened::new();
    let device = &opened.device;
    let buffer = opened.buffer(64);
    let memory = opened.memory(buffer);
    let create = vk::CommandPoolCreateInfo::default().queue_family_index(opened.family);
    let pool = unsafe { device.create_command_pool(&create, None) }.unwrap();
    let create = vk::CommandBufferAllocateInfo::default()
        .command_pool(pool)
        .command_buffer_count(1);
    let commands = unsafe { device.allocate_command_buffers(&create) }.unwrap()[0];
    let begin = vk::CommandBufferBeginInfo::default();
    unsafe {
        device.begin_command_buffer(commands, &begin).unwrap();
        device.cmd_fill_buffer(commands, buffer, 0, 64, 1);
        device.cmd_fill_buffer(commands, buffer, 0, 64, 2);
        device.end_command_buffer(commands).unwrap();
        device.destroy_command_pool(pool, None);
        device.destroy_buffer(buffer, None);
        device.free_memory(memory, None);
    }
}

/// Thread-safety validation: two threads reset one fence at once. Only threads
/// that meet inside the call are seen, so they try for a while.
#[test]
#[ignore = "invalid on purpose; run by `cargo xtask test-gpu`"]
fn thread_validation_sees_two_at_once() {
    let opened = Opened::new();
    let device = &opened.device;
    let fence = unsafe { device.create_fence(&vk::FenceCreateInfo::default(), None) }.unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                // Relaxed: nothing is handed over with it.
                while !stop.load(Ordering::Relaxed) {
                    unsafe { device.reset_fences(&[fence]) }.unwrap();
                }
            });
        }
        let until = Instant::now() + MEETING_TIME;
        while Instant::now() < until {
            thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
    });
    unsafe { device.destroy_fence(fence, None) };
}
