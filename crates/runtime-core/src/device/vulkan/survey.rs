//! What each physical device is and can do.
#![expect(unsafe_code, reason = "physical devices are asked through C functions")]

use std::ffi::CStr;

use ash::vk;

use super::features::FeatureSet;
use super::instance::Instance;
use super::queues::QueuePlan;
use crate::device::{
    DeviceInfo, DeviceKind, DeviceUuid, Heap, LaneMap, Limits, QueueFamily, QueueRole,
    SelectionError,
};

/// A physical device that was looked at.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) physical: vk::PhysicalDevice,
    pub(super) info: DeviceInfo,
    /// Absent where nothing computes; then `info.missing` says so.
    pub(super) plan: Option<QueuePlan>,
    /// What to switch on.
    pub(super) features: FeatureSet,
    pub(super) memory: vk::PhysicalDeviceMemoryProperties,
    /// The host and the device have one and the same memory.
    pub(super) unified: bool,
    /// How many descriptor sets a kernel may have.
    pub(super) sets: u32,
}

/// Looks at all physical devices, in the driver's order.
pub(super) fn survey(instance: &Instance) -> Result<Vec<Survey>, SelectionError> {
    let devices = instance.physical_devices()?;
    Ok(devices
        .into_iter()
        .map(|physical| look_at(instance, physical))
        .collect())
}

/// The names of the device extensions that a physical device offers.
pub(super) fn offers(
    instance: &Instance,
    physical: vk::PhysicalDevice,
    extension: &CStr,
) -> Result<bool, SelectionError> {
    // SAFETY: rule S43: the physical device is the instance's.
    let offered = unsafe {
        instance
            .raw()
            .enumerate_device_extension_properties(physical)
    }
    .map_err(|code| super::instance::refused("vkEnumerateDeviceExtensionProperties", code))?;
    Ok(offered
        .iter()
        .any(|one| one.extension_name_as_c_str() == Ok(extension)))
}

fn look_at(instance: &Instance, physical: vk::PhysicalDevice) -> Survey {
    // SAFETY: rule S43: the physical device is the instance's.
    let core = unsafe { instance.raw().get_physical_device_properties(physical) };
    // SAFETY: rule S43, as above.
    let memory = unsafe {
        instance
            .raw()
            .get_physical_device_memory_properties(physical)
    };
    // SAFETY: rule S43, as above.
    let families = unsafe {
        instance
            .raw()
            .get_physical_device_queue_family_properties(physical)
    };
    let details = Details::read(instance, physical, core.api_version);
    let plan = QueuePlan::new(&families);

    let lanes = plan
        .as_ref()
        .map_or_else(LaneMap::shared, |plan| plan.lanes);
    let kind = kind(core.device_type);
    let mut info = DeviceInfo::new(
        text(core.device_name_as_c_str().ok()),
        kind,
        lanes,
        limits(&core.limits, &details),
    );
    info.uuid = DeviceUuid(details.uuid);
    info.driver = details.driver;
    info.api_version = [
        vk::api_version_major(core.api_version),
        vk::api_version_minor(core.api_version),
        vk::api_version_patch(core.api_version),
    ];
    info.families = (0..).zip(&families).map(family).collect();
    if let Some(plan) = &plan {
        info.queue_families = plan.queues.iter().map(|place| place.family).collect();
    }
    info.heaps = heaps(&memory);
    info.timestamp_period_ns = core.limits.timestamp_period;
    let features = details.offered.wanted();
    info.kernels = features.kernels(details.subgroups);
    if core.api_version < vk::API_VERSION_1_3 {
        info.missing.push("Vulkan 1.3");
    } else {
        info.missing = details.offered.missing();
    }
    if plan.is_none() {
        info.missing.push("a compute queue");
    }
    let unified = matches!(kind, DeviceKind::Integrated | DeviceKind::Software)
        || info.heaps.iter().all(|heap| heap.device_local);
    Survey {
        physical,
        info,
        plan,
        features,
        memory,
        unified,
        sets: core.limits.max_bound_descriptor_sets,
    }
}

/// What only newer versions of the API say. All empty on an older device, which
/// is listed and never opened.
#[derive(Default)]
struct Details {
    uuid: [u8; 16],
    driver: String,
    offered: FeatureSet,
    subgroups: vk::SubgroupFeatureFlags,
    buffer_bytes: Option<u64>,
    allocation_bytes: Option<u64>,
}

