//! Regions: a plan, checked, with the bytes that it touches.

use std::any::Any;
use std::ops::Range;

use runtime_sync::unmodelled::Arc;

use super::Shared;
use super::kernel::{KernelBody, ScriptedKernel};
use super::memory::ScriptedBuffer;
use super::misuse::Misuse;
use super::ranges::Accesses;
use crate::device::{
    BindingKind, BoundSpan, Command, DeviceKernel, DeviceRegion, Limits, QueueIndex, RegionPlan,
    Span,
};
use crate::lane::Lane;

/// A range of a memory.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) memory: u64,
    pub(super) range: Range<u64>,
}

/// A range bound to a kernel's slot.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) slot: usize,
    pub(super) kind: BindingKind,
    pub(super) place: Place,
}

#[derive(Debug)]
pub(super) enum Step {
    Fill {
        target: Place,
        word: u32,
    },
    Copy {
        source: Place,
        target: Place,
    },
    Dispatch {
        kernel: Arc<KernelBody>,
        bindings: Vec<Bound>,
        groups: [u32; 3],
    },
    Barrier,
}

/// What a region does, without its handle: it keeps no buffer alive, so that a
/// buffer dropped too early is noticed.
#[derive(Debug)]
pub(super) struct RegionBody {
    pub(super) id: u64,
    pub(super) lane: Lane,
    pub(super) queue: QueueIndex,
    pub(super) label: Arc<str>,
    pub(super) steps: Vec<Step>,
    pub(super) read_by_host: bool,
    pub(super) has_barrier: bool,
    /// What is touched before the first barrier.
    pub(super) head: Accesses,
    /// What is touched after the last barrier.
    pub(super) tail: Accesses,
    pub(super) all: Accesses,
}

impl RegionBody {
    pub(super) fn new(shared: &Arc<Shared>, id: u64, plan: &RegionPlan) -> Result<Self, Misuse> {
        let mut body = Self {
            id,
            lane: plan.lane,
            queue: shared.info.lanes.queue(plan.lane),
            label: plan.label.clone(),
            steps: Vec::with_capacity(plan.commands.len()),
            read_by_host: plan.read_by_host,
            has_barrier: false,
            head: Accesses::default(),
            tail: Accesses::default(),
            all: Accesses::default(),
        };
        // The accesses of each command since the last barrier.
        let mut open: Vec<(usize, Accesses)> = Vec::new();
        for (place, command) in plan.commands.iter().enumerate() {
            let (step, touched) = checked(shared, command)?;
            if matches!(step, Step::Barrier) {
                body.has_barrier = true;
                body.tail = Accesses::default();
                open.clear();
            } else {
                if body.tail.conflict(&touched).is_some() {
                    return Err(unordered(&plan.label, &open, place, &touched));
                }
                body.tail.add(&touched);
                body.all.add(&touched);
                if !body.has_barrier {
                    body.head.add(&touched);
                }
                open.push((place, touched));
            }
            body.steps.push(step);
        }
        Ok(body)
    }
}

fn unordered(
    region: &Arc<str>,
    open: &[(usize, Accesses)],
    later: usize,
    touched: &Accesses,
) -> Misuse {
    let found = open
        .iter()
        .find_map(|(place, earlier)| Some((*place, earlier.conflict(touched)?)));
    let (earlier, offset) = found.unwrap_or_default();
    Misuse::MissingBarrier {
        region: region.clone(),
        earlier,
        later,
        offset,
    }
}

fn checked(shared: &Arc<Shared>, command: &Command) -> Result<(Step, Accesses), Misuse> {
    let mut touched = Accesses::default();
    let step = match command {
        Command::Fill { target, word } => {
            if target.offset % 4 != 0 || target.bytes % 4 != 0 {
                return Err(Misuse::UnalignedFill {
                    offset: target.offset,
                    bytes: target.bytes,
                });
            }
            let target = resolved(shared, target)?;
            touched.write(target.memory, target.range.clone());
            Step::Fill {
                target,
                word: *word,
            }
        }
        Command::Copy { source, target } => {
            if source.bytes != target.bytes {
                return Err(Misuse::CopyLengths {
                    source_bytes: source.bytes,
                    target_bytes: target.bytes,
                });
            }
            let (source, target) = (resolved(shared, source)?, resolved(shared, target)?);
            touched.read(source.memory, source.range.clone());
            let mut written = Accesses::default();
            written.write(target.memory, target.range.clone());
            if let Some(offset) = touched.conflict(&written) {
                return Err(Misuse::CopyOverlap { offset });
            }
            touched.add(&written);
            Step::Copy { source, target }
        }
        Command::Dispatch {
            kernel,
            bindings,
            groups,
        } => dispatch(shared, &**kernel, bindings, *groups, &mut touched)?,
        Command::Barrier => Step::Barrier,
    };
    Ok((step, touched))
}

