//! A runtime on a scripted device, with shorthands.

use std::time::Duration;

use runtime_core::device::scripted::{Controls, LogEntry, ScriptedBuilder, ScriptedDevice};
use runtime_core::device::{Leading, MemoryPlacement};
use runtime_core::{Buffer, Lane, PreparedGraph, Runtime, RuntimeOptions, View};

/// Long enough that only a hang reaches it.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) struct Bench {
    pub(crate) runtime: Runtime,
    pub(crate) controls: Controls,
}

/// Each lane has a queue of its own.
pub(crate) fn bench() -> Bench {
    built(
        ScriptedDevice::builder().queue_per_lane(),
        RuntimeOptions::default(),
    )
}

/// All lanes share one queue.
pub(crate) fn one_queue() -> Bench {
    built(
        ScriptedDevice::builder().shared_queue(),
        RuntimeOptions::default(),
    )
}

pub(crate) fn built(builder: ScriptedBuilder, options: RuntimeOptions) -> Bench {
    let device = builder.build();
    let controls = device.controls();
    let runtime = Runtime::on_device(Box::new(device), options).unwrap();
    Bench { runtime, controls }
}

impl Bench {
    pub(crate) fn buffer(&self, bytes: u64) -> Buffer {
        self.runtime
            .allocate(bytes, MemoryPlacement::Device)
            .unwrap()
    }

    /// A graph of one copy on a lane.
    pub(crate) fn copy(&self, lane: Lane, label: &str, from: &View, to: &View) -> PreparedGraph {
        let mut graph = self.runtime.graph();
        graph.label(label);
        graph.copy_on(lane, from, to).unwrap();
        graph.prepare().unwrap()
    }

    /// A graph of one fill, on the compute lane.
    pub(crate) fn fill(&self, label: &str, to: &View, word: u32) -> PreparedGraph {
        let mut graph = self.runtime.graph();
        graph.label(label);
        graph.fill(to, word).unwrap();
        graph.prepare().unwrap()
    }

    /// Labels of what the lane has with the driver, unreached.
    pub(crate) fn pending(&self, lane: Lane) -> Vec<String> {
        let pending = self.controls.pending(lane);
        pending
            .iter()
            .map(|entry| entry.label.to_string())
            .collect()
    }

    /// What was executed under this label.
    pub(crate) fn executed(&self, label: &str) -> LogEntry {
        let log = self.controls.log();
        let mut found = log.iter().filter(|entry| *entry.label == *label);
        let entry = found
            .next()
            .unwrap_or_else(|| panic!("`{label}` did not run"));
        assert!(found.next().is_none(), "`{label}` ran twice");
        entry.clone()
    }

    /// The labels of what was executed, without the zeroing of new buffers.
    pub(crate) fn order(&self) -> Vec<String> {
        let log = self.controls.log();
        log.iter()
            .map(|entry| entry.label.to_string())
            .filter(|label| label != "zero")
            .collect()
    }

    /// True when nothing stands between the submission and earlier ones.
    pub(crate) fn ran_unordered(&self, label: &str) -> bool {
        let entry = self.executed(label);
        entry.leading == Leading::Nothing && entry.waits.is_empty()
    }

    pub(crate) fn assert_no_misuse(&self) {
        assert_eq!(self.controls.misuses(), []);
    }
}

/// A part of a buffer.
pub(crate) fn part(buffer: &Buffer, offset: u64, bytes: u64) -> View {
    buffer.view().slice(offset, bytes).unwrap()
}
