//! Taking a graph's operations, in program order.

use std::fmt;

use runtime_sync::unmodelled::{Arc, AtomicU64, Ordering};

use super::dispatch::{Dispatch, Kernel};
use super::prepare::{PreparedGraph, prepare};
use crate::error::{Invalid, Result};
use crate::kernel::{Parameter, Parameters};
use crate::lane::Lane;
use crate::memory::View;
use crate::runtime::Runtime;

static LAST_ID: AtomicU64 = AtomicU64::new(0);

/// Bytes that each run gives to the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InputId {
    pub(crate) graph: u64,
    pub(crate) index: usize,
}

/// Bytes that each run gives back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OutputId {
    pub(crate) graph: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: usize,
}

/// Where an input's bytes lie in its run's staging.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InputLayout {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// A view bound to a kernel's binding.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    pub(crate) group: u32,
    pub(crate) binding: u32,
    pub(crate) writes: bool,
    pub(crate) name: Arc<str>,
    pub(crate) view: View,
}

#[derive(Debug, Clone)]
pub(crate) enum Operation {
    Fill {
        target: View,
        word: u32,
    },
    Copy {
        source: View,
        target: View,
    },
    /// From the run's upload staging.
    Upload {
        target: View,
        offset: u64,
    },
    /// From the graph's own constant bytes.
    Constant {
        target: View,
        offset: u64,
    },
    /// To the run's download staging.
    Download {
        source: View,
        offset: u64,
    },
    Dispatch {
        kernel: Kernel,
        bindings: Vec<Slot>,
        /// Where its parameters lie in the run's block of them.
        parameters: Option<u64>,
        groups: [u32; 3],
    },
}

#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) lane: Lane,
    pub(crate) operation: Operation,
}

/// Staged bytes lie at multiples of this, so that every element type is aligned.
const STAGING_ALIGN: u64 = 64;

/// Collects operations. What overlaps in bytes keeps its program order, what
/// does not is free to run at once.
pub struct GraphBuilder {
    pub(crate) runtime: Runtime,
    pub(crate) id: u64,
    pub(crate) label: Arc<str>,
    pub(crate) run_slots: u32,
    pub(crate) nodes: Vec<Node>,
    pub(crate) inputs: Vec<InputLayout>,
    pub(crate) upload_bytes: u64,
    pub(crate) download_bytes: u64,
    pub(crate) constants: Vec<u8>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) parameter_bytes: u64,
}

impl GraphBuilder {
    pub(crate) fn new(runtime: Runtime) -> Self {
        Self {
            label: "graph".into(),
            run_slots: runtime.domain().run_slots,
            runtime,
            // Relaxed: an identity needs to be unique, and orders nothing.
            id: LAST_ID.fetch_add(1, Ordering::Relaxed) + 1,
            nodes: Vec::new(),
            inputs: Vec::new(),
            upload_bytes: 0,
            download_bytes: 0,
            constants: Vec::new(),
            parameters: Vec::new(),
            parameter_bytes: 0,
        }
    }

    /// Names the graph in traces and messages.
    pub fn label(&mut self, label: impl Into<Arc<str>>) -> &mut Self {
        self.label = label.into();
        self
    }

    /// Prepares this many run slots instead of the runtime's number: 1 to 256.
    /// Each holds command buffers, and staging for all inputs and outputs.
    pub fn run_slots(&mut self, slots: u32) -> &mut Self {
        self.run_slots = slots;
        self
    }

    /// Sets every 32-bit word of `target`, on the compute lane.
    ///
    /// # Errors
    /// An offset or length that is no multiple of 4, or a view that this runtime
    /// refuses.
    pub fn fill(&mut self, target: &View, word: u32) -> Result<&mut Self> {
        self.check(target)?;
        for (what, value) in [
            ("the offset of a fill", target.offset()),
            ("the length of a fill", target.bytes()),
        ] {
            if !value.is_multiple_of(4) {
                return Err(Invalid::Unaligned {
                    what,
                    value,
                    align: 4,
                }
                .into());
            }
        }
        let target = target.clone();
        self.push(Lane::Compute, Operation::Fill { target, word })
    }

    /// Copies bytes on the compute lane.
    ///
    /// # Errors
    /// As [`copy_on`](Self::copy_on).
    pub fn copy(&mut self, source: &View, target: &View) -> Result<&mut Self> {
        self.copy_on(Lane::Compute, source, target)
    }

    /// Copies bytes on a lane of the caller's choice. Any offset and length goes.
    ///
    /// # Errors
    /// Unequal lengths, overlapping views, the Npu lane (which copies nothing),
    /// or a view that this runtime refuses.
    pub fn copy_on(&mut self, lane: Lane, source: &View, target: &View) -> Result<&mut Self> {
        self.check(source)?;
        self.check(target)?;
        if lane == Lane::Npu {
            let operation = "a copy";
            return Err(Invalid::WrongLane { operation, lane }.into());
        }
        fits(source.bytes(), target.bytes())?;
        if source.overlaps(target) {
            return Err(Invalid::Overlap.into());
        }
        self.push(
            lane,
            Operation::Copy {
                source: source.clone(),
                target: target.clone(),
            },
        )
    }