impl Details {
    fn read(instance: &Instance, physical: vk::PhysicalDevice, version: u32) -> Self {
        if version < vk::API_VERSION_1_3 {
            return Self::default();
        }
        let mut v11 = vk::PhysicalDeviceVulkan11Properties::default();
        let mut v12 = vk::PhysicalDeviceVulkan12Properties::default();
        let mut v13 = vk::PhysicalDeviceVulkan13Properties::default();
        let mut all = vk::PhysicalDeviceProperties2::default()
            .push_next(&mut v11)
            .push_next(&mut v12)
            .push_next(&mut v13);
        // SAFETY: rule S43; the device knows the version of every structure in
        // the chain, and the chain lives through the call.
        unsafe {
            instance
                .raw()
                .get_physical_device_properties2(physical, &mut all);
        }
        let driver = [v12.driver_name_as_c_str(), v12.driver_info_as_c_str()];
        let driver: Vec<String> = driver.into_iter().map(|part| text(part.ok())).collect();
        Self {
            uuid: v11.device_uuid,
            driver: driver.join(" ").trim().to_owned(),
            offered: offered_features(instance, physical),
            subgroups: if v11
                .subgroup_supported_stages
                .contains(vk::ShaderStageFlags::COMPUTE)
            {
                v11.subgroup_supported_operations
            } else {
                vk::SubgroupFeatureFlags::empty()
            },
            buffer_bytes: Some(v13.max_buffer_size),
            allocation_bytes: Some(v11.max_memory_allocation_size),
        }
    }
}

fn offered_features(instance: &Instance, physical: vk::PhysicalDevice) -> FeatureSet {
    let mut set = FeatureSet::default();
    let mut all = vk::PhysicalDeviceFeatures2::default()
        .push_next(&mut set.v11)
        .push_next(&mut set.v12)
        .push_next(&mut set.v13);
    // SAFETY: rule S43; the device knows the version of every structure in the
    // chain, and the chain lives through the call.
    unsafe {
        instance
            .raw()
            .get_physical_device_features2(physical, &mut all);
    }
    set.core = all.features;
    set
}

fn limits(core: &vk::PhysicalDeviceLimits, details: &Details) -> Limits {
    let largest = details.allocation_bytes.unwrap_or(1 << 30);
    Limits {
        groups: core.max_compute_work_group_count,
        workgroup: core.max_compute_work_group_size,
        workgroup_invocations: core.max_compute_work_group_invocations,
        workgroup_bytes: core.max_compute_shared_memory_size,
        storage_range_bytes: core.max_storage_buffer_range.into(),
        uniform_range_bytes: core.max_uniform_buffer_range.into(),
        storage_align_bytes: core.min_storage_buffer_offset_alignment.max(1),
        uniform_align_bytes: core.min_uniform_buffer_offset_alignment.max(1),
        atom_bytes: core.non_coherent_atom_size.max(1),
        buffer_bytes: details.buffer_bytes.unwrap_or(largest).min(largest),
        allocations: core.max_memory_allocation_count,
        storage_bindings: core
            .max_per_stage_descriptor_storage_buffers
            .min(core.max_descriptor_set_storage_buffers),
    }
}

fn heaps(memory: &vk::PhysicalDeviceMemoryProperties) -> Vec<Heap> {
    let types = memory.memory_types_as_slice();
    (0_u32..)
        .zip(memory.memory_heaps_as_slice())
        .map(|(index, heap)| Heap {
            bytes: heap.size,
            device_local: heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL),
            host_visible: types.iter().any(|one| {
                one.heap_index == index
                    && one
                        .property_flags
                        .contains(vk::MemoryPropertyFlags::HOST_VISIBLE)
            }),
        })
        .collect()
}

fn family((index, properties): (u32, &vk::QueueFamilyProperties)) -> QueueFamily {
    let compute = properties.queue_flags.contains(vk::QueueFlags::COMPUTE);
    let graphics = properties.queue_flags.contains(vk::QueueFlags::GRAPHICS);
    QueueFamily {
        index,
        queues: properties.queue_count,
        role: QueueRole {
            compute,
            graphics,
            // Families that compute or draw need not say that they transfer.
            transfer: compute
                || graphics
                || properties.queue_flags.contains(vk::QueueFlags::TRANSFER),
        },
        timestamp_bits: properties.timestamp_valid_bits,
    }
}

fn kind(kind: vk::PhysicalDeviceType) -> DeviceKind {
    match kind {
        vk::PhysicalDeviceType::DISCRETE_GPU => DeviceKind::Discrete,
        vk::PhysicalDeviceType::INTEGRATED_GPU => DeviceKind::Integrated,
        vk::PhysicalDeviceType::VIRTUAL_GPU => DeviceKind::Virtual,
        vk::PhysicalDeviceType::CPU => DeviceKind::Software,
        _ => DeviceKind::Other,
    }
}

fn text(name: Option<&CStr>) -> String {
    name.unwrap_or_default().to_string_lossy().into_owned()
}
