//! The scripted device's side of the [`Device`] trait.

#![expect(
    unsafe_code,
    reason = "the trait's submit is unsafe to call; this one checks what it can and trusts the rest"
)]

use std::any::Any;
use std::time::{Duration, Instant};

use runtime_sync::unmodelled::Arc;

use super::kernel::{KernelBody, ScriptedKernel};
use super::memory::{Memory, ScriptedBuffer, Sight};
use super::misuse::Misuse;
use super::region::{RegionBody, ScriptedRegion};
use super::run::drive;
use super::script::Call;
use super::state::State;
use super::{ScriptedDevice, Shared};
use crate::device::{
    BufferSpec, Device, DeviceBuffer, DeviceFault, DeviceInfo, DeviceKernel, DeviceRegion,
    KernelSpec, Leading, MemoryPlacement, Point, QueueIndex, RegionPlan, Waited,
};

impl Device for ScriptedDevice {
    fn info(&self) -> &DeviceInfo {
        &self.shared.info
    }

    fn allocate(&self, spec: BufferSpec<'_>) -> Result<Arc<dyn DeviceBuffer>, DeviceFault> {
        let mut state = self.shared.state.lock();
        self.shared.enter(&mut state, Call::Allocate)?;
        let limits = &self.shared.info.limits;
        if spec.bytes == 0 || !spec.bytes.is_multiple_of(4) || spec.bytes > limits.buffer_bytes {
            return Err(state.caught(Misuse::BufferLength { bytes: spec.bytes }));
        }
        if state.live.buffers >= usize::try_from(limits.allocations).unwrap_or(usize::MAX) {
            return Err(DeviceFault::TooManyAllocations {
                limit: limits.allocations,
            });
        }
        let heap = self.room(&state, spec.bytes, spec.placement)?;
        let sight = match (spec.placement, self.shared.unified, self.shared.coherent) {
            (MemoryPlacement::Device, false, _) => Sight::Hidden,
            (_, _, true) => Sight::Coherent,
            (_, _, false) => Sight::Separate,
        };
        let memory = usize::try_from(spec.bytes)
            .ok()
            .and_then(|bytes| Memory::new(spec.label, heap, bytes, sight))
            .ok_or(DeviceFault::OutOfHostMemory { call: "allocate" })?;
        let host = memory.host();
        let id = state.keep(memory);
        drop(state);
        Ok(Arc::new(ScriptedBuffer {
            shared: self.shared.clone(),
            id,
            bytes: spec.bytes,
            host,
        }))
    }

    fn build_kernel(&self, spec: KernelSpec<'_>) -> Result<Arc<dyn DeviceKernel>, DeviceFault> {
        let mut state = self.shared.state.lock();
        self.shared.enter(&mut state, Call::BuildKernel)?;
        let entry: Arc<str> = spec.entry.into();
        let Some(run) = self.shared.kernels.get(spec.entry) else {
            return Err(DeviceFault::NoHostKernel { entry });
        };
        state.live.kernels += 1;
        drop(state);
        Ok(Arc::new(ScriptedKernel {
            shared: self.shared.clone(),
            body: Arc::new(KernelBody {
                entry,
                slots: spec.bindings.to_vec(),
                workgroup: spec.workgroup,
                specialization: spec.specialization.to_vec(),
                run,
            }),
        }))
    }

    fn record(&self, plan: &RegionPlan) -> Result<Arc<dyn DeviceRegion>, DeviceFault> {
        let mut state = self.shared.state.lock();
        self.shared.enter(&mut state, Call::Record)?;
        let id = state.new_id();
        let body =
            RegionBody::new(&self.shared, id, plan).map_err(|misuse| state.caught(misuse))?;
        state.live.regions += 1;
        drop(state);
        Ok(Arc::new(ScriptedRegion {
            shared: self.shared.clone(),
            body: Arc::new(body),
            plan: plan.clone(),
        }))
    }

