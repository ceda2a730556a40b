//! How much memory of its own a kernel takes.
//!
//! Drivers answer an oversized variable with a crash at least as often as with
//! an error, so none is shown one.

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{AddressSpace, Function, Handle, Module, Type, TypeInner};

use crate::device::Limits;
use crate::kernel::KernelError;

/// The most bytes of variables in one invocation, and of one value. WGSL asks
/// for 8 KiB; with 128 invocations to a workgroup this is 8 MiB.
const INVOCATION_BYTES: u64 = 64 * 1024;

pub(super) fn check(
    module: &Module,
    info: &ModuleInfo,
    entry: usize,
    limits: &Limits,
) -> Result<(), KernelError> {
    let bytes = variables(module, info.get_entry_point(entry), AddressSpace::WorkGroup);
    let limit_bytes = u64::from(limits.workgroup_bytes);
    if bytes > limit_bytes {
        return Err(KernelError::WorkgroupMemory { bytes, limit_bytes });
    }
    let point = &module.entry_points[entry];
    let functions = module.functions.iter();
    let functions = functions.map(|(handle, function)| (function, &info[handle]));
    let functions = functions.chain([(&point.function, info.get_entry_point(entry))]);
    let mut bytes = variables(module, info.get_entry_point(entry), AddressSpace::Private);
    for (function, facts) in functions {
        bytes = bytes.saturating_add(locals(module, function));
        within(bytes)?;
        within(largest_value(module, function, facts))?;
    }
    within(bytes)
}

fn within(bytes: u64) -> Result<(), KernelError> {
    if bytes > INVOCATION_BYTES {
        return Err(KernelError::InvocationMemory {
            bytes,
            limit_bytes: INVOCATION_BYTES,
        });
    }
    Ok(())
}

/// The bytes of the module's variables in `space` that are used, each padded to
/// the strictest alignment there is.
fn variables(module: &Module, uses: &FunctionInfo, space: AddressSpace) -> u64 {
    let variables = module.global_variables.iter();
    variables
        .filter(|(handle, variable)| variable.space == space && !uses[*handle].is_empty())
        .map(|(_, variable)| size(module, variable.ty).next_multiple_of(16))
        .fold(0, u64::saturating_add)
}

fn locals(module: &Module, function: &Function) -> u64 {
    let variables = function.local_variables.iter();
    variables
        .map(|(_, variable)| size(module, variable.ty))
        .fold(0, u64::saturating_add)
}

fn largest_value(module: &Module, function: &Function, facts: &FunctionInfo) -> u64 {
    let values = function.expressions.iter();
    values
        .map(|(handle, _)| size_of(module, facts[handle].ty.inner_with(&module.types)))
        .max()
        .unwrap_or(0)
}

fn size(module: &Module, ty: Handle<Type>) -> u64 {
    size_of(module, &module.types[ty].inner)
}

fn size_of(module: &Module, inner: &TypeInner) -> u64 {
    inner.try_size(module.to_ctx()).map_or(u64::MAX, u64::from)
}
