//! One queue of the driver, its lock and its timeline.
//!
//! The lock covers what the driver wants from one thread at a time: the
//! timeline's next value is taken and the submission made under it, so values
//! enter the queue in rising order. Lock order: this lock, then nothing.
#![expect(
    unsafe_code,
    reason = "queues and semaphores are used through C functions"
)]

use std::time::Duration;

use ash::vk;
use runtime_sync::Mutex;
use runtime_sync::atomic::{AtomicU64, Ordering};
use smallvec::SmallVec;

use super::fault::Loss;
use crate::device::{DeviceFault, Waited};

/// Waits on other queues' timelines that a submission rarely exceeds.
pub(super) type Waits = SmallVec<[(vk::Semaphore, u64); 4]>;

/// A queue and its timeline.
#[derive(Debug)]
pub(super) struct Queue {
    timeline: vk::Semaphore,
    line: Mutex<Line>,
    // The highest value that the driver was ever handed. Stored (Release) before
    // the driver is called; `reached` loads it (Acquire) after the counter's
    // value, which that call brought about, so a sound counter is never above it.
    offered: AtomicU64,
}

/// What the queue's lock protects.
#[derive(Debug)]
struct Line {
    handle: vk::Queue,
    accepted: u64,
}

impl Queue {
    /// A queue of the device with a new timeline at 0.
    pub(super) fn new(device: &ash::Device, handle: vk::Queue) -> Result<Self, vk::Result> {
        let mut kind = vk::SemaphoreTypeCreateInfo::default()
            .semaphore_type(vk::SemaphoreType::TIMELINE)
            .initial_value(0);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: VUID-VkSemaphoreTypeCreateInfo-timelineSemaphore-03252: the
        // device is only opened with the feature on.
        let timeline = unsafe { device.create_semaphore(&info, None) }?;
        Ok(Self {
            timeline,
            line: Mutex::new(Line {
                handle,
                accepted: 0,
            }),
            offered: AtomicU64::new(0),
        })
    }

    /// Its timeline.
    pub(super) fn timeline(&self) -> vk::Semaphore {
        self.timeline
    }

    /// Submits a command buffer behind the waits; returns the value that its
    /// end brings the timeline to. A failed submission takes no value, except
    /// that after a loss it counts as made.
    ///
    /// # Safety
    /// - the command buffer was recorded for this queue's family, is complete
    ///   and not pending, and stays alive until the value is reached;
    /// - the waits are on other queues' timelines of the same device, on values
    ///   that were accepted.
    pub(super) unsafe fn submit(
        &self,
        device: &ash::Device,
        loss: &Loss,
        commands: vk::CommandBuffer,
        waits: &Waits,
    ) -> Result<u64, DeviceFault> {
        let waits: SmallVec<[vk::SemaphoreSubmitInfo<'_>; 4]> = waits
            .iter()
            .map(|&(semaphore, value)| at(semaphore, value))
            .collect();
        let commands = [vk::CommandBufferSubmitInfo::default().command_buffer(commands)];

        let mut line = self.line.lock();
        let value = line.accepted + 1;
        let signal = [at(self.timeline, value)];
        let submission = vk::SubmitInfo2::default()
            .wait_semaphore_infos(&waits)
            .command_buffer_infos(&commands)
            .signal_semaphore_infos(&signal);
        self.offered.store(value, Ordering::Release);
        // SAFETY: VUID-vkQueueSubmit2-queue-parameter and its threading rule:
        // the queue's lock is held (rule S44); VUID-VkSubmitInfo2-semaphore-
        // 03882: the value is above all earlier ones; the rest is this
        // function's own contract.
        let result = unsafe { device.queue_submit2(line.handle, &[submission], vk::Fence::null()) };
        match result {
            Ok(()) => {
                line.accepted = value;
                Ok(value)
            }
            Err(vk::Result::ERROR_DEVICE_LOST) => {
                line.accepted = value;
                Err(loss.note("vkQueueSubmit2"))
            }
            Err(code) => {
                // The driver leaves the semaphore as it was, so nothing can
                // reach the value that is given back here.
                self.offered.store(value - 1, Ordering::Release);
                Err(loss.fault("vkQueueSubmit2", code))
            }
        }
    }

    /// The timeline's value.
    pub(super) fn reached(&self, device: &ash::Device, loss: &Loss) -> Result<u64, DeviceFault> {
        const CALL: &str = "vkGetSemaphoreCounterValue";
        // SAFETY: VUID-vkGetSemaphoreCounterValue-semaphore-03255: the
        // semaphore is a timeline, and lives as long as the device.
        let value = unsafe { device.get_semaphore_counter_value(self.timeline) }
            .map_err(|code| loss.fault(CALL, code))?;
        // A driver that has lost its device may count to the end of time.
        if value > self.offered.load(Ordering::Acquire) {
            return Err(loss.note(CALL));
        }
        Ok(value)
    }

    /// Blocks until the timeline reaches `value` or `limit` has passed.
    pub(super) fn wait(
        &self,
        device: &ash::Device,
        loss: &Loss,
        value: u64,
        limit: Duration,
    ) -> Result<Waited, DeviceFault> {
        const CALL: &str = "vkWaitSemaphores";
        let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        let semaphores = [self.timeline];
        let values = [value];
        let info = vk::SemaphoreWaitInfo::default()
            .semaphores(&semaphores)
            .values(&values);
        // SAFETY: VUID-VkSemaphoreWaitInfo-pSemaphores-03256: the semaphore is a
        // timeline, and lives as long as the device.
        match unsafe { device.wait_semaphores(&info, limit_ns) } {
            Ok(()) if self.reached(device, loss)? >= value => Ok(Waited::Reached),
            // Only on a lost device does a wait succeed before its value.
            Ok(()) => Err(loss.note(CALL)),
            Err(vk::Result::TIMEOUT) => Ok(Waited::Elapsed),
            Err(code) => Err(loss.fault(CALL, code)),
        }
    }

    /// Whether all that was accepted is proven to have ended.
    pub(super) fn is_idle(&self, device: &ash::Device, loss: &Loss) -> bool {
        let accepted = self.line.lock().accepted;
        self.reached(device, loss)
            .is_ok_and(|value| value >= accepted)
    }

    /// Runs `submit` with the queue, its lock held.
    #[cfg(feature = "ash")]
    pub(super) fn with<R>(&self, submit: impl FnOnce(vk::Queue) -> R) -> R {
        let line = self.line.lock();
        submit(line.handle)
    }
}

/// A timeline's value, before or after everything that a submission does.
fn at(semaphore: vk::Semaphore, value: u64) -> vk::SemaphoreSubmitInfo<'static> {
    vk::SemaphoreSubmitInfo::default()
        .semaphore(semaphore)
        .value(value)
        .stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
}
