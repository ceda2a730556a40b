//! What the handles of one runtime share.

use std::fmt;
use std::time::Instant;

use runtime_sync::unmodelled::{Arc, AtomicBool, AtomicU64, Ordering};
use runtime_sync::{Mutex, thread::JoinHandle};

use crate::close::Closing;
use crate::device::{Device, QueueIndex};
use crate::error::{Error, Result};
use crate::lane::scheduler::{LossCallback, Scheduler};
use crate::memory::budget::MemoryBudget;
use crate::quarantine::leak;

static LAST_ID: AtomicU64 = AtomicU64::new(0);

/// One device and everything that is scheduled on it. Runtimes, buffers,
/// graphs, completions and reapers hold it; the last one ends the device.
pub(crate) struct Domain {
    pub(crate) id: u64,
    pub(crate) label: Arc<str>,
    pub(crate) run_slots: u32,
    pub(crate) budget: MemoryBudget,
    pub(crate) scheduler: Scheduler,
    /// The device must outlive everything, for good.
    pub(crate) keep_device: AtomicBool,
    pub(crate) reapers: Mutex<Vec<JoinHandle<()>>>,
    pub(crate) closing: Closing,
}

/// What a domain is made of.
pub(crate) struct Parts {
    pub(crate) device: Arc<dyn Device>,
    pub(crate) label: Arc<str>,
    pub(crate) max_submissions: u32,
    pub(crate) run_slots: u32,
    pub(crate) trace_capacity: usize,
    pub(crate) budget: MemoryBudget,
    pub(crate) on_loss: Option<LossCallback>,
}

impl Domain {
    pub(crate) fn new(parts: Parts) -> Self {
        Self {
            // Relaxed: an identity needs to be unique, and orders nothing.
            id: LAST_ID.fetch_add(1, Ordering::Relaxed) + 1,
            label: parts.label,
            run_slots: parts.run_slots,
            budget: parts.budget,
            scheduler: Scheduler::new(
                parts.device,
                parts.max_submissions,
                parts.trace_capacity,
                parts.on_loss,
            ),
            keep_device: AtomicBool::new(false),
            reapers: Mutex::new(Vec::new()),
            closing: Closing::new(),
        }
    }

    /// Starts one reaper per queue.
    pub(crate) fn start_reapers(self: &Arc<Self>) -> Result<()> {
        let queues = self.scheduler.device.info().lanes.queue_count();
        for index in 0..queues {
            let queue = QueueIndex(u8::try_from(index).unwrap_or(u8::MAX));
            let domain = self.clone();
            self.scheduler.count_reaper(true);
            let reaper = runtime_sync::thread::spawn_named("lane-reaper", move || {
                domain.scheduler.reap(queue);
            });
            match reaper {
                Ok(reaper) => self.reapers.lock().push(reaper),
                Err(_) => {
                    self.scheduler.count_reaper(false);
                    self.scheduler.close();
                    return Err(Error::NoThread {
                        purpose: "a reaper",
                    });
                }
            }
        }
        Ok(())
    }

    /// Joins the reapers once all have ended; one that still watches a device
    /// goes on by itself.
    pub(crate) fn join_reapers(&self, until: Instant) {
        let here = runtime_sync::thread::current().id();
        let reapers = std::mem::take(&mut *self.reapers.lock());
        // A waker that closes runs on a reaper, which cannot wait for itself.
        let own = reapers.iter().any(|reaper| reaper.thread().id() == here);
        if !self.scheduler.wait_reapers(u32::from(own), until) {
            return;
        }
        for reaper in reapers {
            if reaper.thread().id() != here && reaper.join().is_err() {
                tracing::error!("a reaper panicked");
            }
        }
    }

    /// True while the device may not be destroyed.
    pub(crate) fn must_leak(&self) -> bool {
        // Relaxed: the flag is set before the handle that saw it is dropped,
        // and dropping the last handle orders that.
        self.keep_device.load(Ordering::Relaxed) || !self.scheduler.register.is_empty()
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        if !self.must_leak() {
            return;
        }
        let register = &self.scheduler.register;
        tracing::error!(
            label = %self.label,
            entries = register.count(),
            bytes = register.bytes(),
            "the device is leaked: some of its work has no proof of completion"
        );
        // What the register keeps is buffers and regions, and each of them keeps
        // the driver's device; forgetting both leaks the generation whole.
        leak(self.scheduler.device.clone());
        leak(self.scheduler.register.take_all());
    }
}

impl fmt::Debug for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Domain")
            .field("id", &self.id)
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}
