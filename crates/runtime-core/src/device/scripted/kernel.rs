//! Host kernels: functions that stand in for a kernel's entry point.

use std::collections::BTreeMap;
use std::fmt;

use bytemuck::Pod;
use runtime_sync::unmodelled::Arc;

use super::Shared;
use super::misuse::Misuse;
use crate::device::{BindingKind, BindingSlot, DeviceKernel};

/// A function that does a kernel's work for all workgroups of a dispatch.
pub(super) type HostKernel = Arc<dyn Fn(&mut HostInvocation<'_>) + Send + Sync>;

/// Host kernels by the entry point that they stand in for.
#[derive(Default)]
pub(super) struct KernelTable {
    kernels: BTreeMap<String, HostKernel>,
}

impl KernelTable {
    pub(super) fn add(&mut self, entry: String, kernel: HostKernel) {
        self.kernels.insert(entry, kernel);
    }

    pub(super) fn get(&self, entry: &str) -> Option<HostKernel> {
        self.kernels.get(entry).cloned()
    }
}

impl fmt::Debug for KernelTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.kernels.keys()).finish()
    }
}

/// One dispatch, as its host kernel sees it.
///
/// Each binding is a copy of the bytes bound, taken before the kernel runs; the
/// bytes that it changed are written back after it. A binding is named as the
/// variable of the kernel is, or `group.binding` in digits (`0.1`).
///
/// A use that does not fit (no such binding, an element type with stricter
/// alignment than 8, writing where the kernel only reads) answers empty, and
/// the device is lost with a [`Misuse`] after the kernel.
pub struct HostInvocation<'a> {
    pub(super) kernel: &'a KernelBody,
    pub(super) groups: [u32; 3],
    pub(super) bindings: &'a mut [HostBinding],
    pub(super) misuse: Option<Misuse>,
}

impl HostInvocation<'_> {
    /// Workgroups along each axis.
    pub fn groups(&self) -> [u32; 3] {
        self.groups
    }

    /// Invocations of a workgroup along each axis.
    pub fn workgroup(&self) -> [u32; 3] {
        self.kernel.workgroup
    }

    /// Invocations along each axis: groups times workgroup.
    pub fn invocations(&self) -> [u64; 3] {
        let [groups, sizes] = [self.groups, self.workgroup()].map(|axes| axes.map(u64::from));
        [0, 1, 2].map(|axis: usize| groups[axis] * sizes[axis])
    }

    /// The word of a specialization constant.
    pub fn constant(&self, id: u32) -> Option<u32> {
        let mut constants = self.kernel.specialization.iter();
        constants
            .find(|(have, _)| *have == id)
            .map(|(_, word)| *word)
    }

    /// The whole elements of a binding.
    pub fn read<T: Pod>(&mut self, binding: &str) -> Vec<T> {
        let elements = self.place(binding).and_then(|place| {
            let bytes = self.bindings.get(place)?.bytes();
            let count = bytes.len().checked_div(size_of::<T>())?;
            let mut elements = vec![T::zeroed(); count];
            let whole = bytes.get(..count * size_of::<T>())?;
            bytemuck::cast_slice_mut(&mut elements).copy_from_slice(whole);
            Some(elements)
        });
        elements.unwrap_or_else(|| {
            self.refuse(binding);
            Vec::new()
        })
    }

    /// The whole elements of a binding that the kernel may write.
    pub fn write<T: Pod>(&mut self, binding: &str) -> &mut [T] {
        let place = self.place(binding).filter(|place| {
            align_of::<T>() <= align_of::<u64>()
                && size_of::<T>() > 0
                && self
                    .bindings
                    .get(*place)
                    .is_some_and(|have| have.kind == BindingKind::StorageWrite)
        });
        if place.is_none() {
            self.refuse(binding);
        }
        let bytes = place
            .and_then(|place| self.bindings.get_mut(place))
            .map_or(&mut [][..], HostBinding::bytes_mut);
        let whole = bytes.len() - bytes.len() % size_of::<T>().max(1);
        bytemuck::try_cast_slice_mut(&mut bytes[..whole]).unwrap_or_default()
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.bindings.iter().position(|binding| {
            let slot = self.kernel.slots.get(binding.slot);
            slot.is_some_and(|slot| {
                *slot.name == *name || format!("{}.{}", slot.group, slot.binding) == name
            })
        })
    }

    fn refuse(&mut self, binding: &str) {
        self.misuse.get_or_insert_with(|| Misuse::HostBinding {
            entry: self.kernel.entry.clone(),
            binding: binding.into(),
        });
    }
}

impl fmt::Debug for HostInvocation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostInvocation")
            .field("entry", &self.kernel.entry)
            .field("groups", &self.groups)
            .finish_non_exhaustive()
    }
}

/// A binding's bytes, aligned to 8, before and after the kernel.
pub(super) struct HostBinding {
    slot: usize,
    kind: BindingKind,
    words: Vec<u64>,
    before: Vec<u8>,
}

impl HostBinding {
    pub(super) fn new(slot: usize, kind: BindingKind, before: Vec<u8>) -> Self {
        let mut words = vec![0; before.len().div_ceil(size_of::<u64>())];
        bytemuck::cast_slice_mut(&mut words)[..before.len()].copy_from_slice(&before);
        Self {
            slot,
            kind,
            words,
            before,
        }
    }

    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.before.len()]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.before.len()]
    }

    pub(super) fn is_written(&self) -> bool {
        self.kind == BindingKind::StorageWrite
    }

    /// The runs of bytes that the kernel changed, by their offset.
    pub(super) fn changes(&self) -> Vec<(usize, &[u8])> {
        let (after, mut runs) = (self.bytes(), Vec::new());
        let mut at = 0;
        while at < after.len() {
            let same = |place: &usize| after[*place] == self.before[*place];
            let start = (at..after.len()).find(|place| !same(place));
            let Some(start) = start else { break };
            let end = (start..after.len()).find(same).unwrap_or(after.len());
            runs.push((start, &after[start..end]));
            at = end;
        }
        runs
    }
}

/// What a kernel is, without its handle.
pub(super) struct KernelBody {
    pub(super) entry: Arc<str>,
    pub(super) slots: Vec<BindingSlot>,
    pub(super) workgroup: [u32; 3],
    pub(super) specialization: Vec<(u32, u32)>,
    pub(super) run: HostKernel,
}

impl fmt::Debug for KernelBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelBody")
            .field("entry", &self.entry)
            .finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub(super) struct ScriptedKernel {
    pub(super) shared: Arc<Shared>,
    pub(super) body: Arc<KernelBody>,
}

impl DeviceKernel for ScriptedKernel {
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

impl Drop for ScriptedKernel {
    fn drop(&mut self) {
        self.shared.state.lock().live.kernels -= 1;
    }
}