    unsafe fn submit(
        &self,
        region: &dyn DeviceRegion,
        leading: Leading,
        waits: &[Point],
    ) -> Result<Point, DeviceFault> {
        let mut state = self.shared.state.lock();
        let region = region
            .as_any()
            .downcast_ref::<ScriptedRegion>()
            .filter(|region| Arc::ptr_eq(&region.shared, &self.shared));
        let Some(body) = region.map(|region| region.body.clone()) else {
            return Err(state.caught(Misuse::ForeignObject));
        };
        let was_lost = state.lost;
        if let Err(fault) = self.shared.enter(&mut state, Call::Submit) {
            if fault.is_lost() && !was_lost {
                state.timelines.accept(body, leading, waits);
            }
            return Err(fault);
        }
        let checked = state
            .timelines
            .check(&body, leading, waits)
            .and_then(|()| state.check_flushed(&body));
        checked.map_err(|misuse| state.caught(misuse))?;

        let point = state.timelines.accept(body, leading, waits);
        self.shared.changed.notify_all();
        if !self.shared.own_thread {
            drop(drive(&self.shared, state));
        }
        Ok(point)
    }

    fn reached(&self, queue: QueueIndex) -> Result<u64, DeviceFault> {
        let mut state = self.shared.state.lock();
        self.shared.enter(&mut state, Call::Reached)?;
        Ok(state.timelines.reached(queue))
    }

    fn wait(&self, point: Point, limit: Duration) -> Result<Waited, DeviceFault> {
        let mut state = self.shared.state.lock();
        self.shared.enter(&mut state, Call::Wait)?;
        let accepted = state.timelines.accepted(point.queue);
        if point.value > accepted {
            return Err(state.caught(Misuse::WaitNotAccepted {
                queue: point.queue.0,
                value: point.value,
                accepted,
            }));
        }
        let mut deadline = None;
        loop {
            if state.timelines.reached(point.queue) >= point.value {
                return Ok(Waited::Reached);
            }
            if state.lost {
                return Err(DeviceFault::Lost {
                    call: Call::Wait.name(),
                });
            }
            // The clock is read only once there is something to wait for.
            let now = Instant::now();
            let end = *deadline.get_or_insert_with(|| now.checked_add(limit));
            let left = end.map_or(limit, |end| end.saturating_duration_since(now));
            if left.is_zero() {
                return Ok(Waited::Elapsed);
            }
            (state, _) = self.shared.changed.wait_timeout(state, left);
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl ScriptedDevice {
    /// The heap that takes an allocation.
    fn room(
        &self,
        state: &State,
        bytes: u64,
        placement: MemoryPlacement,
    ) -> Result<usize, DeviceFault> {
        let heaps = &self.shared.info.heaps;
        let heap = match placement {
            MemoryPlacement::Device => heaps
                .iter()
                .position(|heap| heap.device_local)
                .or_else(|| (!heaps.is_empty()).then_some(0)),
            MemoryPlacement::Upload | MemoryPlacement::Download => heaps
                .iter()
                .position(|heap| heap.host_visible && !heap.device_local)
                .or_else(|| heaps.iter().position(|heap| heap.host_visible)),
        };
        let heap = heap.ok_or(DeviceFault::NoSuchMemory { placement })?;
        let size = heaps.get(heap).map_or(0, |heap| heap.bytes);
        let used = state.heap_used.get(heap).copied().unwrap_or(0);
        if bytes > size.saturating_sub(used) {
            return Err(DeviceFault::OutOfDeviceMemory {
                requested_bytes: bytes,
            });
        }
        Ok(heap)
    }
}

impl Shared {
    /// Counts a call and answers what the script or a loss says to it.
    pub(super) fn enter(&self, state: &mut State, call: Call) -> Result<(), DeviceFault> {
        if state.lost {
            return Err(DeviceFault::Lost { call: call.name() });
        }
        match state.script.called(call) {
            Some(fault) => {
                if fault.is_lost() {
                    state.lost = true;
                    self.changed.notify_all();
                }
                Err(fault)
            }
            None => Ok(()),
        }
    }

    /// Runs what may run until the device is dropped, then what is left.
    pub(super) fn work(&self) {
        let mut state = self.state.lock();
        loop {
            state = drive(self, state);
            if !state.live.device {
                return;
            }
            state = self.changed.wait(state);
        }
    }
}
