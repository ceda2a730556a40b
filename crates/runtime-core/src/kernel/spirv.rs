//! Kernels in SPIR-V: what can be checked without running them.
//!
//! The structure is checked against a contract; that accesses stay inside the
//! bound views, that loops end and that the module is valid SPIR-V remain the
//! caller's promise, which is why building such a kernel is unsafe.

mod header;
mod module;
#[cfg(all(test, not(runtime_loom)))]
mod tests;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rspirv::dr;
use runtime_sync::unmodelled::Arc;

use super::{
    BUFFER_GROUP, Compiled, KernelError, Malformed, PARAMETER_GROUP, Parameter, Parameters,
    check_bindings, check_workgroup,
};
use crate::device::{BindingKind, BindingSlot, Limits};
use module::Reflected;

/// The longest module, in bytes.
const MODULE_BYTES: usize = 4 * 1024 * 1024;

/// A kernel in SPIR-V, with what its author says about it.
#[derive(Debug, Clone)]
pub struct Spirv {
    words: Arc<[u32]>,
    entry: Arc<str>,
    contract: Contract,
    specialization: BTreeMap<u32, u32>,
    label: Option<Arc<str>>,
}

/// What the author of a module says that it binds.
///
/// Checked against the module: neither may have a binding that the other lacks,
/// and a buffer that is stated as read-only must be declared `NonWritable`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contract {
    bindings: Vec<BindingSlot>,
    parameters: Option<Parameters>,
    workgroup: Option<[u32; 3]>,
}

impl Spirv {
    /// A module of at most 4 MiB, in the host's byte order.
    pub fn new(
        words: impl Into<Arc<[u32]>>,
        entry: impl Into<Arc<str>>,
        contract: Contract,
    ) -> Self {
        Self {
            words: words.into(),
            entry: entry.into(),
            contract,
            specialization: BTreeMap::new(),
            label: None,
        }
    }

    /// The same, from the bytes of a file.
    ///
    /// # Errors
    /// When the length is no multiple of 4, or is above 4 MiB.
    pub fn from_bytes(
        bytes: &[u8],
        entry: impl Into<Arc<str>>,
        contract: Contract,
    ) -> Result<Self, KernelError> {
        check_length(bytes.len())?;
        let (words, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(KernelError::Malformed(Malformed::PartialWord {
                bytes: bytes.len(),
            }));
        }
        let words: Arc<[u32]> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        Ok(Self::new(words, entry, contract))
    }

    /// Its name in messages; the entry point's where it is left out.
    #[must_use]
    pub fn label(mut self, label: impl Into<Arc<str>>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Gives the 32-bit specialization constant with this `SpecId` a value.
    #[must_use]
    pub fn specialize(mut self, id: u32, word: u32) -> Self {
        self.specialization.insert(id, word);
        self
    }
}

impl Contract {
    /// A contract for a kernel that binds nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A storage buffer of group 0 that the kernel only reads, with the fewest
    /// bytes that a view of it must have.
    #[must_use]
    pub fn reads(self, binding: u32, name: impl Into<Arc<str>>, least_bytes: u64) -> Self {
        self.with(binding, BindingKind::StorageRead, name.into(), least_bytes)
    }

    /// A storage buffer of group 0 that the kernel may write, with the fewest
    /// bytes that a view of it must have.
    #[must_use]
    pub fn writes(self, binding: u32, name: impl Into<Arc<str>>, least_bytes: u64) -> Self {
        self.with(binding, BindingKind::StorageWrite, name.into(), least_bytes)
    }

    /// A uniform buffer of group 0 with its length in bytes.
    #[must_use]
    pub fn uniform(self, binding: u32, name: impl Into<Arc<str>>, bytes: u64) -> Self {
        self.with(binding, BindingKind::Uniform, name.into(), bytes)
    }

    /// The uniform at binding 0 of group 1, by its length and its members.
    #[must_use]
    pub fn parameters(mut self, bytes: u64, members: impl IntoIterator<Item = Parameter>) -> Self {
        let members = members.into_iter().collect();
        self.parameters = Some(Parameters { bytes, members });
        self
    }

    /// Invocations of a workgroup along each axis; needed where the module takes
    /// them from specialization constants, and compared where it states them.
    #[must_use]
    pub fn workgroup(mut self, workgroup: [u32; 3]) -> Self {
        self.workgroup = Some(workgroup);
        self
    }

