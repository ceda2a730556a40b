//! Recording a graph for every run slot.

use std::fmt;

use runtime_sync::unmodelled::Arc;

use super::builder::{GraphBuilder, InputLayout, Node, Operation, Slot};
use super::dispatch::Kernel;
use super::plan::{RegionLayout, regions};
use super::run::RunBuilder;
use crate::device::{BoundSpan, Command, MemoryPlacement, RegionPlan, Span};
use crate::error::{Invalid, Result};
use crate::kernel::{PARAMETER_GROUP, Parameter};
use crate::lane::Lane;
use crate::lane::line::{Plan, PlannedRegion};
use crate::memory::Buffer;
use crate::options::check_run_slots;
use crate::run::{Recorded, Run, Staging};
use crate::runtime::Runtime;

/// A graph that can be run any number of times, in as many runs at once as it
/// has slots. It keeps the buffers and kernels that it names.
#[derive(Clone)]
pub struct PreparedGraph {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) runtime: Runtime,
    pub(super) id: u64,
    pub(super) label: Arc<str>,
    pub(super) inputs: Vec<InputLayout>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) parameter_bytes: u64,
    pub(super) slots: Vec<Arc<Run>>,
}

impl Shared {
    pub(super) fn parameter_bytes(&self) -> usize {
        usize::try_from(self.parameter_bytes).unwrap_or(usize::MAX)
    }
}

impl PreparedGraph {
    /// Begins a run in a free slot.
    pub fn run(&self) -> RunBuilder<'_> {
        RunBuilder::claim(&self.shared)
    }

    /// Its label.
    pub fn label(&self) -> &str {
        &self.shared.label
    }

    /// How many runs can be in flight, or held by a handle, at once.
    pub fn run_slots(&self) -> usize {
        self.shared.slots.len()
    }

    /// How many regions one run submits.
    pub fn region_count(&self) -> usize {
        self.shared
            .slots
            .first()
            .map_or(0, |slot| slot.regions.len())
    }
}

impl fmt::Debug for PreparedGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedGraph")
            .field("label", &self.shared.label)
            .field("regions", &self.region_count())
            .field("run_slots", &self.run_slots())
            .finish_non_exhaustive()
    }
}

pub(super) fn prepare(builder: GraphBuilder) -> Result<PreparedGraph> {
    builder.runtime.check_usable()?;
    if builder.nodes.is_empty() {
        return Err(Invalid::EmptyGraph.into());
    }
    check_run_slots(builder.run_slots)?;
    let layouts = regions(&builder.nodes);
    let lanes = builder.runtime.device().lanes;
    let plan = Arc::new(Plan {
        regions: layouts
            .iter()
            .map(|layout| PlannedRegion {
                lane: layout.lane,
                queue: lanes.queue(layout.lane),
                touches: layout.touches.clone(),
            })
            .collect(),
    });
    let constants = constants(&builder)?;
    let slots = (0..builder.run_slots)
        .map(|_| record_slot(&builder, &layouts, &plan, constants.as_ref()))
        .collect::<Result<Vec<_>>>()?;
    Ok(PreparedGraph {
        shared: Arc::new(Shared {
            runtime: builder.runtime,
            id: builder.id,
            label: builder.label,
            inputs: builder.inputs,
            parameters: builder.parameters,
            parameter_bytes: builder.parameter_bytes,
            slots,
        }),
    })
}

/// The buffer of the graph's constant bytes.
fn constants(builder: &GraphBuilder) -> Result<Option<Buffer>> {
    if builder.constants.is_empty() {
        return Ok(None);
    }
    let buffer = builder.runtime.allocate_named(
        builder.constants.len() as u64,
        MemoryPlacement::Upload,
        "constants",
    )?;
    host_seen(&buffer)(buffer.host_write(0, &builder.constants)?)?;
    Ok(Some(buffer))
}

/// Upload memory is host-visible by what it is; a device that breaks that is
/// refused instead of losing bytes.
fn host_seen(buffer: &Buffer) -> impl Fn(bool) -> Result<()> + use<> {
    let placement = buffer.placement();
    move |seen| {
        if seen {
            return Ok(());
        }
        Err(Invalid::WrongPlacement {
            placement,
            usage: "staging",
        }
        .into())
    }
}

