//! How a runtime is made.

use std::fmt;

use runtime_sync::unmodelled::Arc;

use crate::device::DeviceSelector;
use crate::error::{Error, Invalid, Result};
use crate::lane::scheduler::LossCallback;
use crate::memory::budget::MemoryBudget;

/// The greatest `max_submissions`; bounds what the line may hold.
const MOST_SUBMISSIONS: u32 = 65_536;
/// The greatest `run_slots`; each holds command buffers and staging.
const MOST_RUN_SLOTS: u32 = 256;
/// The greatest trace capacity, in records.
const MOST_TRACE_RECORDS: usize = 1 << 20;

/// How a runtime is made. Values out of range are refused when it is.
pub struct RuntimeOptions {
    pub(crate) label: Arc<str>,
    pub(crate) selector: DeviceSelector,
    pub(crate) allow_software: bool,
    pub(crate) max_submissions: u32,
    pub(crate) run_slots: u32,
    pub(crate) trace_capacity: usize,
    pub(crate) budget: Option<MemoryBudget>,
    pub(crate) on_loss: Option<LossCallback>,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        Self {
            label: "runtime".into(),
            selector: DeviceSelector::Best,
            allow_software: false,
            max_submissions: 64,
            run_slots: 2,
            trace_capacity: 1024,
            budget: None,
            on_loss: None,
        }
    }
}

impl RuntimeOptions {
    /// Names the runtime in traces, messages and reports.
    #[must_use]
    pub fn label(mut self, label: impl Into<Arc<str>>) -> Self {
        self.label = label.into();
        self
    }

    /// Which device to open; by default the best that is not software.
    #[must_use]
    pub fn device(mut self, selector: DeviceSelector) -> Self {
        self.selector = selector;
        self
    }

    /// Takes a software device when nothing better is there. One that is named
    /// needs no permission.
    #[must_use]
    pub fn allow_software(mut self, allow: bool) -> Self {
        self.allow_software = allow;
        self
    }

    /// The most submissions in flight, waiting stages included: 1 to 65,536, by
    /// default 64.
    #[must_use]
    pub fn max_submissions(mut self, most: u32) -> Self {
        self.max_submissions = most;
        self
    }

    /// Run slots of every prepared graph: 1 to 256, by default 2.
    #[must_use]
    pub fn run_slots(mut self, slots: u32) -> Self {
        self.run_slots = slots;
        self
    }

    /// The budget that allocations are charged to; by default one of the size of
    /// the device's memory.
    #[must_use]
    pub fn budget(mut self, budget: MemoryBudget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// How many trace records are kept, 0 to 1,048,576, by default 1,024; 0 turns
    /// the trace off.
    #[must_use]
    pub fn trace_capacity(mut self, records: usize) -> Self {
        self.trace_capacity = records;
        self
    }

    /// Called once, outside of locks, when the device is lost.
    #[must_use]
    pub fn on_loss(mut self, callback: impl FnOnce(&Error) + Send + 'static) -> Self {
        self.on_loss = Some(Box::new(callback));
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        within("max_submissions", self.max_submissions, MOST_SUBMISSIONS)?;
        check_run_slots(self.run_slots)?;
        if self.trace_capacity > MOST_TRACE_RECORDS {
            return Err(Invalid::Option {
                option: "trace_capacity",
                value: self.trace_capacity as u64,
                least: 0,
                most: MOST_TRACE_RECORDS as u64,
            }
            .into());
        }
        Ok(())
    }
}

pub(crate) fn check_run_slots(slots: u32) -> Result<()> {
    within("run_slots", slots, MOST_RUN_SLOTS)
}

fn within(option: &'static str, value: u32, most: u32) -> Result<()> {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    Err(Invalid::Option {
        option,
        value: u64::from(value),
        least: 1,
        most: u64::from(most),
    }
    .into())
}

impl fmt::Debug for RuntimeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeOptions")
            .field("label", &self.label)
            .field("selector", &self.selector)
            .field("max_submissions", &self.max_submissions)
            .field("run_slots", &self.run_slots)
            .finish_non_exhaustive()
    }
}
