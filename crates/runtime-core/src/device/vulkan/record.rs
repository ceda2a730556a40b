//! Recording: steps in native handles into a command buffer.
#![expect(unsafe_code, reason = "commands are recorded through C functions")]

use ash::vk;

use super::root::Root;
use crate::device::{DeviceFault, Leading};

/// One command, in native handles.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Fill {
        buffer: vk::Buffer,
        offset: u64,
        bytes: u64,
        word: u32,
    },
    Copy {
        source: vk::Buffer,
        target: vk::Buffer,
        part: vk::BufferCopy2<'static>,
    },
    Dispatch {
        pipeline: vk::Pipeline,
        layout: vk::PipelineLayout,
        sets: Vec<(u32, vk::DescriptorSet)>,
        groups: [u32; 3],
    },
    Barrier,
}

/// Records the steps into a command buffer that nobody else has.
pub(super) fn record(
    root: &Root,
    commands: vk::CommandBuffer,
    leading: Leading,
    steps: &[Step],
    read_by_host: bool,
) -> Result<(), DeviceFault> {
    let device = &root.device;
    let info = vk::CommandBufferBeginInfo::default();
    // SAFETY: VUID-vkBeginCommandBuffer-commandBuffer-00049: it is new.
    unsafe { device.begin_command_buffer(commands, &info) }
        .map_err(|code| root.loss.fault("vkBeginCommandBuffer", code))?;
    if leading == Leading::Barrier {
        barrier(device, commands, &everything_before_everything());
    }
    for step in steps {
        put(device, commands, step);
    }
    if read_by_host {
        barrier(device, commands, &writes_before_host());
    }
    // SAFETY: VUID-vkEndCommandBuffer-commandBuffer-00059: it was begun above.
    unsafe { device.end_command_buffer(commands) }
        .map_err(|code| root.loss.fault("vkEndCommandBuffer", code))
}

fn put(device: &ash::Device, commands: vk::CommandBuffer, step: &Step) {
    match step {
        Step::Fill {
            buffer,
            offset,
            bytes,
            word,
        } => {
            // SAFETY: VUID-vkCmdFillBuffer-dstOffset-00024 to -size-00028: the
            // span lies inside the buffer in whole words (rule S45).
            unsafe { device.cmd_fill_buffer(commands, *buffer, *offset, *bytes, *word) };
        }
        Step::Copy {
            source,
            target,
            part,
        } => {
            let parts = [*part];
            let info = vk::CopyBufferInfo2::default()
                .src_buffer(*source)
                .dst_buffer(*target)
                .regions(&parts);
            // SAFETY: VUID-VkCopyBufferInfo2-srcOffset-00113 to
            // -pRegions-00117: both spans lie inside their buffers and do not
            // overlap (rule S45). Any alignment is allowed.
            unsafe { device.cmd_copy_buffer2(commands, &info) };
        }
        Step::Dispatch {
            pipeline,
            layout,
            sets,
            groups,
        } => {
            dispatch(device, commands, *pipeline, *layout, sets, *groups);
        }
        Step::Barrier => barrier(device, commands, &everything_before_everything()),
    }
}

fn dispatch(
    device: &ash::Device,
    commands: vk::CommandBuffer,
    pipeline: vk::Pipeline,
    layout: vk::PipelineLayout,
    sets: &[(u32, vk::DescriptorSet)],
    [x, y, z]: [u32; 3],
) {
    const POINT: vk::PipelineBindPoint = vk::PipelineBindPoint::COMPUTE;
    // SAFETY: VUID-vkCmdBindPipeline-pipelineBindPoint-00777: kernels only run
    // on the compute lane, whose family computes.
    unsafe { device.cmd_bind_pipeline(commands, POINT, pipeline) };
    for (group, set) in sets {
        // SAFETY: VUID-vkCmdBindDescriptorSets-pDescriptorSets-00358: the set
        // was made with the pipeline layout's own layout for the group.
        unsafe {
            device.cmd_bind_descriptor_sets(commands, POINT, layout, *group, &[*set], &[]);
        }
    }
    // SAFETY: VUID-vkCmdDispatch-groupCountX-00386 and its siblings: the runtime
    // keeps the limits; VUID-vkCmdDispatch-None-08114: all bindings are written.
    unsafe { device.cmd_dispatch(commands, x, y, z) };
}

fn barrier(device: &ash::Device, commands: vk::CommandBuffer, memory: &vk::MemoryBarrier2<'_>) {
    let memory = [*memory];
    let info = vk::DependencyInfo::default().memory_barriers(&memory);
    // SAFETY: VUID-vkCmdPipelineBarrier2-synchronization2-03848: the device is
    // only opened with the feature on; every family knows these stages.
    unsafe { device.cmd_pipeline_barrier2(commands, &info) };
}

fn everything_before_everything() -> vk::MemoryBarrier2<'static> {
    vk::MemoryBarrier2::default()
        .src_stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
        .src_access_mask(vk::AccessFlags2::MEMORY_WRITE)
        .dst_stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
        .dst_access_mask(vk::AccessFlags2::MEMORY_READ | vk::AccessFlags2::MEMORY_WRITE)
}

fn writes_before_host() -> vk::MemoryBarrier2<'static> {
    vk::MemoryBarrier2::default()
        .src_stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
        .src_access_mask(vk::AccessFlags2::MEMORY_WRITE)
        .dst_stage_mask(vk::PipelineStageFlags2::HOST)
        .dst_access_mask(vk::AccessFlags2::HOST_READ)
}
