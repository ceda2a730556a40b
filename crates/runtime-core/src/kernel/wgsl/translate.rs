//! From source to words.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error as StdError;

use naga::back::pipeline_constants::{PipelineConstantError, process_overrides};
use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{Module, ScalarKind, ShaderStage, SourceLocation, TypeInner};
use runtime_sync::unmodelled::Arc;

use super::{Constant, Wgsl, limits as memory, reflect};
use crate::device::{BindingSlot, Limits};
use crate::kernel::{Compiled, KernelError, Place, check_bindings, check_workgroup};

/// Every version of Vulkan that the runtime accepts reads this one, and storage
/// buffers need no extension in it.
const SPIRV_VERSION: (u8, u8) = (1, 3);

pub(super) fn translate(wgsl: &Wgsl, limits: &Limits) -> Result<Compiled, KernelError> {
    let module = parse(&wgsl.source)?;
    let entry = choose_entry(&module, wgsl.entry.as_ref())?;
    let info = validate(&module, &wgsl.source)?;
    let (module, info) = resolve_constants(&module, &info, &entry, wgsl)?;
    let Some((index, point)) = compute_entries(&module)
        .find(|(_, name, _)| **name == *entry)
        .map(|(index, _, point)| (index, point))
    else {
        return Err(KernelError::NoEntryPoint {
            name: entry,
            known: Vec::new(),
        });
    };
    let uses = info.get_entry_point(index);
    let reflected = reflect::reflect(&module, uses)?;
    let mut bindings = reflected.bindings;
    check_bindings(&mut bindings, limits)?;
    check_workgroup(point.workgroup_size, limits)?;
    memory::check(&module, &info, index, limits)?;
    Ok(Compiled {
        spirv: write(&module, &info, &entry, &bindings)?.into(),
        label: wgsl.label.clone().unwrap_or_else(|| entry.clone()),
        entry,
        bindings,
        parameters: reflected.parameters,
        workgroup: point.workgroup_size,
        specialization: Vec::new(),
    })
}

fn parse(source: &str) -> Result<Module, KernelError> {
    naga::front::wgsl::parse_str(source).map_err(|error| KernelError::Parse {
        place: error.location(source).map(place),
        message: error.message().into(),
    })
}

fn validate(module: &Module, source: &str) -> Result<ModuleInfo, KernelError> {
    Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(module)
        .map_err(|error| KernelError::Invalid {
            place: error.location(source).map(place),
            message: chain(error.as_inner()),
        })
}

fn compute_entries(module: &Module) -> impl Iterator<Item = (usize, &str, &naga::EntryPoint)> {
    let points = module.entry_points.iter().enumerate();
    points
        .filter(|(_, point)| point.stage == ShaderStage::Compute)
        .map(|(index, point)| (index, point.name.as_str(), point))
}

/// The named entry point, or the only one.
fn choose_entry(module: &Module, asked: Option<&Arc<str>>) -> Result<Arc<str>, KernelError> {
    let known: Vec<Arc<str>> = compute_entries(module)
        .map(|(_, name, _)| name.into())
        .collect();
    match (asked, known.as_slice()) {
        (Some(name), known) if known.contains(name) => Ok(name.clone()),
        (Some(name), _) => Err(KernelError::NoEntryPoint {
            name: name.clone(),
            known,
        }),
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(KernelError::EntryUnstated { known }),
    }
}

/// Replaces overridable constants by their values and drops other entry points.
fn resolve_constants<'a>(
    module: &'a Module,
    info: &'a ModuleInfo,
    entry: &str,
    wgsl: &Wgsl,
) -> Result<(Cow<'a, Module>, Cow<'a, ModuleInfo>), KernelError> {
    check_constants(module, &wgsl.constants)?;
    let values = wgsl.constants.iter();
    let values = values
        .map(|(name, constant)| (name.as_ref().to_owned(), constant.value()))
        .collect();
    let point = Some((ShaderStage::Compute, entry));
    process_overrides(module, info, point, &values).map_err(|error| match error {
        PipelineConstantError::MissingValue(name) => {
            KernelError::ConstantUnstated { name: name.into() }
        }
        PipelineConstantError::ValidationError(error) => KernelError::Invalid {
            place: error.location(&wgsl.source).map(place),
            message: chain(error.as_inner()),
        },
        other => KernelError::Invalid {
            place: None,
            message: chain(&other),
        },
    })
}