fn dispatch(
    shared: &Arc<Shared>,
    kernel: &dyn DeviceKernel,
    bindings: &[BoundSpan],
    groups: [u32; 3],
    touched: &mut Accesses,
) -> Result<Step, Misuse> {
    let kernel = kernel
        .as_any()
        .downcast_ref::<ScriptedKernel>()
        .filter(|kernel| Arc::ptr_eq(&kernel.shared, shared))
        .ok_or(Misuse::ForeignObject)?;
    let limits = &shared.info.limits;
    for (axis, (count, most)) in groups.into_iter().zip(limits.groups).enumerate() {
        if count == 0 || count > most {
            return Err(Misuse::GroupCount {
                axis,
                groups: count,
            });
        }
    }
    let slots = &kernel.body.slots;
    let mut bound: Vec<Bound> = Vec::with_capacity(slots.len());
    for binding in bindings {
        let mismatch = Misuse::BindingMismatch {
            group: binding.group,
            binding: binding.binding,
        };
        let slot = slots
            .iter()
            .position(|slot| (slot.group, slot.binding) == (binding.group, binding.binding))
            .filter(|slot| bound.iter().all(|other| other.slot != *slot));
        let Some((slot, wanted)) = slot.and_then(|place| Some((place, slots.get(place)?))) else {
            return Err(mismatch);
        };
        if !keeps_limits(limits, wanted.kind, wanted.least_bytes, &binding.span) {
            return Err(Misuse::BindingRange {
                group: binding.group,
                binding: binding.binding,
                offset: binding.span.offset,
                bytes: binding.span.bytes,
            });
        }
        let place = resolved(shared, &binding.span)?;
        touched.read(place.memory, place.range.clone());
        if wanted.kind == BindingKind::StorageWrite {
            touched.write(place.memory, place.range.clone());
        }
        bound.push(Bound {
            slot,
            kind: wanted.kind,
            place,
        });
    }
    let missing = (0..slots.len()).find(|slot| bound.iter().all(|have| have.slot != *slot));
    if let Some(slot) = missing.and_then(|slot| slots.get(slot)) {
        return Err(Misuse::BindingMismatch {
            group: slot.group,
            binding: slot.binding,
        });
    }
    Ok(Step::Dispatch {
        kernel: kernel.body.clone(),
        bindings: bound,
        groups,
    })
}

fn keeps_limits(limits: &Limits, kind: BindingKind, least_bytes: u64, span: &Span) -> bool {
    let (align, most) = match kind {
        BindingKind::Uniform => (limits.uniform_align_bytes, limits.uniform_range_bytes),
        BindingKind::StorageRead | BindingKind::StorageWrite => {
            (limits.storage_align_bytes, limits.storage_range_bytes)
        }
    };
    span.offset.is_multiple_of(align.max(1)) && (least_bytes..=most).contains(&span.bytes)
}

fn resolved(shared: &Arc<Shared>, span: &Span) -> Result<Place, Misuse> {
    let buffer = span
        .buffer
        .as_any()
        .downcast_ref::<ScriptedBuffer>()
        .filter(|buffer| Arc::ptr_eq(&buffer.shared, shared))
        .ok_or(Misuse::ForeignObject)?;
    let end = span.offset.checked_add(span.bytes);
    match end.filter(|end| span.bytes > 0 && *end <= buffer.bytes) {
        Some(end) => Ok(Place {
            memory: buffer.id,
            range: span.offset..end,
        }),
        None => Err(Misuse::SpanOutside {
            offset: span.offset,
            bytes: span.bytes,
            buffer_bytes: buffer.bytes,
        }),
    }
}

pub(super) struct ScriptedRegion {
    pub(super) shared: Arc<Shared>,
    pub(super) body: Arc<RegionBody>,
    /// Keeps the plan's buffers and kernels alive.
    pub(super) plan: RegionPlan,
}

impl DeviceRegion for ScriptedRegion {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl std::fmt::Debug for ScriptedRegion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptedRegion")
            .field("label", &self.plan.label)
            .finish_non_exhaustive()
    }
}

impl Drop for ScriptedRegion {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.live.regions -= 1;
        let mut unreached = state.timelines.unreached();
        if unreached.any(|pending| pending.body.id == self.body.id) {
            drop(unreached);
            state.caught(Misuse::RegionDropped {
                region: self.body.label.clone(),
            });
        }
    }
}