    fn with(mut self, binding: u32, kind: BindingKind, name: Arc<str>, least_bytes: u64) -> Self {
        self.bindings.push(BindingSlot {
            group: BUFFER_GROUP,
            binding,
            kind,
            least_bytes: least_bytes.max(1),
            name,
        });
        self
    }

    /// All bindings, the parameters among them.
    fn slots(&self) -> Vec<BindingSlot> {
        let parameters = self.parameters.iter().map(|parameters| BindingSlot {
            group: PARAMETER_GROUP,
            binding: 0,
            kind: BindingKind::Uniform,
            least_bytes: parameters.bytes.max(1),
            name: "parameters".into(),
        });
        self.bindings.iter().cloned().chain(parameters).collect()
    }
}

/// Checks a module against its contract and a device's limits.
///
/// # Errors
/// What is wrong with the module, or where it is not what the contract says.
pub fn check(kernel: &Spirv, limits: &Limits) -> Result<Compiled, KernelError> {
    check_length(kernel.words.len().saturating_mul(4))?;
    header::check(&kernel.words)?;
    let reflected = parse_and_reflect(kernel)?;
    let known = &reflected.constants;
    if let Some(id) = kernel.specialization.keys().find(|id| !known.contains(id)) {
        return Err(KernelError::NoSuchConstant {
            name: id.to_string().into(),
            known: known.iter().map(|id| id.to_string().into()).collect(),
        });
    }
    let mut bindings = kernel.contract.slots();
    check_bindings(&mut bindings, limits)?;
    compare(&bindings, &reflected)?;
    let workgroup = workgroup(kernel.contract.workgroup, reflected.workgroup)?;
    check_workgroup(workgroup, limits)?;
    Ok(Compiled {
        spirv: kernel.words.clone(),
        entry: kernel.entry.clone(),
        bindings,
        parameters: kernel.contract.parameters.clone(),
        workgroup,
        specialization: kernel
            .specialization
            .iter()
            .map(|(&id, &word)| (id, word))
            .collect(),
        label: kernel.label.clone().unwrap_or_else(|| kernel.entry.clone()),
    })
}

fn check_length(bytes: usize) -> Result<(), KernelError> {
    if bytes > MODULE_BYTES {
        return Err(KernelError::TooLong {
            bytes,
            limit_bytes: MODULE_BYTES,
        });
    }
    Ok(())
}

/// The parser is not ours and the words may be anything: a panic in it is this
/// kernel's failure and nobody else's.
fn parse_and_reflect(kernel: &Spirv) -> Result<Reflected, KernelError> {
    catch_unwind(AssertUnwindSafe(|| {
        let parsed = dr::load_words(&kernel.words).map_err(|error| {
            KernelError::Malformed(Malformed::Instructions {
                message: error.to_string().into(),
            })
        })?;
        module::reflect(&parsed, &kernel.entry)
    }))
    .unwrap_or(Err(KernelError::CompilerPanicked))
}

fn compare(stated: &[BindingSlot], reflected: &Reflected) -> Result<(), KernelError> {
    let stated: BTreeMap<(u32, u32), BindingKind> = stated
        .iter()
        .map(|slot| ((slot.group, slot.binding), slot.kind))
        .collect();
    let places = stated.keys().chain(reflected.bindings.keys());
    for &(group, binding) in places {
        let stated = stated.get(&(group, binding)).copied();
        let found = reflected.bindings.get(&(group, binding)).copied();
        let agrees = match (stated, found) {
            // To be careful about a buffer that is only read is allowed.
            (Some(BindingKind::StorageWrite), Some(BindingKind::StorageRead)) => true,
            (stated, found) => stated == found,
        };
        if !agrees {
            return Err(KernelError::ContractBroken {
                group,
                binding,
                stated,
                found,
            });
        }
    }
    Ok(())
}

fn workgroup(stated: Option<[u32; 3]>, found: Option<[u32; 3]>) -> Result<[u32; 3], KernelError> {
    match (stated, found) {
        (Some(stated), Some(found)) if stated != found => {
            Err(KernelError::WorkgroupBroken { stated, found })
        }
        (_, Some(size)) | (Some(size), None) => Ok(size),
        (None, None) => Err(KernelError::WorkgroupUnstated),
    }
}