fn record_slot(
    builder: &GraphBuilder,
    layouts: &[RegionLayout],
    plan: &Arc<Plan>,
    constants: Option<&Buffer>,
) -> Result<Arc<Run>> {
    let runtime = &builder.runtime;
    let staging = Staging {
        upload: stage(runtime, builder.upload_bytes, MemoryPlacement::Upload)?,
        download: stage(runtime, builder.download_bytes, MemoryPlacement::Download)?,
        parameters: stage(runtime, builder.parameter_bytes, MemoryPlacement::Upload)?,
    };
    let recorder = SlotRecorder {
        nodes: &builder.nodes,
        staging: &staging,
        constants,
    };
    let device = &runtime.domain().scheduler.device;
    let mut recorded = Vec::with_capacity(layouts.len());
    for layout in layouts {
        let native = device.record(&RegionPlan {
            lane: layout.lane,
            commands: recorder.commands(layout)?,
            read_by_host: layout.lane == Lane::Download,
            label: builder.label.clone(),
        })?;
        recorded.push(Recorded { native });
    }
    let buffers = kept_buffers(builder, &staging, constants);
    Ok(Arc::new(Run::new(
        recorded,
        plan.clone(),
        builder.label.clone(),
        buffers,
        staging,
        runtime.tenure().cloned(),
    )))
}

fn stage(runtime: &Runtime, bytes: u64, placement: MemoryPlacement) -> Result<Option<Buffer>> {
    if bytes == 0 {
        return Ok(None);
    }
    runtime
        .allocate_named(bytes, placement, "staging")
        .map(Some)
}

/// Every buffer that the slot's regions touch, once.
fn kept_buffers(
    builder: &GraphBuilder,
    staging: &Staging,
    constants: Option<&Buffer>,
) -> Vec<Buffer> {
    let mut ids = std::collections::BTreeSet::new();
    let mut buffers = Vec::new();
    let mut keep = |buffer: &Buffer| {
        if ids.insert(buffer.view().buffer_id()) {
            buffers.push(buffer.clone());
        }
    };
    for node in &builder.nodes {
        match &node.operation {
            Operation::Fill { target, .. }
            | Operation::Upload { target, .. }
            | Operation::Constant { target, .. } => keep(target.buffer()),
            Operation::Copy { source, target } => {
                keep(source.buffer());
                keep(target.buffer());
            }
            Operation::Download { source, .. } => keep(source.buffer()),
            Operation::Dispatch { bindings, .. } => {
                bindings.iter().for_each(|slot| keep(slot.view.buffer()));
            }
        }
    }
    staging.upload.iter().for_each(&mut keep);
    staging.download.iter().for_each(&mut keep);
    staging.parameters.iter().for_each(&mut keep);
    constants.into_iter().for_each(&mut keep);
    buffers
}

struct SlotRecorder<'a> {
    nodes: &'a [Node],
    staging: &'a Staging,
    constants: Option<&'a Buffer>,
}

impl SlotRecorder<'_> {
    fn commands(&self, layout: &RegionLayout) -> Result<Vec<Command>> {
        let mut commands = Vec::with_capacity(layout.steps.len());
        for step in &layout.steps {
            if step.barrier_before {
                commands.push(Command::Barrier);
            }
            commands.push(self.command(&self.nodes[step.node].operation)?);
        }
        Ok(commands)
    }

    fn command(&self, operation: &Operation) -> Result<Command> {
        Ok(match operation {
            Operation::Fill { target, word } => Command::Fill {
                target: target.span(),
                word: *word,
            },
            Operation::Copy { source, target } => Command::Copy {
                source: source.span(),
                target: target.span(),
            },
            Operation::Upload { target, offset } => Command::Copy {
                source: staged(self.staging.upload.as_ref(), *offset, target.bytes())?,
                target: target.span(),
            },
            Operation::Constant { target, offset } => Command::Copy {
                source: staged(self.constants, *offset, target.bytes())?,
                target: target.span(),
            },
            Operation::Download { source, offset } => Command::Copy {
                source: source.span(),
                target: staged(self.staging.download.as_ref(), *offset, source.bytes())?,
            },
            Operation::Dispatch {
                kernel,
                bindings,
                parameters,
                groups,
            } => Command::Dispatch {
                kernel: kernel.shared.native.clone(),
                bindings: self.bound(kernel, bindings, *parameters)?,
                groups: *groups,
            },
        })
    }
}

impl SlotRecorder<'_> {
    fn bound(
        &self,
        kernel: &Kernel,
        slots: &[Slot],
        parameters: Option<u64>,
    ) -> Result<Vec<BoundSpan>> {
        let mut bound: Vec<BoundSpan> = slots
            .iter()
            .map(|slot| BoundSpan {
                group: slot.group,
                binding: slot.binding,
                span: slot.view.span(),
            })
            .collect();
        if let (Some(offset), Some(layout)) = (parameters, &kernel.shared.parameters) {
            bound.push(BoundSpan {
                group: PARAMETER_GROUP,
                binding: 0,
                span: staged(self.staging.parameters.as_ref(), offset, layout.bytes)?,
            });
        }
        Ok(bound)
    }
}

/// A range of a staging buffer that the builder has counted.
fn staged(buffer: Option<&Buffer>, offset: u64, bytes: u64) -> Result<Span> {
    buffer
        .map(|buffer| buffer.span(offset, bytes))
        .ok_or_else(|| Invalid::Empty { what: "staging" }.into())
}
