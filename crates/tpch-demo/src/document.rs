//! Everything that a run has to say, as one document.
//!
//! `--json` writes it as it stands, and the tables for a person are drawn from
//! it alone, so neither form can say what the other does not.

use serde::Serialize;

use crate::answers::{self, Table};
use crate::latency::Summary;
use crate::queries::Query;

#[cfg(test)]
pub(crate) mod tests;

/// One run of the program.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Document {
    pub(crate) table: TableFacts,
    pub(crate) device: DeviceFacts,
    pub(crate) answers: Vec<Answer>,
    pub(crate) attempts: Attempts,
    pub(crate) times: Vec<Times>,
    pub(crate) bytes: Bytes,
    pub(crate) classifier: Classifier,
    pub(crate) abandoned: Abandoned,
    pub(crate) close: Close,
    pub(crate) comparison: Vec<Comparison>,
}

/// A document and what it comes to.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Judged<'a> {
    passed: bool,
    #[serde(flatten)]
    document: &'a Document,
}

impl Document {
    /// The document with its verdict, as `--json` writes it.
    pub(crate) fn judged(&self) -> Judged<'_> {
        Judged {
            passed: self.passed(),
            document: self,
        }
    }

    /// Whether everything is as it had to be.
    pub(crate) fn passed(&self) -> bool {
        self.answers.iter().all(|answer| answer.agrees)
            && self
                .attempts
                .kinds
                .iter()
                .all(|kind| kind.ended_otherwise == 0)
            && self.attempts.reports == self.attempts.begun
            && self.abandoned.missing == 0
            && self.bytes.peak_granted <= self.bytes.capacity
            && self.bytes.peak_charged <= self.bytes.budget
            && self.close.is_clean
    }
}

/// The generated table.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TableFacts {
    pub(crate) scale: f64,
    pub(crate) rows: u64,
    pub(crate) column_bytes: u64,
    pub(crate) generated_in_ms: f64,
}

/// The device that did the work.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DeviceFacts {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) driver: String,
}

/// One query's answer beside what it was checked against.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Answer {
    pub(crate) query: &'static str,
    pub(crate) columns: &'static [&'static str],
    pub(crate) device: Table,
    /// The published answer; none at scale factors other than 1.
    pub(crate) published: Option<Table>,
    /// The answer of the plain loop on the CPU.
    pub(crate) cpu: Table,
    /// Runs on the device that gave an answer.
    pub(crate) runs: u64,
    /// Runs whose answer was not exactly the CPU's.
    pub(crate) wrong_runs: u64,
    pub(crate) agrees: bool,
}

impl Answer {
    /// Judges a query: its runs were compared with the CPU's exact sums one by
    /// one; here the text meets the published answer.
    pub(crate) fn judged(query: Query, scale: f64, runs: &Runs, cpu: Table) -> Answer {
        let published = answers::published(query, scale);
        let device = runs.shown.clone().unwrap_or_default();
        let as_published = published
            .as_ref()
            .is_none_or(|published| *published == device);
        Answer {
            query: query.name(),
            columns: answers::columns(query),
            agrees: as_published && device == cpu && runs.wrong == 0 && runs.right > 0,
            device,
            published,
            cpu,
            runs: runs.right + runs.wrong,
            wrong_runs: runs.wrong,
        }
    }
}

/// What the runs of one query gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs {
    pub(crate) right: u64,
    pub(crate) wrong: u64,
    /// An answer of the device: a wrong one, if there is one.
    pub(crate) shown: Option<Table>,
}

/// How the attempts ended.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Attempts {
    pub(crate) begun: u64,
    pub(crate) reports: u64,
    pub(crate) kinds: Vec<Kind>,
}

/// Attempts that were arranged to end in the same way.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Kind {
    pub(crate) arranged: &'static str,
    /// The outcome and code that the reports give.
    pub(crate) report: String,
    pub(crate) count: u64,
    /// Reports that did not say what was arranged.
    pub(crate) ended_otherwise: u64,
}

/// One distribution of times.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Times {
    pub(crate) of: String,
    #[serde(flatten)]
    pub(crate) summary: Summary,
}

/// Bytes against the budget.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Bytes {
    /// The most that the runtime may hold.
    pub(crate) budget: u64,
    /// The part of it that the backend gives out.
    pub(crate) capacity: u64,
    /// What the columns hold of the capacity.
    pub(crate) resident: u64,
    /// The most of the capacity that was resident or granted at one time.
    pub(crate) peak_granted: u64,
    /// The most that one attempt allocated.
    pub(crate) peak_of_an_attempt: u64,
    /// The most of the budget that was charged at one time, the backend's
    /// capacity included.
    pub(crate) peak_charged: u64,
}

/// The model that took turns with the queries.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Classifier {
    pub(crate) stages: u64,
    pub(crate) images: u64,
    pub(crate) accuracy_percent: f64,
}

/// What the queue of abandoned reports held.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Abandoned {
    pub(crate) pushed: u64,
    pub(crate) overflowed: u64,
    pub(crate) taken: Vec<String>,
    /// Attempts whose receiver was dropped and whose report was not taken.
    pub(crate) missing: u64,
}

/// How the backend closed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Close {
    /// Everything ended with proof, and nothing is held any more.
    pub(crate) is_clean: bool,
    pub(crate) attempts_begun: u64,
    pub(crate) gpu_quiescent_after_us: u64,
    pub(crate) elapsed_us: u64,
    pub(crate) quarantined_bytes: u64,
    pub(crate) retained_bytes: u64,
    /// What the device runtime still held when it closed after the backend.
    pub(crate) still_held_bytes: u64,
    pub(crate) leaked_bytes: u64,
    pub(crate) unfinished_submissions: u64,
}

/// One query's time on the device and on one CPU thread.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Comparison {
    pub(crate) query: &'static str,
    /// Median time that the compute lane took for it.
    pub(crate) lane_us: u64,
    /// Median time from the grant to the answer, beside other attempts.
    pub(crate) answer_us: u64,
    /// Best of three passes of the plain loop.
    pub(crate) cpu_us: u64,
}
