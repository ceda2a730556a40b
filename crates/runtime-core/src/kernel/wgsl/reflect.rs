//! Which variables an entry point binds.

use naga::valid::FunctionInfo;
use naga::{AddressSpace, GlobalVariable, Module, StorageAccess, TypeInner};
use runtime_sync::unmodelled::Arc;

use crate::device::{BindingKind, BindingSlot};
use crate::kernel::{BindingFault, KernelError, PARAMETER_GROUP, Parameter, Parameters};

pub(super) struct Reflected {
    pub(super) bindings: Vec<BindingSlot>,
    pub(super) parameters: Option<Parameters>,
}

pub(super) fn reflect(module: &Module, uses: &FunctionInfo) -> Result<Reflected, KernelError> {
    let mut bindings = Vec::new();
    let mut parameters = None;
    for (handle, variable) in module.global_variables.iter() {
        if uses[handle].is_empty() {
            continue;
        }
        let Some(kind) = kind(variable)? else {
            continue;
        };
        if matches!(
            module.types[variable.ty].inner,
            TypeInner::BindingArray { .. }
        ) {
            return Err(refused(variable, BindingFault::Array));
        }
        let slot = slot(module, variable, kind)?;
        if slot.group == PARAMETER_GROUP {
            parameters = Some(layout(module, variable, slot.least_bytes));
        }
        bindings.push(slot);
    }
    Ok(Reflected {
        bindings,
        parameters,
    })
}

/// What a variable is bound as; `None` for memory of the kernel's own.
fn kind(variable: &GlobalVariable) -> Result<Option<BindingKind>, KernelError> {
    match variable.space {
        AddressSpace::Function | AddressSpace::Private | AddressSpace::WorkGroup => Ok(None),
        AddressSpace::Uniform => Ok(Some(BindingKind::Uniform)),
        AddressSpace::Storage { access } if access == StorageAccess::LOAD => {
            Ok(Some(BindingKind::StorageRead))
        }
        AddressSpace::Storage { .. } => Ok(Some(BindingKind::StorageWrite)),
        AddressSpace::Immediate => Err(refused(variable, BindingFault::Immediate)),
        _ => Err(refused(variable, BindingFault::NoBuffer)),
    }
}

fn slot(
    module: &Module,
    variable: &GlobalVariable,
    kind: BindingKind,
) -> Result<BindingSlot, KernelError> {
    let (Some(at), Some(bytes)) = (
        variable.binding,
        // An array without a length counts with one element: a kernel whose
        // indices are kept inside the array needs at least that.
        module.types[variable.ty].inner.try_size(module.to_ctx()),
    ) else {
        return Err(refused(variable, BindingFault::NoBuffer));
    };
    Ok(BindingSlot {
        group: at.group,
        binding: at.binding,
        kind,
        least_bytes: u64::from(bytes.max(1)),
        name: name(variable),
    })
}

/// Where each parameter lies. A uniform that is no structure is one parameter.
fn layout(module: &Module, variable: &GlobalVariable, bytes: u64) -> Parameters {
    let TypeInner::Struct { members, .. } = &module.types[variable.ty].inner else {
        let only = Parameter {
            name: name(variable),
            offset: 0,
            bytes,
        };
        return Parameters {
            bytes,
            members: vec![only],
        };
    };
    let members = members.iter().map(|member| Parameter {
        name: member.name.as_deref().unwrap_or_default().into(),
        offset: u64::from(member.offset),
        bytes: module.types[member.ty]
            .inner
            .try_size(module.to_ctx())
            .map_or(0, u64::from),
    });
    Parameters {
        bytes,
        members: members.collect(),
    }
}

fn name(variable: &GlobalVariable) -> Arc<str> {
    variable.name.as_deref().unwrap_or_default().into()
}

fn refused(variable: &GlobalVariable, fault: BindingFault) -> KernelError {
    let (group, binding) = variable.binding.map_or((0, 0), |at| (at.group, at.binding));
    KernelError::UnsupportedBinding {
        name: name(variable),
        group,
        binding,
        fault,
    }
}
