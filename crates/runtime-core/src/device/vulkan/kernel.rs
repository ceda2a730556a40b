//! Kernels: a compute pipeline and the layouts that its bindings need.
#![expect(
    unsafe_code,
    reason = "pipelines and layouts are created through C functions"
)]

use std::any::Any;
use std::ffi::CString;

use ash::vk;
use runtime_sync::unmodelled::Arc;

use super::root::Root;
use crate::device::{BindingKind, BindingSlot, DeviceFault, DeviceKernel, KernelSpec};

const BUILD: &str = "vkCreateComputePipelines";

/// A pipeline and its layouts.
#[derive(Debug)]
pub(super) struct Kernel {
    root: Arc<Root>,
    bindings: Vec<BindingSlot>,
    sets: Vec<vk::DescriptorSetLayout>,
    layout: vk::PipelineLayout,
    pipeline: vk::Pipeline,
}

impl Kernel {
    /// Builds the pipeline. Only this kernel fails when the driver refuses.
    pub(super) fn new(root: &Arc<Root>, spec: KernelSpec<'_>) -> Result<Self, DeviceFault> {
        // From here on the kernel destroys what it has, also half made.
        let mut kernel = Self {
            root: Arc::clone(root),
            bindings: spec.bindings.to_vec(),
            sets: Vec::new(),
            layout: vk::PipelineLayout::null(),
            pipeline: vk::Pipeline::null(),
        };
        kernel.lay_out()?;
        let module = Module::new(root, spec.spirv)?;
        kernel.pipeline = pipeline(&kernel, &module, spec)?;
        root.names.give(kernel.pipeline, spec.label);
        Ok(kernel)
    }

    /// Whether `root` made it.
    pub(super) fn is_of(&self, root: &Arc<Root>) -> bool {
        Arc::ptr_eq(&self.root, root)
    }

    pub(super) fn pipeline(&self) -> vk::Pipeline {
        self.pipeline
    }

    pub(super) fn layout(&self) -> vk::PipelineLayout {
        self.layout
    }

    /// The layout of a group's descriptor set.
    pub(super) fn set(&self, group: u32) -> Option<vk::DescriptorSetLayout> {
        let group = usize::try_from(group).ok()?;
        self.sets.get(group).copied()
    }

    /// The native kind of a binding.
    pub(super) fn kind(&self, group: u32, binding: u32) -> Option<vk::DescriptorType> {
        self.bindings
            .iter()
            .find(|slot| slot.group == group && slot.binding == binding)
            .map(|slot| descriptor(slot.kind))
    }

    fn lay_out(&mut self) -> Result<(), DeviceFault> {
        let root = Arc::clone(&self.root);
        let groups = self.bindings.iter().map(|slot| slot.group);
        let groups = groups.max().map_or(0, |last| last.saturating_add(1));
        if groups > root.sets {
            return Err(DeviceFault::KernelRefused {
                call: "vkCreatePipelineLayout",
                code: vk::Result::ERROR_TOO_MANY_OBJECTS.as_raw(),
            });
        }
        for group in 0..groups {
            let set = set_layout(&root, &self.bindings, group)?;
            self.sets.push(set);
        }
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&self.sets);
        // SAFETY: VUID-VkPipelineLayoutCreateInfo-setLayoutCount-00286: their
        // number is within the limit, and all are the device's.
        self.layout = unsafe { root.device.create_pipeline_layout(&info, None) }
            .map_err(|code| root.loss.fault("vkCreatePipelineLayout", code))?;
        Ok(())
    }
}

impl DeviceKernel for Kernel {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        // SAFETY: VUID-vkDestroyPipeline-pipeline-00765: no accepted work still
        // uses it (rule S42).
        unsafe { self.root.device.destroy_pipeline(self.pipeline, None) };
        // SAFETY: VUID-vkDestroyPipelineLayout-pipelineLayout-02004: no command
        // buffer that used it is being recorded.
        unsafe { self.root.device.destroy_pipeline_layout(self.layout, None) };
        for set in self.sets.drain(..) {
            // SAFETY: S41: the pipeline and the sets made from the layout need it no
            // more; regions keep their kernels until their pools are gone.
            unsafe { self.root.device.destroy_descriptor_set_layout(set, None) };
        }
    }
}

