//! The delivery thread: sinks and activity leases, away from everything else.
//!
//! A job holds the observation permit of its attempt, so the gate's bound of
//! open attempts bounds the queue too. Only the reports that wait for the sinks
//! have a tighter bound of their own; a report beyond it is counted as lost to
//! the sinks, and its permit and lease follow all the same.

use crate::callout;
use crate::gate::ObservationPermit;
use crate::report::QueryAttemptReport;
use runtime_sync::unmodelled;
use runtime_sync::{Arc, Condvar, Mutex};
use std::collections::VecDeque;
use std::fmt;

/// Where finished reports are delivered to, besides their receivers.
///
/// Called on the backend's delivery thread, one report at a time, while the
/// attempt's observation permit is held: a sink that blocks holds back close and
/// later deliveries, and nothing else. A panic is caught and loses that one
/// report for that one sink. Signalling close is allowed inside, waiting for
/// it is not.
pub trait ReportSink: Send {
    /// Takes one report.
    fn deliver(&self, report: &Arc<QueryAttemptReport>);
}

impl<F: Fn(&Arc<QueryAttemptReport>) + Send> ReportSink for F {
    fn deliver(&self, report: &Arc<QueryAttemptReport>) {
        self(report);
    }
}

/// One attempt's last steps.
pub(super) struct Job {
    pub(super) report: Arc<QueryAttemptReport>,
    pub(super) observation: ObservationPermit,
    pub(super) activity: Option<Box<dyn Send>>,
}

/// The queue in front of the delivery thread.
#[derive(Clone)]
pub(super) struct Delivery {
    shared: unmodelled::Arc<(Mutex<Queue>, Condvar)>,
    most_reports: usize,
    has_sinks: bool,
}

struct Queue {
    jobs: VecDeque<(Job, bool)>,
    reports: usize,
    lost: u64,
    panics: u64,
    is_stopping: bool,
}

impl Delivery {
    /// A queue in which at most `most_reports` wait for sinks.
    pub(super) fn new(most_reports: usize, has_sinks: bool) -> Self {
        let queue = Queue {
            jobs: VecDeque::new(),
            reports: 0,
            lost: 0,
            panics: 0,
            is_stopping: false,
        };
        Self {
            shared: unmodelled::Arc::new((Mutex::new(queue), Condvar::new())),
            most_reports,
            has_sinks,
        }
    }

    /// Takes over an attempt's last steps.
    pub(super) fn push(&self, job: Job) {
        if !self.has_sinks && job.activity.is_none() {
            // Nothing foreign is left to run.
            drop(job.observation);
            return;
        }
        let mut queue = self.shared.0.lock();
        let has_room = self.has_sinks && queue.reports < self.most_reports;
        if has_room {
            queue.reports += 1;
        } else if self.has_sinks {
            queue.lost += 1;
        }
        queue.jobs.push_back((job, has_room));
        drop(queue);
        self.shared.1.notify_one();
    }

    /// Reports that found no room in front of the sinks.
    pub(super) fn lost(&self) -> u64 {
        self.shared.0.lock().lost
    }

    /// Jobs that wait, and calls of sinks and leases that panicked.
    pub(super) fn load(&self) -> (usize, u64) {
        let queue = self.shared.0.lock();
        (queue.jobs.len(), queue.panics)
    }

    /// Lets the thread end once its queue is empty.
    pub(super) fn stop(&self) {
        self.shared.0.lock().is_stopping = true;
        self.shared.1.notify_all();
    }

    /// The body of the delivery thread.
    pub(super) fn run(&self, sinks: Vec<Box<dyn ReportSink>>) {
        while let Some((job, delivers)) = self.next() {
            let mut panics = 0;
            if delivers {
                for sink in &sinks {
                    panics += u64::from(!callout::run(|| sink.deliver(&job.report)));
                }
            }
            drop(job.observation);
            panics += u64::from(!callout::run(|| drop(job.activity)));
            if panics > 0 {
                self.shared.0.lock().panics += panics;
            }
        }
        for sink in sinks {
            callout::run(|| drop(sink));
        }
    }

    fn next(&self) -> Option<(Job, bool)> {
        let mut queue = self.shared.0.lock();
        loop {
            if let Some((job, delivers)) = queue.jobs.pop_front() {
                queue.reports -= usize::from(delivers);
                return Some((job, delivers));
            }
            if queue.is_stopping {
                return None;
            }
            queue = self.shared.1.wait(queue);
        }
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
            .field("most_reports", &self.most_reports)
            .field("has_sinks", &self.has_sinks)
            .finish_non_exhaustive()
    }
}
