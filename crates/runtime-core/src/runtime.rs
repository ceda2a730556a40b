//! The runtime: one device, shared by any number of handles.

use std::fmt;
use std::time::{Duration, Instant};

use runtime_sync::unmodelled::Arc;

use crate::device::{BufferSpec, Command, Device, DeviceInfo, MemoryPlacement, RegionPlan};
use crate::domain::{Domain, Parts};
use crate::error::{Error, Invalid, Result};
use crate::graph::{GraphBuilder, Kernel};
use crate::lane::lease::{self, Lease, Patience};
use crate::lane::turns::DrainScope;
use crate::lane::{Lane, stage};
use crate::memory::budget::MemoryBudget;
use crate::memory::{Buffer, View};
use crate::options::RuntimeOptions;
use crate::quarantine::{Cause, OwnerKind, QuarantineEntry, QuarantineId};
use crate::revoke::{Revoker, Tenure};
use crate::statistics::Statistics;
use crate::trace::Trace;

/// How long the last handle's drop waits for the reapers of an idle runtime.
const IDLE_END: Duration = Duration::from_millis(100);

/// The most bytes that the blocking one-off transfers stage at once.
const TRANSFER_CHUNK_BYTES: usize = 8 << 20;

/// One device and what is scheduled on it. Clones share one domain: its lanes,
/// budget, quarantine and statistics.
///
/// The last handle's drop closes the runtime without waiting; a prepared graph,
/// a lease and a revocable view count as handles. Buffers and completions stay
/// usable, and the device ends with the last of them.
#[derive(Clone)]
pub struct Runtime {
    domain: Arc<Domain>,
    budget: MemoryBudget,
    /// Of the views that this one was made from, as far as they are not the
    /// budget's own ancestors.
    outer_budgets: Vec<MemoryBudget>,
    tenure: Option<Arc<Tenure>>,
    _handle: Arc<Handle>,
}

/// What all handles of a runtime count by.
struct Handle {
    domain: Arc<Domain>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.domain.scheduler.close();
        // An idle runtime's reapers end at once. Joining them lets the device end
        // on this thread, instead of beside the exit of the process, in which
        // drivers do not bear it. With work in flight nobody waits.
        if self.domain.scheduler.lock().line.unpublished() == 0 {
            self.domain.join_reapers(Instant::now() + IDLE_END);
        }
    }
}

impl Runtime {
    /// A runtime on the best device that is not software.
    ///
    /// # Errors
    /// As [`with_options`](Self::with_options).
    #[cfg(feature = "vulkan")]
    pub fn new() -> Result<Self> {
        Self::with_options(RuntimeOptions::default())
    }

    /// A runtime on a Vulkan device.
    ///
    /// # Errors
    /// [`Error::NoDevice`] with the candidates when none can be opened, options
    /// out of range, no thread.
    #[cfg(feature = "vulkan")]
    pub fn with_options(options: RuntimeOptions) -> Result<Self> {
        use crate::device::vulkan::{VulkanDevice, VulkanOptions};
        options.check()?;
        let device = VulkanDevice::open(
            VulkanOptions::default()
                .selector(options.selector.clone())
                .allow_software(options.allow_software),
        )?;
        Self::on_device(Box::new(device), options)
    }

    /// A runtime on a device that the caller has opened.
    ///
    /// # Errors
    /// Options out of range, no thread.
    pub fn on_device(device: Box<dyn Device>, options: RuntimeOptions) -> Result<Self> {
        options.check()?;
        let device: Arc<dyn Device> = Arc::from(device);
        let budget = options
            .budget
            .unwrap_or_else(|| MemoryBudget::new(whole_memory(device.info()), "device memory"));
        let domain = Arc::new(Domain::new(Parts {
            device,
            label: options.label,
            max_submissions: options.max_submissions,
            run_slots: options.run_slots,
            trace_capacity: options.trace_capacity,
            budget: budget.clone(),
            on_loss: options.on_loss,
        }));
        domain.start_reapers()?;
        let handle = Arc::new(Handle {
            domain: domain.clone(),
        });
        Ok(Self {
            domain,
            budget,
            outer_budgets: Vec::new(),
            tenure: None,
            _handle: handle,
        })
    }

