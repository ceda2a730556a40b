//! The driver's features: what the runtime needs, what kernels may use.

use ash::vk;

use crate::device::KernelFeatures;

/// One set of features, as the driver splits it up.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FeatureSet {
    pub(super) core: vk::PhysicalDeviceFeatures,
    pub(super) v11: vk::PhysicalDeviceVulkan11Features<'static>,
    pub(super) v12: vk::PhysicalDeviceVulkan12Features<'static>,
    pub(super) v13: vk::PhysicalDeviceVulkan13Features<'static>,
}

impl FeatureSet {
    /// The names of what the runtime cannot do without and this set lacks.
    pub(super) fn missing(&self) -> Vec<&'static str> {
        let needed = [
            (self.v12.timeline_semaphore, "timelineSemaphore"),
            (self.v13.synchronization2, "synchronization2"),
            (self.v12.host_query_reset, "hostQueryReset"),
            (self.v13.maintenance4, "maintenance4"),
        ];
        needed
            .into_iter()
            .filter(|(offered, _)| *offered == vk::FALSE)
            .map(|(_, name)| name)
            .collect()
    }

    /// What to switch on of this set: all that the runtime needs, and all that
    /// kernels may use. A feature that is on and not used costs nothing; robust
    /// buffer access costs every access, so kernels bring their own bounds.
    pub(super) fn wanted(&self) -> Self {
        let core = vk::PhysicalDeviceFeatures {
            shader_int16: self.core.shader_int16,
            shader_int64: self.core.shader_int64,
            shader_float64: self.core.shader_float64,
            ..Default::default()
        };
        let v11 = vk::PhysicalDeviceVulkan11Features {
            storage_buffer16_bit_access: self.v11.storage_buffer16_bit_access,
            uniform_and_storage_buffer16_bit_access: self
                .v11
                .uniform_and_storage_buffer16_bit_access,
            ..Default::default()
        };
        let v12 = vk::PhysicalDeviceVulkan12Features {
            timeline_semaphore: self.v12.timeline_semaphore,
            host_query_reset: self.v12.host_query_reset,
            shader_float16: self.v12.shader_float16,
            shader_int8: self.v12.shader_int8,
            storage_buffer8_bit_access: self.v12.storage_buffer8_bit_access,
            uniform_and_storage_buffer8_bit_access: self.v12.uniform_and_storage_buffer8_bit_access,
            shader_buffer_int64_atomics: self.v12.shader_buffer_int64_atomics,
            shader_shared_int64_atomics: self.v12.shader_shared_int64_atomics,
            shader_subgroup_extended_types: self.v12.shader_subgroup_extended_types,
            uniform_buffer_standard_layout: self.v12.uniform_buffer_standard_layout,
            scalar_block_layout: self.v12.scalar_block_layout,
            vulkan_memory_model: self.v12.vulkan_memory_model,
            vulkan_memory_model_device_scope: self.v12.vulkan_memory_model_device_scope,
            ..Default::default()
        };
        let v13 = vk::PhysicalDeviceVulkan13Features {
            synchronization2: self.v13.synchronization2,
            maintenance4: self.v13.maintenance4,
            shader_integer_dot_product: self.v13.shader_integer_dot_product,
            shader_zero_initialize_workgroup_memory: self
                .v13
                .shader_zero_initialize_workgroup_memory,
            subgroup_size_control: self.v13.subgroup_size_control,
            compute_full_subgroups: self.v13.compute_full_subgroups,
            ..Default::default()
        };
        Self {
            core,
            v11,
            v12,
            v13,
        }
    }

    /// What kernels may use when this set is on.
    pub(super) fn kernels(&self, subgroups: vk::SubgroupFeatureFlags) -> KernelFeatures {
        let on = |feature: vk::Bool32| feature != vk::FALSE;
        let needed = vk::SubgroupFeatureFlags::BASIC
            | vk::SubgroupFeatureFlags::VOTE
            | vk::SubgroupFeatureFlags::BALLOT
            | vk::SubgroupFeatureFlags::ARITHMETIC
            | vk::SubgroupFeatureFlags::SHUFFLE
            | vk::SubgroupFeatureFlags::SHUFFLE_RELATIVE;
        KernelFeatures {
            int16: on(self.core.shader_int16),
            int64: on(self.core.shader_int64),
            float16: on(self.v12.shader_float16),
            float64: on(self.core.shader_float64),
            storage16: on(self.v11.storage_buffer16_bit_access),
            int8: on(self.v12.shader_int8) && on(self.v12.storage_buffer8_bit_access),
            int64_atomics: on(self.v12.shader_buffer_int64_atomics),
            memory_model: on(self.v12.vulkan_memory_model)
                && on(self.v12.vulkan_memory_model_device_scope),
            subgroups: subgroups.contains(needed),
        }
    }
}