    /// Fills `target` with bytes that each run gives, on the upload lane.
    ///
    /// # Errors
    /// A view that this runtime refuses.
    pub fn upload(&mut self, target: &View) -> Result<InputId> {
        self.check(target)?;
        let offset = self.upload_bytes;
        self.upload_bytes = (offset + target.bytes()).next_multiple_of(STAGING_ALIGN);
        self.inputs.push(InputLayout {
            offset,
            bytes: target.bytes(),
        });
        self.push(
            Lane::Upload,
            Operation::Upload {
                target: target.clone(),
                offset,
            },
        )?;
        Ok(InputId {
            graph: self.id,
            index: self.inputs.len() - 1,
        })
    }

    /// Fills `target` with the same bytes in every run, on the upload lane.
    ///
    /// # Errors
    /// Unequal lengths, or a view that this runtime refuses.
    pub fn upload_bytes(&mut self, target: &View, bytes: &[u8]) -> Result<&mut Self> {
        self.check(target)?;
        fits(bytes.len() as u64, target.bytes())?;
        let place = self.constants.len().next_multiple_of(64);
        self.constants.resize(place, 0);
        self.constants.extend_from_slice(bytes);
        self.push(
            Lane::Upload,
            Operation::Constant {
                target: target.clone(),
                offset: place as u64,
            },
        )
    }

    /// Gives the bytes of `source` back from each run, on the download lane.
    ///
    /// # Errors
    /// A view that this runtime refuses, or one too large for the host.
    pub fn download(&mut self, source: &View) -> Result<OutputId> {
        self.check(source)?;
        let bytes = usize::try_from(source.bytes()).map_err(|_| Invalid::OverLimit {
            what: "bytes of an output",
            value: source.bytes(),
            limit: usize::MAX as u64,
        })?;
        let offset = self.download_bytes;
        self.download_bytes = (offset + source.bytes()).next_multiple_of(STAGING_ALIGN);
        self.push(
            Lane::Download,
            Operation::Download {
                source: source.clone(),
                offset,
            },
        )?;
        Ok(OutputId {
            graph: self.id,
            offset,
            bytes,
        })
    }

    /// Runs a kernel on the compute lane. Its parameters, if it has any, are set
    /// for each run by [`RunBuilder::param`](crate::RunBuilder::param), and are
    /// zero where they are not.
    ///
    /// # Errors
    /// A binding without a view or of another name, a view that is too short, too
    /// long or not aligned for its binding, bindings that overlap while one is
    /// written, groups that are zero or over the device's limit, a kernel or view
    /// of another runtime.
    pub fn dispatch(&mut self, dispatch: Dispatch) -> Result<&mut Self> {
        let domain = self.runtime.domain().clone();
        let mut operation = dispatch.resolve(&domain, &self.runtime.device().limits)?;
        if let Operation::Dispatch {
            kernel,
            bindings,
            parameters,
            ..
        } = &mut operation
        {
            for slot in bindings {
                self.check(&slot.view)?;
            }
            *parameters = self.lay_out(kernel.shared.parameters.as_ref());
        }
        self.push(Lane::Compute, operation)
    }

    /// Splits the graph into regions and records them for every run slot.
    ///
    /// # Errors
    /// [`Invalid::EmptyGraph`], run slots out of range, no room for staging, or
    /// the driver's.
    pub fn prepare(self) -> Result<PreparedGraph> {
        prepare(self)
    }

    /// Gives a dispatch its part of the run's parameters.
    fn lay_out(&mut self, layout: Option<&Parameters>) -> Option<u64> {
        let layout = layout?;
        let align = self.runtime.device().limits.uniform_align_bytes.max(16);
        let start = self.parameter_bytes.next_multiple_of(align);
        self.parameter_bytes = start + layout.bytes;
        self.parameters
            .extend(layout.members.iter().map(|member| Parameter {
                offset: start + member.offset,
                ..member.clone()
            }));
        Some(start)
    }

    fn push(&mut self, lane: Lane, operation: Operation) -> Result<&mut Self> {
        self.nodes.push(Node { lane, operation });
        Ok(self)
    }

    fn check(&self, view: &View) -> Result<()> {
        self.runtime.check_usable()?;
        if !self.runtime.owns(view) {
            return Err(Invalid::ForeignRuntime { what: "view" }.into());
        }
        view.buffer().check()
    }
}

fn fits(left_bytes: u64, right_bytes: u64) -> Result<()> {
    if left_bytes == right_bytes {
        return Ok(());
    }
    Err(Invalid::LengthMismatch {
        left_bytes,
        right_bytes,
    }
    .into())
}

impl fmt::Debug for GraphBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphBuilder")
            .field("label", &self.label)
            .field("nodes", &self.nodes.len())
            .finish_non_exhaustive()
    }
}
