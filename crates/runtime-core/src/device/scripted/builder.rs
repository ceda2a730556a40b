//! What a scripted device is to be.

use runtime_sync::unmodelled::Arc;
use runtime_sync::{Condvar, Mutex, thread};

use super::kernel::{HostInvocation, KernelTable};
use super::state::State;
use super::{ScriptedDevice, Shared};
use crate::device::{
    DeviceInfo, DeviceKind, DeviceUuid, Heap, LaneMap, Limits, QueueFamily, QueueIndex, QueueRole,
};
use crate::lane::Lane;

/// Builds a [`ScriptedDevice`].
///
/// Without a call it has a compute queue and a transfer queue, a heap of 1 GiB
/// of its own beside one of the host, non-coherent memory with atoms of 64
/// bytes, limits as common hardware has, and runs work on the thread that
/// submits it.
#[must_use]
pub struct ScriptedBuilder {
    info: DeviceInfo,
    kernels: KernelTable,
    coherent: bool,
    unified: bool,
    own_thread: bool,
    log_capacity: usize,
}

impl std::fmt::Debug for ScriptedBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptedBuilder")
            .field("name", &self.info.name)
            .finish_non_exhaustive()
    }
}

impl ScriptedBuilder {
    pub(super) fn new() -> Self {
        let lanes = LaneMap::split(QueueIndex(0), QueueIndex(1));
        let mut info = DeviceInfo::new("scripted", DeviceKind::Scripted, lanes, default_limits());
        info.uuid = DeviceUuid(*b"scripted device\0");
        info.driver = "lanekeeper".to_owned();
        info.heaps = default_heaps().to_vec();
        Self {
            info,
            kernels: KernelTable::default(),
            coherent: false,
            unified: false,
            own_thread: false,
            log_capacity: 4096,
        }
    }

    /// The device's name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.info.name = name.into();
        self
    }

    /// The device's identity.
    pub fn uuid(mut self, uuid: DeviceUuid) -> Self {
        self.info.uuid = uuid;
        self
    }

    /// Which queue carries each lane.
    pub fn lanes(mut self, lanes: LaneMap) -> Self {
        self.info.lanes = lanes;
        self
    }

    /// One queue carries all lanes.
    pub fn shared_queue(self) -> Self {
        self.lanes(LaneMap::shared())
    }

    /// Each lane has a queue of its own.
    pub fn queue_per_lane(self) -> Self {
        let lanes = LaneMap::shared()
            .with(Lane::Compute, QueueIndex(0))
            .with(Lane::Upload, QueueIndex(1))
            .with(Lane::Download, QueueIndex(2))
            .with(Lane::Npu, QueueIndex(3));
        self.lanes(lanes)
    }

    /// The heaps. Device memory comes from the first of the device's own (or
    /// the first at all), the rest from the first that the host sees,
    /// preferably not the device's own.
    pub fn heaps(mut self, heaps: impl Into<Vec<Heap>>) -> Self {
        self.info.heaps = heaps.into();
        self
    }

    /// Changes the limits.
    pub fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.info.limits);
        self
    }

    /// Flushes and invalidations cover multiples of this, a power of two.
    pub fn atom_bytes(self, bytes: u64) -> Self {
        self.limits(|limits| limits.atom_bytes = bytes)
    }

    /// What the device says it lacks.
    pub fn missing(mut self, missing: impl Into<Vec<&'static str>>) -> Self {
        self.info.missing = missing.into();
        self
    }

    /// The host and the device see each other's writes without flush and
    /// invalidate. Barriers to the host are still needed.
    pub fn coherent(mut self) -> Self {
        self.coherent = true;
        self
    }

    /// The host sees device memory too.
    pub fn unified_memory(mut self) -> Self {
        self.unified = true;
        self
    }

    /// Work runs on a thread of the device instead of the submitter's.
    pub fn own_thread(mut self) -> Self {
        self.own_thread = true;
        self
    }

    /// How many executed submissions the log keeps; 4096 without this call.
    pub fn log_capacity(mut self, entries: usize) -> Self {
        self.log_capacity = entries;
        self
    }

    /// Stands in for every kernel whose entry point is `entry`.
    ///
    /// The function does the work of all workgroups of a dispatch. It may run
    /// on a thread that holds locks of the runtime: it must not call into the
    /// runtime, nor block on something that does.
    pub fn host_kernel(
        mut self,
        entry: impl Into<String>,
        run: impl Fn(&mut HostInvocation<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.kernels.add(entry.into(), Arc::new(run));
        self
    }

    /// The device.
    ///
    /// # Panics
    /// When its own thread was asked for and the system refuses one.
    pub fn build(mut self) -> ScriptedDevice {
        let queues = self.info.lanes.queue_count();
        self.info.families = families(queues);
        self.info.queue_families = (0..queues).map(|queue| u32::from(queue > 0)).collect();
        let shared = Arc::new(Shared {
            state: Mutex::new(State::new(queues, self.info.heaps.len(), self.log_capacity)),
            changed: Condvar::new(),
            info: self.info,
            kernels: self.kernels,
            coherent: self.coherent,
            unified: self.unified,
            own_thread: self.own_thread,
        });
        let worker = self.own_thread.then(|| {
            let shared = shared.clone();
            thread::spawn_named("scripted-device", move || shared.work())
                .expect("the system starts a thread")
        });
        ScriptedDevice { shared, worker }
    }
}

/// The first queue is of a family that does all, the rest of one for transfers.
fn families(queues: usize) -> Vec<QueueFamily> {
    let all = QueueFamily {
        index: 0,
        queues: 1,
        role: QueueRole {
            compute: true,
            graphics: false,
            transfer: true,
        },
        timestamp_bits: 0,
    };
    let transfer = QueueFamily {
        index: 1,
        queues: u32::try_from(queues).unwrap_or(u32::MAX).saturating_sub(1),
        role: QueueRole {
            compute: false,
            ..all.role
        },
        timestamp_bits: 0,
    };
    [all, transfer]
        .into_iter()
        .filter(|family| family.queues > 0)
        .collect()
}

fn default_heaps() -> [Heap; 2] {
    let own = Heap {
        bytes: 1 << 30,
        device_local: true,
        host_visible: false,
    };
    let of_host = Heap {
        device_local: false,
        host_visible: true,
        ..own
    };
    [own, of_host]
}

fn default_limits() -> Limits {
    Limits {
        groups: [65_535; 3],
        workgroup: [1024, 1024, 64],
        workgroup_invocations: 1024,
        workgroup_bytes: 32 << 10,
        storage_range_bytes: 128 << 20,
        uniform_range_bytes: 64 << 10,
        storage_align_bytes: 64,
        uniform_align_bytes: 64,
        atom_bytes: 64,
        buffer_bytes: 1 << 30,
        allocations: 1 << 20,
        storage_bindings: 16,
    }
}
