//! The descriptor sets of a region: static, one for each group of each
//! dispatch, covering exactly the bytes that are bound.
#![expect(
    unsafe_code,
    reason = "descriptor sets are allocated and written through C functions"
)]

use ash::vk;
use runtime_sync::unmodelled::Arc;

use super::kernel::Kernel;
use super::region;
use super::root::Root;
use crate::device::{BoundSpan, Command, DeviceFault};

/// A descriptor pool.
#[derive(Debug)]
pub(super) struct Sets {
    pool: vk::DescriptorPool,
}

impl Sets {
    /// A pool that has what the commands' dispatches need; none for none.
    pub(super) fn for_commands(
        root: &Arc<Root>,
        commands: &[Command],
    ) -> Result<Option<Self>, DeviceFault> {
        let mut sets = 0_u32;
        let mut storage = 0_u32;
        let mut uniform = 0_u32;
        for command in commands {
            let Command::Dispatch {
                kernel, bindings, ..
            } = command
            else {
                continue;
            };
            let kernel = region::kernel_of(root, kernel)?;
            sets = sets.saturating_add(u32::try_from(groups(bindings).len()).unwrap_or(u32::MAX));
            for bound in bindings {
                match kernel.kind(bound.group, bound.binding) {
                    Some(vk::DescriptorType::UNIFORM_BUFFER) => uniform += 1,
                    _ => storage += 1,
                }
            }
        }
        if sets == 0 {
            return Ok(None);
        }
        let sizes: Vec<vk::DescriptorPoolSize> = [
            (vk::DescriptorType::STORAGE_BUFFER, storage),
            (vk::DescriptorType::UNIFORM_BUFFER, uniform),
        ]
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(ty, descriptor_count)| vk::DescriptorPoolSize {
            ty,
            descriptor_count,
        })
        .collect();
        let info = vk::DescriptorPoolCreateInfo::default()
            .max_sets(sets)
            .pool_sizes(&sizes);
        // SAFETY: VUID-VkDescriptorPoolCreateInfo-descriptorPoolOverallocation-
        // 09227 and VUID-VkDescriptorPoolSize-descriptorCount-00302: no count is
        // zero.
        let pool = unsafe { root.device.create_descriptor_pool(&info, None) }
            .map_err(|code| root.loss.fault("vkCreateDescriptorPool", code))?;
        Ok(Some(Self { pool }))
    }

    /// Allocates and writes a dispatch's sets; each with its group.
    pub(super) fn bind(
        &mut self,
        root: &Arc<Root>,
        kernel: &Kernel,
        bindings: &[BoundSpan],
    ) -> Result<Vec<(u32, vk::DescriptorSet)>, DeviceFault> {
        let mut bound = Vec::new();
        for group in groups(bindings) {
            let set = self.allocate(root, kernel, group)?;
            write(root, kernel, set, group, bindings)?;
            bound.push((group, set));
        }
        Ok(bound)
    }

    /// Destroys the pool with all its sets.
    pub(super) fn destroy(self, root: &Root) {
        // SAFETY: VUID-vkDestroyDescriptorPool-descriptorPool-00303: no accepted
        // work still uses its sets (rule S42).
        unsafe { root.device.destroy_descriptor_pool(self.pool, None) };
    }

    fn allocate(
        &mut self,
        root: &Root,
        kernel: &Kernel,
        group: u32,
    ) -> Result<vk::DescriptorSet, DeviceFault> {
        const CALL: &str = "vkAllocateDescriptorSets";
        let layout = kernel
            .set(group)
            .ok_or_else(|| root.loss.fault(CALL, vk::Result::ERROR_FEATURE_NOT_PRESENT))?;
        let layouts = [layout];
        let info = vk::DescriptorSetAllocateInfo::default()
            .descriptor_pool(self.pool)
            .set_layouts(&layouts);
        // SAFETY: S44: the pool is used by this thread alone (its exclusive borrow),
        // as VkDescriptorSetAllocateInfo's threading rule wants.
        let sets = unsafe { root.device.allocate_descriptor_sets(&info) }
            .map_err(|code| root.loss.fault(CALL, code))?;
        sets.first()
            .copied()
            .ok_or_else(|| root.loss.fault(CALL, vk::Result::ERROR_UNKNOWN))
    }
}

/// The groups that are bound, each once, in rising order.
fn groups(bindings: &[BoundSpan]) -> Vec<u32> {
    super::queues::distinct(bindings.iter().map(|bound| bound.group))
}

fn write(
    root: &Arc<Root>,
    kernel: &Kernel,
    set: vk::DescriptorSet,
    group: u32,
    bindings: &[BoundSpan],
) -> Result<(), DeviceFault> {
    let of_group = || bindings.iter().filter(move |bound| bound.group == group);
    let ranges: Vec<[vk::DescriptorBufferInfo; 1]> = of_group()
        .map(|bound| {
            let buffer = region::buffer_of(root, &bound.span)?;
            Ok([vk::DescriptorBufferInfo::default()
                .buffer(buffer)
                .offset(bound.span.offset)
                .range(bound.span.bytes)])
        })
        .collect::<Result<_, DeviceFault>>()?;
    let writes: Vec<vk::WriteDescriptorSet<'_>> = of_group()
        .zip(&ranges)
        .map(|(bound, range)| {
            let kind = kernel.kind(bound.group, bound.binding);
            vk::WriteDescriptorSet::default()
                .dst_set(set)
                .dst_binding(bound.binding)
                .descriptor_type(kind.unwrap_or(vk::DescriptorType::STORAGE_BUFFER))
                .buffer_info(range)
        })
        .collect();
    // SAFETY: VUID-vkUpdateDescriptorSets-None-03047: the set was just made and
    // no command buffer has it; VUID-VkDescriptorBufferInfo-range-00342: the
    // spans lie inside their buffers (rule S45).
    unsafe { root.device.update_descriptor_sets(&writes, &[]) };
    Ok(())
}