    pub(crate) fn domain(&self) -> &Arc<Domain> {
        &self.domain
    }

    pub(crate) fn tenure(&self) -> Option<&Arc<Tenure>> {
        self.tenure.as_ref()
    }

    /// Refuses when the runtime takes no work, or this view was revoked.
    pub(crate) fn check_usable(&self) -> Result<()> {
        if let Some(tenure) = &self.tenure {
            tenure.check()?;
        }
        self.domain.scheduler.lock().check_open()
    }

    /// What the device is and can do.
    pub fn device(&self) -> &DeviceInfo {
        self.domain.scheduler.device.info()
    }

    /// The label that it was given.
    pub fn label(&self) -> &str {
        &self.domain.label
    }

    /// True when both are handles of one runtime.
    pub fn same_domain(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.domain, &other.domain)
    }

    /// True when the view's buffer belongs to this runtime.
    pub fn owns(&self, view: &View) -> bool {
        Arc::ptr_eq(view.buffer().domain(), &self.domain)
    }

    /// The budget that allocations through this handle are charged to.
    pub fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// A view of this runtime whose allocations are charged to `budget`, and the
    /// right to take it back. See [`Revoker`].
    ///
    /// A view of a view ends with the first one at the latest, and its allocations
    /// are charged to the first one's budget as well.
    pub fn revocable(&self, budget: &MemoryBudget) -> (Self, Revoker) {
        let tenure = Arc::new(Tenure::new(self.tenure.clone()));
        // A view of a view stays inside the first one's budget too.
        let mut outer_budgets = self.outer_budgets.clone();
        if self.tenure.is_some() && !budget.is_within(&self.budget) {
            outer_budgets.push(self.budget.clone());
        }
        let view = Self {
            domain: self.domain.clone(),
            budget: budget.clone(),
            outer_budgets,
            tenure: Some(tenure.clone()),
            _handle: self._handle.clone(),
        };
        (view, Revoker::new(tenure, self.clone()))
    }

    /// A zero-filled buffer of `bytes` bytes.
    ///
    /// # Errors
    /// [`Invalid::Empty`] for zero bytes, [`Error::OverBudget`] before any driver
    /// call, the driver's refusal; each leaves the accounting as it was. Memory
    /// that the host does not see is zeroed by a submission, so that there a full
    /// or closed line refuses too.
    pub fn allocate(&self, bytes: u64, placement: MemoryPlacement) -> Result<Buffer> {
        self.allocate_named(bytes, placement, "buffer")
    }

    /// As [`allocate`](Self::allocate), with a label for messages and budgets.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate).
    pub fn allocate_named(
        &self,
        bytes: u64,
        placement: MemoryPlacement,
        label: &str,
    ) -> Result<Buffer> {
        self.check_usable()?;
        if bytes == 0 {
            return Err(Invalid::Empty { what: "the buffer" }.into());
        }
        let limit = self.device().limits.buffer_bytes;
        if bytes > limit {
            return Err(Invalid::OverLimit {
                what: "bytes of a buffer",
                value: bytes,
                limit,
            }
            .into());
        }
        let charges = [&self.budget]
            .into_iter()
            .chain(&self.outer_budgets)
            .map(|budget| budget.charge(bytes, label))
            .collect::<Result<Vec<_>, _>>()?;
        let device = &self.domain.scheduler.device;
        let native = device.allocate(BufferSpec {
            // Fills and shaders address whole words.
            bytes: bytes.next_multiple_of(4),
            placement,
            label,
        })?;
        let buffer = Buffer::new(
            self.domain.clone(),
            native,
            charges,
            bytes,
            placement,
            label.into(),
            self.tenure.clone(),
        );
        if !buffer.host_zero()? {
            self.zero_on_device(&buffer)?;
        }
        Ok(buffer)
    }

    /// Zeroes memory that the host does not see, on the upload lane: a stage on
    /// the compute lane must not delay an allocation.
    fn zero_on_device(&self, buffer: &Buffer) -> Result<()> {
        let whole = buffer.bytes().next_multiple_of(4);
        crate::oneoff::run(
            self,
            RegionPlan {
                lane: Lane::Upload,
                commands: vec![Command::Fill {
                    target: buffer.span(0, whole),
                    word: 0,
                }],
                read_by_host: false,
                label: "zero".into(),
            },
            buffer,
        )
    }

    /// Copies bytes to the device and waits for it. Larger transfers go in
    /// pieces, each a submission of its own; for transfers that should overlap
    /// with work use a graph.
    ///
    /// # Errors
    /// Unequal lengths, and as submitting and waiting.
    pub fn upload(&self, target: &View, bytes: &[u8]) -> Result<()> {
        if bytes.len() as u64 != target.bytes() {
            return Err(Invalid::LengthMismatch {
                left_bytes: bytes.len() as u64,
                right_bytes: target.bytes(),
            }
            .into());
        }
        let mut offset = 0;
        for piece in bytes.chunks(TRANSFER_CHUNK_BYTES) {
            let mut graph = self.graph();
            graph.label("upload").run_slots(1);
            let input = graph.upload(&target.slice(offset, piece.len() as u64)?)?;
            let prepared = graph.prepare()?;
            prepared.run().input(input, piece)?.submit()?.wait()?;
            offset += piece.len() as u64;
        }
        Ok(())
    }

    /// Copies bytes from the device, waiting for it, in pieces as
    /// [`upload`](Self::upload) does.
    ///
    /// # Errors
    /// As submitting and waiting.
    pub fn download(&self, source: &View) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut offset = 0;
        while offset < source.bytes() {
            let piece = (source.bytes() - offset).min(TRANSFER_CHUNK_BYTES as u64);
            let mut graph = self.graph();
            graph.label("download").run_slots(1);
            let output = graph.download(&source.slice(offset, piece)?)?;
            let completion = graph.prepare()?.run().submit()?;
            completion.wait()?;
            completion.with_output(output, |part| bytes.extend_from_slice(part))?;
            offset += piece;
        }
        Ok(bytes)
    }

    /// An empty graph.
    pub fn graph(&self) -> GraphBuilder {
        GraphBuilder::new(self.clone())
    }

    /// Builds a kernel from WGSL, with bounds checks and bounded loops.
    ///
    /// # Errors
    /// [`Error::Kernel`] with what is wrong with the source, or the driver's
    /// refusal; nothing but this kernel fails.
    #[cfg(feature = "wgsl")]
    pub fn kernel(&self, source: crate::kernel::Wgsl) -> Result<Kernel> {
        self.check_usable()?;
        let compiled = crate::kernel::compile(&source, &self.device().limits)?;
        self.build(compiled)
    }

    /// Builds a kernel from SPIR-V.
    ///
    /// # Errors
    /// As for WGSL: the header, the entry point and the bindings are checked
    /// before a driver sees the module.
    ///
    /// # Safety
    /// - The module is valid SPIR-V for a Vulkan 1.3 compute shader that uses no
    ///   capability beyond `Shader`;
    /// - it accesses no bytes outside of its bindings: nothing bounds them;
    /// - its loops end.
    #[expect(
        unsafe_code,
        reason = "nothing checks what a foreign shader touches, so its author must promise"
    )]
    pub unsafe fn kernel_spirv(&self, source: crate::kernel::Spirv) -> Result<Kernel> {
        self.check_usable()?;
        let compiled = crate::kernel::check(&source, &self.device().limits)?;
        self.build(compiled)
    }

    fn build(&self, compiled: crate::kernel::Compiled) -> Result<Kernel> {
        let native = self.domain.scheduler.device.build_kernel(compiled.spec())?;
        Ok(Kernel::new(self, native, compiled))
    }

    /// The compute lane for one native stage: refuses at once when no place is
    /// free, then waits for the lane without limit. The async twin is
    /// [`lease_async`](Self::lease_async).
    ///
    /// # Errors
    /// In this order: [`Busy::Reentry`](crate::Busy) inside a stage of this
    /// runtime, a closed or lost runtime, [`Busy::Capacity`](crate::Busy).
    pub fn lease(&self, scope: DrainScope) -> Result<Lease> {
        lease::acquire(self, scope, Patience::ForLane)
    }

    /// The compute lane if it is free now.
    ///
    /// # Errors
    /// As [`lease`](Self::lease), and [`Busy::Lane`](crate::Busy).
    pub fn try_lease(&self, scope: DrainScope) -> Result<Lease> {
        lease::acquire(self, scope, Patience::None)
    }

    /// The compute lane, waiting in turn for a place and for the lane for at most
    /// `limit`. An expired wait leaves nothing behind.
    ///
    /// # Errors
    /// As [`lease`](Self::lease), with [`Error::TimedOut`] in place of
    /// [`Busy::Capacity`](crate::Busy).
    pub fn lease_timeout(&self, scope: DrainScope, limit: Duration) -> Result<Lease> {
        lease::acquire(self, scope, Patience::Within(limit))
    }

    /// The compute lane, waiting in turn for a place and for the lane.
    ///
    /// `Send`, needs no particular executor, and is cancel-safe: dropping the
    /// future leaves the line.
    ///
    /// # Errors
    /// As [`lease`](Self::lease), without [`Busy::Capacity`](crate::Busy).
    pub async fn lease_async(&self, scope: DrainScope) -> Result<Lease> {
        lease::acquire_async(self.clone(), scope).await
    }

    /// True while the calling thread is inside a native stage of this runtime.
    pub fn in_stage(&self) -> bool {
        stage::inside(self.domain.id)
    }

    /// Enters a native owner without proof into the quarantine. The owner stays
    /// where it is; the device is never destroyed while the entry stands.
    pub fn quarantine_native(&self, label: &str, bytes: u64, cause: Cause) -> QuarantineId {
        let register = &self.domain.scheduler.register;
        register.keep(label.into(), OwnerKind::Native, bytes, cause, None)
    }

    /// Takes a native owner out of the quarantine.
    ///
    /// # Errors
    /// [`Error::NotQuarantined`] when no entry has this id.
    ///
    /// # Safety
    /// No device works for the owner any more: all its streams are known to be
    /// finished, or their device is gone.
    #[expect(
        unsafe_code,
        reason = "only the caller can know that foreign streams are finished"
    )]
    pub unsafe fn reclaim_native(&self, id: QuarantineId) -> Result<()> {
        let released = self.domain.scheduler.register.release(id);
        released.map(drop).ok_or(Error::NotQuarantined(id))
    }

    /// Everything now in quarantine.
    pub fn quarantine(&self) -> Vec<QuarantineEntry> {
        self.domain.scheduler.register.list()
    }

    /// Counts since the runtime was made, all of one instant.
    pub fn statistics(&self) -> Statistics {
        let quarantined = self.domain.scheduler.register.count();
        let state = self.domain.scheduler.lock();
        Statistics {
            stages_waiting: state.line.waiting_stages() as u64,
            quarantined,
            ..state.statistics
        }
    }

    /// A copy of the trace.
    pub fn trace(&self) -> Trace {
        self.domain.scheduler.recorder.snapshot()
    }

    /// Raw access to the Vulkan device; `None` on a device of another kind.
    ///
    /// # Safety
    /// The obligations of
    /// [`VulkanAccess`](crate::device::vulkan::VulkanAccess) are kept for as long
    /// as it, or anything made with it, is used.
    #[cfg(feature = "ash")]
    #[expect(
        unsafe_code,
        reason = "raw handles let their user break every promise of the runtime"
    )]
    pub unsafe fn vulkan(&self) -> Option<crate::device::vulkan::VulkanAccess> {
        let device = self.domain.scheduler.device.as_any();
        let device = device.downcast_ref::<crate::device::vulkan::VulkanDevice>()?;
        Some(device.access())
    }
}

fn whole_memory(info: &DeviceInfo) -> u64 {
    let total: u64 = info.heaps.iter().map(|heap| heap.bytes).sum();
    if total == 0 { u64::MAX } else { total }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("label", &self.domain.label)
            .field("device", &self.device().name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[cfg(not(runtime_loom))]
mod tests;
