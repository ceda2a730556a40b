//! Making the stream's buffers, pipelines and descriptor sets.
#![expect(unsafe_code, reason = "native objects are made through C functions")]

use std::ffi::CStr;

use ash::vk;

use super::{Bound, Kernel, Object, Result, Storage, Stream, StreamFault, driver};

impl Stream {
    /// A buffer of `bytes` bytes, a positive multiple of 4, with any content.
    pub(crate) fn storage(&mut self, bytes: usize) -> Result<Storage> {
        let info = vk::BufferCreateInfo::default()
            .size(bytes as u64)
            .usage(vk::BufferUsageFlags::STORAGE_BUFFER)
            .sharing_mode(vk::SharingMode::EXCLUSIVE);
        // SAFETY: VUID-VkBufferCreateInfo-size-00912: the length is not zero.
        let buffer = unsafe { self.device().create_buffer(&info, None) }
            .map_err(driver("vkCreateBuffer"))?;
        self.objects.push(Object::Buffer(buffer));
        // SAFETY: VUID-vkGetBufferMemoryRequirements-buffer-parameter: the
        // buffer is the one from above.
        let needs = unsafe { self.device().get_buffer_memory_requirements(buffer) };
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(needs.size)
            .memory_type_index(self.host_memory(needs.memory_type_bits)?);
        // SAFETY: VUID-vkAllocateMemory-pAllocateInfo-01714: the index is one of
        // the device's own.
        let memory = unsafe { self.device().allocate_memory(&info, None) }
            .map_err(driver("vkAllocateMemory"))?;
        self.objects.push(Object::Memory(memory));
        // SAFETY: VUID-vkBindBufferMemory-buffer-07459: the buffer is new, and
        // the memory is of a size and type that it asked for.
        unsafe { self.device().bind_buffer_memory(buffer, memory, 0) }
            .map_err(driver("vkBindBufferMemory"))?;
        Ok(Storage {
            buffer,
            memory,
            bytes,
        })
    }

    /// The index of a coherent memory type among `allowed`, of the device's own
    /// memory where there is one.
    fn host_memory(&self, allowed: u32) -> Result<u32> {
        let access = self.access.get();
        // SAFETY: VUID-vkGetPhysicalDeviceMemoryProperties-physicalDevice-parameter:
        // the physical device is the opened one's.
        let memory = unsafe {
            access
                .instance()
                .get_physical_device_memory_properties(access.physical_device())
        };
        let mapped = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let fitting = |wanted: vk::MemoryPropertyFlags| {
            (0..memory.memory_type_count).find(|&index| {
                let kind = memory.memory_types[index as usize];
                allowed & (1 << index) != 0 && kind.property_flags.contains(wanted)
            })
        };
        fitting(mapped | vk::MemoryPropertyFlags::DEVICE_LOCAL)
            .or_else(|| fitting(mapped))
            .ok_or(StreamFault::NoHostMemory)
    }

    /// A kernel from a valid module with `bindings` storage buffers.
    pub(crate) fn kernel(&mut self, spirv: &[u32], entry: &CStr, bindings: u32) -> Result<Kernel> {
        let slots: Vec<_> = (0..bindings)
            .map(|binding| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(binding)
                    .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                    .descriptor_count(1)
                    .stage_flags(vk::ShaderStageFlags::COMPUTE)
            })
            .collect();
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&slots);
        // SAFETY: VUID-VkDescriptorSetLayoutCreateInfo-binding-00279: the numbers
        // count up, so each is there once.
        let set_layout = unsafe { self.device().create_descriptor_set_layout(&info, None) }
            .map_err(driver("vkCreateDescriptorSetLayout"))?;
        self.objects.push(Object::SetLayout(set_layout));

        let set_layouts = [set_layout];
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&set_layouts);
        // SAFETY: VUID-VkPipelineLayoutCreateInfo-setLayoutCount-00286: one group
        // is within every device's limit.
        let layout = unsafe { self.device().create_pipeline_layout(&info, None) }
            .map_err(driver("vkCreatePipelineLayout"))?;
        self.objects.push(Object::PipelineLayout(layout));

        let pipeline = self.pipeline(spirv, entry, layout)?;
        self.objects.push(Object::Pipeline(pipeline));
        Ok(Kernel {
            set_layout,
            layout,
            pipeline,
        })
    }

    fn pipeline(
        &self,
        spirv: &[u32],
        entry: &CStr,
        layout: vk::PipelineLayout,
    ) -> Result<vk::Pipeline> {
        let info = vk::ShaderModuleCreateInfo::default().code(spirv);
        // SAFETY: VUID-VkShaderModuleCreateInfo-pCode-08737: the caller's module
        // is valid.
        let module = unsafe { self.device().create_shader_module(&info, None) }
            .map_err(driver("vkCreateShaderModule"))?;
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(entry);
        let info = vk::ComputePipelineCreateInfo::default()
            .stage(stage)
            .layout(layout);
        // SAFETY: VUID-VkComputePipelineCreateInfo-layout-07988: the layout has a
        // storage buffer for each of the module's bindings.
        let made = unsafe {
            self.device()
                .create_compute_pipelines(vk::PipelineCache::null(), &[info], None)
        };
        // SAFETY: VUID-vkDestroyShaderModule-shaderModule-parameter: a pipeline
        // does not need its module after it was made.
        unsafe { self.device().destroy_shader_module(module, None) };
        match made {
            Ok(pipelines) => Ok(pipelines[0]),
            Err((_, code)) => Err(driver("vkCreateComputePipelines")(code)),
        }
    }

    /// The kernel with these buffers as its bindings, in their order.
    pub(crate) fn bind(&mut self, kernel: Kernel, storages: &[Storage]) -> Result<Bound> {
        let count = u32::try_from(storages.len()).unwrap_or(u32::MAX);
        let sizes = [vk::DescriptorPoolSize::default()
            .ty(vk::DescriptorType::STORAGE_BUFFER)
            .descriptor_count(count)];
        let info = vk::DescriptorPoolCreateInfo::default()
            .max_sets(1)
            .pool_sizes(&sizes);
        // SAFETY: VUID-VkDescriptorPoolSize-descriptorCount-00302: every kernel
        // here has a binding.
        let pool = unsafe { self.device().create_descriptor_pool(&info, None) }
            .map_err(driver("vkCreateDescriptorPool"))?;
        self.objects.push(Object::DescriptorPool(pool));

        let set_layouts = [kernel.set_layout];
        let info = vk::DescriptorSetAllocateInfo::default()
            .descriptor_pool(pool)
            .set_layouts(&set_layouts);
        // SAFETY: VUID-VkDescriptorSetAllocateInfo-apiVersion-07895: the pool is
        // new and made for one set.
        let sets = unsafe { self.device().allocate_descriptor_sets(&info) }
            .map_err(driver("vkAllocateDescriptorSets"))?;
        let ranges: Vec<_> = storages
            .iter()
            .map(|storage| {
                [vk::DescriptorBufferInfo::default()
                    .buffer(storage.buffer)
                    .range(storage.bytes as u64)]
            })
            .collect();
        let writes: Vec<_> = (0..count)
            .zip(&ranges)
            .map(|(binding, range)| {
                vk::WriteDescriptorSet::default()
                    .dst_set(sets[0])
                    .dst_binding(binding)
                    .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                    .buffer_info(range)
            })
            .collect();
        // SAFETY: VUID-vkUpdateDescriptorSets-None-03047: the set is new, so no
        // submission uses it.
        unsafe { self.device().update_descriptor_sets(&writes, &[]) };
        Ok(Bound {
            kernel,
            set: sets[0],
        })
    }
}
