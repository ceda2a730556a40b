//! Kernels.

use ash::vk;

use super::interposer::{self, inject};
use super::*;
use crate::device::{BindingKind, BindingSlot, BoundSpan};

const SCALE: &str = "
struct Parameters { add: u32 }
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> values: array<u32>;
@group(1) @binding(0) var<uniform> parameters: Parameters;
@compute @workgroup_size(64)
fn scale(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&source)) {
        values[id.x] = source[id.x] * 2u + parameters.add;
    }
}
";

fn spirv(source: &str) -> Vec<u32> {
    let module = naga::front::wgsl::parse_str(source).expect("valid WGSL");
    let mut validator = naga::valid::Validator::new(
        naga::valid::ValidationFlags::all(),
        naga::valid::Capabilities::empty(),
    );
    let info = validator.validate(&module).expect("a valid module");
    let options = naga::back::spv::Options {
        lang_version: (1, 3),
        ..Default::default()
    };
    naga::back::spv::write_vec(&module, &info, &options, None).expect("SPIR-V")
}

fn slot(group: u32, binding: u32, kind: BindingKind) -> BindingSlot {
    BindingSlot {
        group,
        binding,
        kind,
        least_bytes: 4,
        name: "".into(),
    }
}

fn slots() -> [BindingSlot; 3] {
    [
        slot(0, 0, BindingKind::StorageRead),
        slot(0, 1, BindingKind::StorageWrite),
        slot(1, 0, BindingKind::Uniform),
    ]
}

fn build(rig: &Rig, spirv: &[u32], entry: &str) -> Result<Arc<dyn DeviceKernel>, DeviceFault> {
    let bindings = slots();
    rig.device.build_kernel(KernelSpec {
        spirv,
        entry,
        bindings: &bindings,
        workgroup: [64, 1, 1],
        specialization: &[],
        label: "scale",
    })
}

fn bound(group: u32, binding: u32, span: Span) -> BoundSpan {
    BoundSpan {
        group,
        binding,
        span,
    }
}

/// Scales `count` words from byte 256 of a buffer to byte 512 of another.
fn scale(rig: &Rig, kernel: &Arc<dyn DeviceKernel>, count: u32) {
    let numbers: Vec<u32> = (0..count + 128).collect();
    let source = rig.upload(bytemuck::cast_slice(&numbers));
    let parameters = rig.upload(bytemuck::cast_slice(&[1000_u32, 0, 0, 0]));
    let bytes = u64::from(count) * 4;
    let target = rig.buffer(512 + bytes + 256, MemoryPlacement::Device);
    rig.run(
        Lane::Compute,
        vec![
            fill(&target, u32::MAX),
            Command::Barrier,
            Command::Dispatch {
                kernel: Arc::clone(kernel),
                bindings: vec![
                    bound(0, 0, span(&source, 256, bytes)),
                    bound(0, 1, span(&target, 512, bytes)),
                    bound(1, 0, span(&parameters, 0, 16)),
                ],
                groups: [count.div_ceil(64) + 3, 1, 1],
            },
        ],
    );
    let result = words(&rig.read(&target));
    let last = 128 + usize::try_from(count).expect("a small number");
    let expected: Vec<u32> = (64..count + 64).map(|number| number * 2 + 1000).collect();
    assert_eq!(result[128..last], expected);
    assert!(result[..128].iter().all(|word| *word == u32::MAX));
    assert!(result[last..].iter().all(|word| *word == u32::MAX));
}

#[test]
fn a_kernel_sees_exactly_what_is_bound() {
    let rig = Rig::new();
    let kernel = build(&rig, &spirv(SCALE), "scale").unwrap();
    scale(&rig, &kernel, 1000);
}

#[test]
fn a_kernel_without_bindings_runs() {
    let rig = Rig::new();
    let code = spirv("@compute @workgroup_size(1) fn nothing() {}");
    let kernel = rig
        .device
        .build_kernel(KernelSpec {
            spirv: &code,
            entry: "nothing",
            bindings: &[],
            workgroup: [1, 1, 1],
            specialization: &[],
            label: "nothing",
        })
        .unwrap();
    let groups = [1, 1, 1];
    let bindings = Vec::new();
    rig.run(
        Lane::Compute,
        vec![Command::Dispatch {
            kernel,
            bindings,
            groups,
        }],
    );
}