/// What a binding is to the driver.
fn descriptor(kind: BindingKind) -> vk::DescriptorType {
    match kind {
        BindingKind::StorageRead | BindingKind::StorageWrite => vk::DescriptorType::STORAGE_BUFFER,
        BindingKind::Uniform => vk::DescriptorType::UNIFORM_BUFFER,
    }
}

fn set_layout(
    root: &Root,
    bindings: &[BindingSlot],
    group: u32,
) -> Result<vk::DescriptorSetLayout, DeviceFault> {
    let slots: Vec<vk::DescriptorSetLayoutBinding<'_>> = bindings
        .iter()
        .filter(|slot| slot.group == group)
        .map(|slot| {
            vk::DescriptorSetLayoutBinding::default()
                .binding(slot.binding)
                .descriptor_type(descriptor(slot.kind))
                .descriptor_count(1)
                .stage_flags(vk::ShaderStageFlags::COMPUTE)
        })
        .collect();
    let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&slots);
    // SAFETY: VUID-VkDescriptorSetLayoutCreateInfo-binding-00279: a kernel's
    // bindings are distinct.
    unsafe { root.device.create_descriptor_set_layout(&info, None) }
        .map_err(|code| root.loss.fault("vkCreateDescriptorSetLayout", code))
}

/// A shader module, needed only while its pipeline is built.
struct Module<'a> {
    root: &'a Root,
    raw: vk::ShaderModule,
}

impl<'a> Module<'a> {
    fn new(root: &'a Root, spirv: &[u32]) -> Result<Self, DeviceFault> {
        const CALL: &str = "vkCreateShaderModule";
        if spirv.is_empty() {
            return Err(DeviceFault::KernelRefused {
                call: CALL,
                code: vk::Result::ERROR_INVALID_SHADER_NV.as_raw(),
            });
        }
        let info = vk::ShaderModuleCreateInfo::default().code(spirv);
        // SAFETY: VUID-VkShaderModuleCreateInfo-codeSize-01085: the code is not
        // empty and made of whole words; that it is valid is the caller's part.
        let raw = unsafe { root.device.create_shader_module(&info, None) }
            .map_err(|code| root.loss.kernel_fault(CALL, code))?;
        Ok(Self { root, raw })
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: VUID-vkDestroyShaderModule-shaderModule-parameter: pipelines
        // do not need their modules once they are built.
        unsafe { self.root.device.destroy_shader_module(self.raw, None) };
    }
}

fn pipeline(
    kernel: &Kernel,
    module: &Module<'_>,
    spec: KernelSpec<'_>,
) -> Result<vk::Pipeline, DeviceFault> {
    let root = &kernel.root;
    let entry = CString::new(spec.entry).map_err(|_| DeviceFault::KernelRefused {
        call: BUILD,
        code: vk::Result::ERROR_INITIALIZATION_FAILED.as_raw(),
    })?;
    let words: Vec<u32> = spec.specialization.iter().map(|(_, word)| *word).collect();
    let entries: Vec<vk::SpecializationMapEntry> = (0_u32..)
        .zip(spec.specialization)
        .map(|(place, (id, _))| vk::SpecializationMapEntry {
            constant_id: *id,
            offset: place * 4,
            size: 4,
        })
        .collect();
    let constants = vk::SpecializationInfo::default()
        .map_entries(&entries)
        .data(bytemuck::cast_slice(&words));
    let stage = vk::PipelineShaderStageCreateInfo::default()
        .stage(vk::ShaderStageFlags::COMPUTE)
        .module(module.raw)
        .name(&entry)
        .specialization_info(&constants);
    let info = vk::ComputePipelineCreateInfo::default()
        .stage(stage)
        .layout(kernel.layout);
    // SAFETY: VUID-VkComputePipelineCreateInfo-layout-07988: the layout has all
    // of the kernel's bindings; the module and its entry point are the caller's
    // promise; everything pointed to lives through the call.
    let built = unsafe {
        root.device
            .create_compute_pipelines(vk::PipelineCache::null(), &[info], None)
    };
    let pipelines = built.map_err(|(_, code)| root.loss.kernel_fault(BUILD, code))?;
    // Drivers have been seen to call a pipeline that they did not build a
    // success; the null handle tells.
    pipelines
        .into_iter()
        .find(|pipeline| *pipeline != vk::Pipeline::null())
        .ok_or_else(|| root.loss.kernel_fault(BUILD, vk::Result::ERROR_UNKNOWN))
}
