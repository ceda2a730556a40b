//! Built kernels, and one use of one.

use std::fmt;

use runtime_sync::unmodelled::Arc;
use smallvec::SmallVec;

use super::builder::{Operation, Slot};
use crate::device::{BindingKind, BindingSlot, DeviceKernel, Limits};
use crate::domain::Domain;
use crate::error::{Error, Invalid, Result};
use crate::kernel::{BUFFER_GROUP, Compiled, PARAMETER_GROUP, Parameters};
use crate::memory::View;
use crate::revoke::Tenure;

/// A kernel that one runtime has built. Clones name the same kernel.
#[derive(Clone)]
pub struct Kernel {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) native: Arc<dyn DeviceKernel>,
    pub(crate) bindings: Vec<BindingSlot>,
    pub(crate) parameters: Option<Parameters>,
    pub(crate) workgroup: [u32; 3],
    pub(crate) label: Arc<str>,
    pub(crate) tenure: Option<Arc<Tenure>>,
    pub(crate) domain: Arc<Domain>,
}

impl Kernel {
    pub(crate) fn new(
        runtime: &crate::Runtime,
        native: Arc<dyn DeviceKernel>,
        compiled: Compiled,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                native,
                bindings: compiled.bindings,
                parameters: compiled.parameters,
                workgroup: compiled.workgroup,
                label: compiled.label,
                tenure: runtime.tenure().cloned(),
                domain: runtime.domain().clone(),
            }),
        }
    }

    /// Its label.
    pub fn label(&self) -> &str {
        &self.shared.label
    }

    /// Its bindings.
    pub fn bindings(&self) -> &[BindingSlot] {
        &self.shared.bindings
    }

    /// Invocations of a workgroup along each axis.
    pub fn workgroup(&self) -> [u32; 3] {
        self.shared.workgroup
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel")
            .field("label", &self.shared.label)
            .field("workgroup", &self.shared.workgroup)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone)]
enum Target {
    Name(Arc<str>),
    Index(u32),
}

#[derive(Debug, Clone, Copy)]
enum Extent {
    Unstated,
    Groups([u32; 3]),
    Elements(u64),
}

/// One use of a kernel: what is bound, and how many workgroups run.
#[derive(Debug, Clone)]
pub struct Dispatch {
    kernel: Kernel,
    bound: Vec<(Target, View)>,
    extent: Extent,
}

impl Dispatch {
    /// A use of `kernel` with nothing bound yet.
    pub fn new(kernel: &Kernel) -> Self {
        Self {
            kernel: kernel.clone(),
            bound: Vec::new(),
            extent: Extent::Unstated,
        }
    }

    /// Binds a view to the variable of this name. The kernel sees exactly the
    /// view's bytes.
    #[must_use]
    pub fn bind(mut self, name: &str, view: &View) -> Self {
        self.bound.push((Target::Name(name.into()), view.clone()));
        self
    }

    /// Binds a view to a binding of group 0 by its number.
    #[must_use]
    pub fn bind_index(mut self, binding: u32, view: &View) -> Self {
        self.bound.push((Target::Index(binding), view.clone()));
        self
    }

    /// Runs this many workgroups along each axis.
    #[must_use]
    pub fn groups(mut self, groups: [u32; 3]) -> Self {
        self.extent = Extent::Groups(groups);
        self
    }

    /// Runs at least `elements` invocations, in workgroups along the first axis
    /// and, past the device's limit there, along the second. An invocation's
    /// element is `id.x + id.y * num_workgroups.x * workgroup_size.x`; those past
    /// the last element must do nothing.
    #[must_use]
    pub fn elements(mut self, elements: u64) -> Self {
        self.extent = Extent::Elements(elements);
        self
    }

    /// Checks everything that can be checked before a driver sees it.
    pub(super) fn resolve(self, domain: &Arc<Domain>, limits: &Limits) -> Result<Operation> {
        let shared = &self.kernel.shared;
        if !Arc::ptr_eq(&shared.domain, domain) {
            return Err(Invalid::ForeignRuntime { what: "kernel" }.into());
        }
        if let Some(tenure) = &shared.tenure {
            tenure.check()?;
        }
        let groups = self.resolve_groups(limits)?;
        let mut slots: SmallVec<[Option<View>; 8]> =
            SmallVec::from_elem(None, shared.bindings.len());
        for (target, view) in &self.bound {
            let place = find(&shared.bindings, target)?;
            slots[place] = Some(view.clone());
        }
        let mut bindings = Vec::with_capacity(slots.len());
        for (slot, view) in shared.bindings.iter().zip(slots) {
            if slot.group == PARAMETER_GROUP {
                continue;
            }
            let view = view.ok_or_else(|| Invalid::Unbound {
                name: slot.name.clone(),
                group: slot.group,
                binding: slot.binding,
            })?;
            check_binding(slot, &view, limits)?;
            bindings.push(Slot {
                group: slot.group,
                binding: slot.binding,
                writes: slot.kind == BindingKind::StorageWrite,
                name: slot.name.clone(),
                view,
            });
        }
        refuse_aliases(&bindings)?;
        Ok(Operation::Dispatch {
            kernel: self.kernel.clone(),
            bindings,
            parameters: None,
            groups,
        })
    }