#[test]
fn a_region_keeps_its_kernels_and_buffers() {
    let rig = Rig::new();
    let kernel = build(&rig, &spirv(SCALE), "scale").unwrap();
    let source = rig.upload(bytemuck::cast_slice(&[7_u32; 64]));
    let parameters = rig.upload(bytemuck::cast_slice(&[1_u32, 0, 0, 0]));
    let target = rig.buffer(256, MemoryPlacement::Device);
    let region = rig.region(
        Lane::Compute,
        vec![Command::Dispatch {
            kernel: Arc::clone(&kernel),
            bindings: vec![
                bound(0, 0, span(&source, 0, 256)),
                bound(0, 1, span(&target, 0, 256)),
                bound(1, 0, span(&parameters, 0, 16)),
            ],
            groups: [1, 1, 1],
        }],
    );
    let weak = (Arc::downgrade(&kernel), Arc::downgrade(&source));
    drop((kernel, source, parameters));
    assert!(weak.0.upgrade().is_some() && weak.1.upgrade().is_some());
    for _ in 0..2 {
        let point = rig.submit(&region, Leading::Barrier, &[]).unwrap();
        rig.wait(point);
    }
    assert_eq!(words(&rig.read(&target)), [15; 64]);
    drop(region);
    assert!(weak.0.upgrade().is_none() && weak.1.upgrade().is_none());
}

#[test]
fn a_refused_kernel_fails_alone() {
    inject(|faults| *faults = interposer::Faults::default());
    let rig = Rig::with(VulkanOptions::default().entry(interposer::entry()));
    let code = spirv(SCALE);
    inject(|faults| faults.next_pipeline = Some(vk::Result::ERROR_INVALID_SHADER_NV));
    assert_eq!(
        build(&rig, &code, "scale").unwrap_err(),
        DeviceFault::KernelRefused {
            call: "vkCreateComputePipelines",
            code: vk::Result::ERROR_INVALID_SHADER_NV.as_raw(),
        }
    );
    assert!(matches!(
        build(&rig, &[], "scale"),
        Err(DeviceFault::KernelRefused {
            call: "vkCreateShaderModule",
            ..
        })
    ));
    assert!(matches!(
        build(&rig, &code, "sca\0le"),
        Err(DeviceFault::KernelRefused { .. })
    ));
    scale(&rig, &build(&rig, &code, "scale").unwrap(), 100);
}

// Invalid usage, so it runs without validation, and only where the driver is
// known to refuse: others crash, which is why kernels are checked before they
// come here.
#[test]
#[ignore = "invalid usage: needs Mesa's llvmpipe, without validation"]
fn a_real_driver_refuses_an_unknown_entry() {
    let llvmpipe = VulkanOptions::default().selector(DeviceSelector::Named("llvmpipe".into()));
    let rig = Rig::with(llvmpipe);
    let code = spirv(SCALE);
    let cut = &code[..code.len() / 2];
    for refused in [build(&rig, &code, "nothing"), build(&rig, cut, "scale")] {
        assert!(matches!(
            refused,
            Err(DeviceFault::KernelRefused {
                call: "vkCreateComputePipelines",
                ..
            })
        ));
    }
    scale(&rig, &build(&rig, &code, "scale").unwrap(), 100);
}

#[test]
fn too_many_groups_are_refused_before_the_driver() {
    let rig = Rig::new();
    let code = spirv(SCALE);
    let bindings = [slot(u32::MAX, 0, BindingKind::StorageRead)];
    let refusal = rig.device.build_kernel(KernelSpec {
        spirv: &code,
        entry: "scale",
        bindings: &bindings,
        workgroup: [64, 1, 1],
        specialization: &[],
        label: "far",
    });
    assert!(matches!(
        refusal,
        Err(DeviceFault::KernelRefused {
            call: "vkCreatePipelineLayout",
            ..
        })
    ));
}
