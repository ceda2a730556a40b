//! Running models, one process each, as many at once as there are cores.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::said::{self, Search};
use super::{Model, Options};
use crate::program::Captured;
use crate::table;

/// Overrides every model's preemption bound; `runtime_sync` reads it.
const PREEMPTIONS_VARIABLE: &str = "RUNTIME_LOOM_PREEMPTIONS";

/// How a model ended.
#[derive(Debug)]
pub(super) struct Outcome {
    /// The searches that it finished.
    pub(super) searches: Vec<Search>,
    /// Why it counts as failed.
    pub(super) fault: Option<Fault>,
    /// How long its process ran.
    pub(super) elapsed: Duration,
    /// All that it printed.
    pub(super) lines: Vec<String>,
}

/// Why a model counts as failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// A schedule broke the claim, or the process ended badly.
    Failed(String),
    /// It ended well without the line that is the evidence of a search.
    Silent,
    /// A limit cut its search.
    Incomplete,
    /// The process could not be started.
    NotStarted,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(ending) => write!(f, "FAILED ({ending})"),
            Self::Silent => f.write_str("FAILED (no model was run)"),
            Self::Incomplete => f.write_str("FAILED (search incomplete)"),
            Self::NotStarted => f.write_str("FAILED (not started)"),
        }
    }
}

/// Runs all models; the outcomes stand in the models' order.
pub(super) fn all(models: &[Model], options: &Options) -> Vec<Outcome> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    // Relaxed: the number alone is shared, results travel through the channel.
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let mut outcomes: Vec<(usize, Outcome)> = thread::scope(|scope| {
        for _ in 0..workers.min(models.len()) {
            let (next, sender) = (&next, sender.clone());
            scope.spawn(move || {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(model) = models.get(place) else {
                        return;
                    };
                    // The receiver outlives the scope.
                    let _ = sender.send((place, one(model, options)));
                }
            });
        }
        drop(sender);
        receiver
            .iter()
            .inspect(|(place, outcome)| tell(&models[*place], outcome))
            .collect()
    });
    outcomes.sort_by_key(|(place, _)| *place);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

fn tell(model: &Model, outcome: &Outcome) {
    let verdict = outcome
        .fault
        .as_ref()
        .map_or("ok".to_owned(), Fault::to_string);
    println!(
        "{}::{} {verdict} ({})",
        model.built.package,
        model.path,
        table::seconds(outcome.elapsed)
    );
}

fn one(model: &Model, options: &Options) -> Outcome {
    let mut program =
        model
            .built
            .program()
            .args(["--exact", &model.path, "--nocapture", "--test-threads=1"]);
    if let Some(bound) = options.preemptions {
        program = program.env(PREEMPTIONS_VARIABLE, bound.to_string());
    }
    match program.capture(Duration::from_secs(options.timeout)) {
        Ok(captured) => judge(captured),
        Err(failure) => Outcome {
            searches: Vec::new(),
            fault: Some(Fault::NotStarted),
            elapsed: Duration::ZERO,
            lines: vec![failure.to_string()],
        },
    }
}

/// Reads the evidence out of what a model's process printed.
pub(super) fn judge(captured: Captured) -> Outcome {
    let searches: Vec<Search> = captured
        .lines
        .iter()
        .filter_map(|line| said::search(line))
        .collect();
    let fault = if !captured.success {
        Some(Fault::Failed(captured.ending))
    } else if searches.is_empty() {
        Some(Fault::Silent)
    } else if searches.iter().any(|search| search.incomplete) {
        Some(Fault::Incomplete)
    } else {
        None
    };
    Outcome {
        searches,
        fault,
        elapsed: captured.elapsed,
        lines: captured.lines,
    }
}