    fn resolve_groups(&self, limits: &Limits) -> Result<[u32; 3]> {
        match self.extent {
            Extent::Unstated => Err(Invalid::NoGroups { axis: 0 }.into()),
            Extent::Groups(groups) => {
                for (axis, (count, limit)) in (0..).zip(groups.into_iter().zip(limits.groups)) {
                    check_groups(axis, u64::from(count), limit)?;
                }
                Ok(groups)
            }
            Extent::Elements(elements) => {
                let workgroup = u64::from(self.kernel.shared.workgroup[0].max(1));
                split(elements.div_ceil(workgroup), limits)
            }
        }
    }
}

fn check_groups(axis: u8, count: u64, limit: u32) -> Result<()> {
    if count == 0 {
        return Err(Invalid::NoGroups { axis }.into());
    }
    if count > u64::from(limit) {
        let what = ["groups on axis x", "groups on axis y", "groups on axis z"];
        return Err(Invalid::OverLimit {
            what: what[usize::from(axis.min(2))],
            value: count,
            limit: u64::from(limit),
        }
        .into());
    }
    Ok(())
}

/// Spreads workgroups over the first two axes.
fn split(groups: u64, limits: &Limits) -> Result<[u32; 3]> {
    check_groups(0, groups.min(1), 1)?;
    let wide = groups.min(u64::from(limits.groups[0]));
    let rows = groups.div_ceil(wide);
    check_groups(1, rows, limits.groups[1])?;
    // As even as the rows allow, so that few workgroups have nothing to do.
    let wide = groups.div_ceil(rows);
    let narrow = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    Ok([narrow(wide), narrow(rows), 1])
}

fn find(bindings: &[BindingSlot], target: &Target) -> Result<usize> {
    let found = match target {
        Target::Name(name) => bindings
            .iter()
            .position(|slot| slot.group == BUFFER_GROUP && slot.name == *name),
        Target::Index(index) => bindings
            .iter()
            .position(|slot| slot.group == BUFFER_GROUP && slot.binding == *index),
    };
    found.ok_or_else(|| {
        let name = match target {
            Target::Name(name) => name.clone(),
            Target::Index(index) => index.to_string().into(),
        };
        Error::from(Invalid::NoSuchBinding { name })
    })
}

fn check_binding(slot: &BindingSlot, view: &View, limits: &Limits) -> Result<()> {
    let (align, range) = match slot.kind {
        BindingKind::Uniform => (limits.uniform_align_bytes, limits.uniform_range_bytes),
        _ => (limits.storage_align_bytes, limits.storage_range_bytes),
    };
    if view.bytes() < slot.least_bytes {
        return Err(Invalid::ShortBinding {
            name: slot.name.clone(),
            least_bytes: slot.least_bytes,
            bytes: view.bytes(),
        }
        .into());
    }
    if view.bytes() > range {
        return Err(Invalid::OverLimit {
            what: "bytes of a binding",
            value: view.bytes(),
            limit: range,
        }
        .into());
    }
    if !view.offset().is_multiple_of(align.max(1)) {
        return Err(Invalid::Unaligned {
            what: "the offset of a binding",
            value: view.offset(),
            align,
        }
        .into());
    }
    // Shaders address whole words; a shorter tail could not be reached.
    if !view.bytes().is_multiple_of(4) {
        return Err(Invalid::Unaligned {
            what: "the length of a binding",
            value: view.bytes(),
            align: 4,
        }
        .into());
    }
    Ok(())
}

fn refuse_aliases(bindings: &[Slot]) -> Result<()> {
    for (place, first) in bindings.iter().enumerate() {
        for second in &bindings[place + 1..] {
            if (first.writes || second.writes) && first.view.overlaps(&second.view) {
                return Err(Invalid::Aliasing {
                    first: first.name.clone(),
                    second: second.name.clone(),
                }
                .into());
            }
        }
    }
    Ok(())
}
