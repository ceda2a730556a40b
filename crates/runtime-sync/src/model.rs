//! Running a model: on real threads, or under the model checker.

use std::sync::atomic::{AtomicU64, Ordering};

/// How often an ordinary build runs a model on real threads.
#[cfg(not(runtime_loom))]
const REAL_RUNS: u64 = 200;

/// Overrides a model's preemption bound; a positive number.
#[cfg(runtime_loom)]
const PREEMPTIONS_VARIABLE: &str = "RUNTIME_LOOM_PREEMPTIONS";

/// One named model and the bounds of its search.
///
/// The name is the claim that the model checks. Under `--cfg runtime_loom` the
/// run prints `model <name>: <n> executions, preemption bound <b>`, with
/// `, incomplete` behind it when a limit cut the search.
#[derive(Debug)]
pub struct Model {
    name: &'static str,
    preemptions: usize,
    most_executions: u64,
}

impl Model {
    /// A model with a preemption bound of 2 and at most two million executions.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            preemptions: 2,
            most_executions: 2_000_000,
        }
    }

    /// Searches schedules with at most `bound` preemptions.
    #[must_use]
    pub fn preemptions(mut self, bound: usize) -> Self {
        self.preemptions = bound;
        self
    }

    /// Cuts the search after `most` executions; a cut search says so.
    #[must_use]
    pub fn most_executions(mut self, most: u64) -> Self {
        self.most_executions = most;
        self
    }

    /// Runs `body` in every schedule within the bounds, or, in an ordinary
    /// build, a few hundred times on real threads.
    ///
    /// # Panics
    /// When `body` panics in any of them.
    pub fn run<F>(self, body: F)
    where
        F: Fn() + Send + Sync + 'static,
    {
        let executions = std::sync::Arc::new(AtomicU64::new(0));
        let tally = executions.clone();
        let counted = move || {
            tally.fetch_add(1, Ordering::Relaxed);
            body();
        };

        #[cfg(not(runtime_loom))]
        {
            for _ in 0..REAL_RUNS {
                counted();
            }
            println!(
                "model {}: {} runs on real threads",
                self.name,
                executions.load(Ordering::Relaxed)
            );
        }
        #[cfg(runtime_loom)]
        {
            let bound = std::env::var(PREEMPTIONS_VARIABLE)
                .ok()
                .and_then(|text| text.parse().ok())
                .unwrap_or(self.preemptions);
            let most = usize::try_from(self.most_executions).unwrap_or(usize::MAX);
            let mut builder = loom::model::Builder::new();
            builder.preemption_bound = Some(bound);
            builder.max_permutations = Some(most);
            builder.max_branches = 100_000;
            builder.check(counted);
            let seen = executions.load(Ordering::Relaxed);
            let cut = if seen >= self.most_executions {
                ", incomplete"
            } else {
                ""
            };
            println!(
                "model {}: {seen} executions, preemption bound {bound}{cut}",
                self.name
            );
        }
    }
}

/// Runs `body` as the model `name` within the default bounds of [`Model::new`].
///
/// # Panics
/// When `body` panics in any schedule.
pub fn model<F>(name: &'static str, body: F)
where
    F: Fn() + Send + Sync + 'static,
{
    Model::new(name).run(body);
}