/// naga says that a value does not fit, but not which: so each is looked at first.
fn check_constants(
    module: &Module,
    constants: &BTreeMap<Arc<str>, Constant>,
) -> Result<(), KernelError> {
    let known: BTreeMap<Arc<str>, &naga::Override> = module
        .overrides
        .iter()
        .filter_map(|(_, constant)| {
            let key = match (constant.id, &constant.name) {
                (Some(id), _) => id.to_string(),
                (None, name) => name.clone()?,
            };
            Some((key.into(), constant))
        })
        .collect();
    for (name, constant) in constants {
        let Some(declared) = known.get(name) else {
            return Err(KernelError::NoSuchConstant {
                name: name.clone(),
                known: known.into_keys().collect(),
            });
        };
        let value = constant.value();
        if !fits(&module.types[declared.ty].inner, value) {
            return Err(KernelError::ConstantUnfit {
                name: name.clone(),
                value,
            });
        }
    }
    Ok(())
}

/// Whole numbers only for integers: a silent cut would be a surprise.
fn fits(inner: &TypeInner, value: f64) -> bool {
    let whole = value.trunc() == value;
    match inner.scalar_kind() {
        Some(ScalarKind::Bool) => value == 0.0 || value == 1.0,
        Some(ScalarKind::Uint) => whole && (0.0..=f64::from(u32::MAX)).contains(&value),
        Some(ScalarKind::Sint) => {
            whole && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&value)
        }
        _ => value.abs() <= f64::from(f32::MAX),
    }
}

fn write(
    module: &Module,
    info: &ModuleInfo,
    entry: &str,
    bindings: &[BindingSlot],
) -> Result<Vec<u32>, KernelError> {
    let policy = BoundsCheckPolicy::Restrict;
    let options = spv::Options {
        lang_version: SPIRV_VERSION,
        // The same words from every build.
        flags: spv::WriterFlags::empty(),
        fake_missing_bindings: false,
        binding_map: bindings.iter().map(same_place).collect(),
        capabilities: Some([spv::Capability::Shader].into_iter().collect()),
        bounds_check_policies: BoundsCheckPolicies {
            index: policy,
            buffer: policy,
            image_load: policy,
            binding_array: policy,
        },
        // Every Vulkan 1.3 device zeroes workgroup memory itself. Stores in the
        // shader would make some drivers compile for minutes.
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::Native,
        force_loop_bounding: true,
        emit_int_div_checks: true,
        ..spv::Options::default()
    };
    let pipeline = spv::PipelineOptions {
        shader_stage: ShaderStage::Compute,
        entry_point: entry.to_owned(),
    };
    spv::write_vec(module, info, &options, Some(&pipeline)).map_err(|error| {
        KernelError::Translation {
            message: chain(&error),
        }
    })
}

/// Every variable keeps the place that the source gives it.
fn same_place(slot: &BindingSlot) -> (naga::ResourceBinding, spv::BindingInfo) {
    let source = naga::ResourceBinding {
        group: slot.group,
        binding: slot.binding,
    };
    let target = spv::BindingInfo {
        descriptor_set: slot.group,
        binding: slot.binding,
        binding_array_size: None,
    };
    (source, target)
}

fn place(at: SourceLocation) -> Place {
    Place {
        line: at.line_number,
        column: at.line_position,
    }
}

/// An error with its causes, for naga splits what is wrong from where.
fn chain(error: &dyn StdError) -> Arc<str> {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    text.into()
}
