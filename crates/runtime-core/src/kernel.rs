//! Kernels: what a source promises, and the words a device is given.
//!
//! WGSL is translated and is safe: every access is kept inside the bound view,
//! every loop can end, workgroup memory starts as zero. SPIR-V is checked as far
//! as its structure shows; its accesses are the caller's promise.
//! Pure, but for the thread on which a source is compiled. No driver is asked
//! here, and a kernel that fails fails alone.
//!
//! Group 0 holds the buffers of a graph; binding 0 of group 1 is a uniform with
//! the parameters of a run. The length a kernel sees of a buffer is that of the
//! bound view, since exactly its range is bound.

mod error;
mod spirv;
#[cfg(all(test, not(runtime_loom)))]
mod tests;
#[cfg(feature = "wgsl")]
mod wgsl;

use runtime_sync::unmodelled::Arc;

use crate::device::{BindingKind, BindingSlot, KernelSpec, Limits};

pub use error::{BindingFault, KernelError, Malformed, Place};
pub use spirv::{Contract, Spirv, check};
#[cfg(feature = "wgsl")]
pub use wgsl::{CacheKey, Constant, Wgsl, compile};

/// The most bytes of parameters that a run may set.
pub const PARAMETER_BYTES: u64 = 256;

/// The group of a graph's buffers.
pub(crate) const BUFFER_GROUP: u32 = 0;
/// The group of the parameters, whose binding is 0.
pub(crate) const PARAMETER_GROUP: u32 = 1;

/// The largest number of a binding. Drivers keep tables as long as the largest
/// number, so an absurd one would cost memory without an error.
const LARGEST_BINDING: u32 = 255;

/// A kernel that passed all checks and is ready for a device.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compiled {
    /// A valid module.
    pub spirv: Arc<[u32]>,
    /// The compute entry point.
    pub entry: Arc<str>,
    /// What it binds, by group and number; the parameters are among them.
    pub bindings: Vec<BindingSlot>,
    /// What a run may set, if the kernel has parameters.
    pub parameters: Option<Parameters>,
    /// Invocations of a workgroup along each axis.
    pub workgroup: [u32; 3],
    /// Values of specialization constants; none for WGSL, which has them inside.
    pub specialization: Vec<(u32, u32)>,
    /// Its name in messages.
    pub label: Arc<str>,
}

impl Compiled {
    /// What a device is asked to build.
    pub(crate) fn spec(&self) -> KernelSpec<'_> {
        KernelSpec {
            spirv: &self.spirv,
            entry: &self.entry,
            bindings: &self.bindings,
            workgroup: self.workgroup,
            specialization: &self.specialization,
            label: &self.label,
        }
    }
}

/// The layout of the uniform that holds a run's parameters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parameters {
    /// Its length, at most [`PARAMETER_BYTES`].
    pub bytes: u64,
    /// Its members, in order.
    pub members: Vec<Parameter>,
}

/// A member of the parameters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Parameter {
    /// Its name.
    pub name: Arc<str>,
    /// Its first byte.
    pub offset: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

/// What the checks of both inputs share: places, numbers and sizes of bindings.
/// Leaves them in order.
fn check_bindings(bindings: &mut [BindingSlot], limits: &Limits) -> Result<(), KernelError> {
    bindings.sort_by_key(|slot| (slot.group, slot.binding));
    for slot in bindings.iter() {
        check_place(slot)?;
        let limit_bytes = match slot.kind {
            BindingKind::Uniform => limits.uniform_range_bytes,
            _ => limits.storage_range_bytes,
        };
        if slot.least_bytes > limit_bytes {
            return Err(KernelError::BindingTooLarge {
                name: slot.name.clone(),
                least_bytes: slot.least_bytes,
                limit_bytes,
            });
        }
    }
    let at = |slot: &BindingSlot| (slot.group, slot.binding);
    if let Some(pair) = bindings
        .windows(2)
        .find(|pair| at(&pair[0]) == at(&pair[1]))
    {
        return Err(unsupported(&pair[1], BindingFault::Taken));
    }
    let storage = bindings
        .iter()
        .filter(|slot| slot.kind != BindingKind::Uniform);
    let count = storage.count();
    if u32::try_from(count).map_or(true, |count| count > limits.storage_bindings) {
        return Err(KernelError::TooManyBindings {
            count,
            limit: limits.storage_bindings,
        });
    }
    Ok(())
}

fn check_place(slot: &BindingSlot) -> Result<(), KernelError> {
    let fault = match (slot.group, slot.binding) {
        (BUFFER_GROUP, number) if number > LARGEST_BINDING => BindingFault::Number {
            limit: LARGEST_BINDING,
        },
        (BUFFER_GROUP, _) => return Ok(()),
        (PARAMETER_GROUP, 0) if slot.kind != BindingKind::Uniform => BindingFault::NotUniform,
        (PARAMETER_GROUP, 0) if slot.least_bytes > PARAMETER_BYTES => {
            BindingFault::ParametersTooLarge {
                bytes: slot.least_bytes,
                limit_bytes: PARAMETER_BYTES,
            }
        }
        (PARAMETER_GROUP, 0) => return Ok(()),
        _ => BindingFault::Group,
    };
    Err(unsupported(slot, fault))
}

fn unsupported(slot: &BindingSlot, fault: BindingFault) -> KernelError {
    KernelError::UnsupportedBinding {
        name: slot.name.clone(),
        group: slot.group,
        binding: slot.binding,
        fault,
    }
}

fn check_workgroup(workgroup: [u32; 3], limits: &Limits) -> Result<(), KernelError> {
    let within = workgroup
        .iter()
        .zip(limits.workgroup)
        .all(|(&axis, limit)| axis > 0 && axis <= limit);
    let invocations = workgroup
        .iter()
        .try_fold(1_u32, |all, &axis| all.checked_mul(axis));
    if within && invocations.is_some_and(|all| all <= limits.workgroup_invocations) {
        return Ok(());
    }
    Err(KernelError::WorkgroupSize {
        workgroup,
        limit: limits.workgroup,
        limit_invocations: limits.workgroup_invocations,
    })
}
