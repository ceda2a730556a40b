//! The end of a submission, to be waited for, awaited, or asked about.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytemuck::Pod;
use runtime_sync::unmodelled::Arc;

use crate::domain::Domain;
use crate::error::{Busy, Error, Invalid, Result};
use crate::graph::OutputId;
use crate::lane::Lane;
use crate::lane::line::{Progress, SubmissionKey};
use crate::lane::scheduler::SLICE;
use crate::lane::stage;
use crate::run::Run;

/// The end of one submission.
///
/// Clones name the same submission. Dropping one cancels nothing, and nobody has
/// to wait for a submission to make it go on. While a handle is held, the run
/// slot stays in use, since its outputs can be read.
///
/// As a future it needs no particular executor, is `Send`, and is cancel-safe:
/// dropping it, or polling a clone instead, loses nothing.
pub struct Completion {
    domain: Arc<Domain>,
    run: Arc<Run>,
    key: SubmissionKey,
    graph: u64,
}

impl Completion {
    /// Takes over the handle that claiming the slot made.
    pub(crate) fn new(domain: Arc<Domain>, run: Arc<Run>, key: SubmissionKey, graph: u64) -> Self {
        Self {
            domain,
            run,
            key,
            graph,
        }
    }

    pub(crate) fn producer(&self) -> (SubmissionKey, Arc<Run>) {
        (self.key, self.run.clone())
    }

    pub(crate) fn domain(&self) -> &Arc<Domain> {
        &self.domain
    }

    /// True once the result is there.
    pub fn is_complete(&self) -> bool {
        if self.run.result().is_none() {
            self.domain.scheduler.drive();
        }
        self.run.result().is_some()
    }

    /// Blocks until the submission is over. The async twin is awaiting it.
    ///
    /// # Errors
    /// How the submission ended, when not well; [`Busy::Reentry`] when this
    /// thread is inside a native stage of the runtime, which the submission may
    /// have to wait for.
    pub fn wait(&self) -> Result<()> {
        loop {
            if let Some(result) = self.advance(SLICE)? {
                return result;
            }
        }
    }

    /// As [`wait`](Self::wait), for at most `limit`. An expired wait changes
    /// nothing: the work goes on and is published later.
    ///
    /// # Errors
    /// As [`wait`](Self::wait), and [`Error::TimedOut`].
    pub fn wait_timeout(&self, limit: Duration) -> Result<()> {
        let start = Instant::now();
        loop {
            let left = limit.saturating_sub(start.elapsed());
            if let Some(result) = self.advance(left.min(SLICE))? {
                return result;
            }
            if start.elapsed() >= limit {
                return Err(Error::TimedOut {
                    waited: start.elapsed(),
                    lane_held_by: self.domain.scheduler.lock().holder.clone(),
                });
            }
        }
    }

    /// Brings the submission forward, blocking for at most `limit`.
    fn advance(&self, limit: Duration) -> Result<Option<Result<()>>> {
        let scheduler = &self.domain.scheduler;
        let seen = self.run.look();
        if seen.result.is_some() {
            return Ok(seen.result);
        }
        match scheduler.progress(self.key) {
            Progress::OnDevice(point) => scheduler.wait_point(point, limit),
            Progress::OnHost => {
                self.refuse_own_stage()?;
                scheduler.drive();
                self.run.wait_move(&seen, limit);
            }
            Progress::Over => {
                scheduler.drive();
                self.run.wait_move(&seen, limit);
            }
        }
        scheduler.drive();
        Ok(self.run.result())
    }

    fn refuse_own_stage(&self) -> Result<()> {
        if !stage::inside(self.domain.id) {
            return Ok(());
        }
        let mut state = self.domain.scheduler.lock();
        if !state.line.awaits_compute(self.key) {
            return Ok(());
        }
        state.statistics.busy_reentry += 1;
        Err(Error::Busy(Busy::Reentry))
    }

    /// Asks that the submission ends before the driver has all of it. False when
    /// it is too late; then it ends as if nobody had asked.
    pub fn cancel(&self) -> bool {
        self.domain.scheduler.cancel(self.key)
    }

    /// When the submission moved on; `None` until it is over.
    pub fn profile(&self) -> Option<Profile> {
        let _over = self.run.result()?;
        let times = self.run.times();
        let asked = times.asked?;
        let since = |at: Instant| at.saturating_duration_since(asked);
        Some(Profile {
            total: since(times.published?),
            regions: times
                .regions
                .iter()
                .zip(&self.run.plan.regions)
                .filter_map(|(region, planned)| {
                    let accepted = region.accepted?;
                    let reached = region.reached.or(times.published)?;
                    Some(RegionProfile {
                        lane: planned.lane,
                        queued: since(accepted),
                        on_device: reached.saturating_duration_since(accepted),
                    })
                })
                .collect(),
        })
    }

    /// Shows the bytes of an output to `read`.
    ///
    /// # Errors
    /// How the submission ended, when not well; [`Invalid::NoOutput`] when it is
    /// not over; [`Invalid::ForeignGraph`] for an output of another graph.
    pub fn with_output<R>(&self, output: OutputId, read: impl FnOnce(&[u8]) -> R) -> Result<R> {
        if output.graph != self.graph {
            return Err(Invalid::ForeignGraph { what: "output" }.into());
        }
        match self.run.result() {
            None => return Err(Invalid::NoOutput.into()),
            Some(result) => result?,
        }
        let staging = self.run.staging.download.as_ref();
        let staging = staging.ok_or(Invalid::NoOutput)?;
        // The slot is not used again while this handle lives, so nothing writes.
        staging
            .host_read(output.offset, output.bytes, read)?
            .ok_or_else(|| Invalid::NoOutput.into())
    }

    /// The elements of an output.
    ///
    /// # Errors
    /// As [`with_output`](Self::with_output), and [`Invalid::Elements`] when its
    /// length is no multiple of an element's.
    pub fn output<T: Pod>(&self, output: OutputId) -> Result<Vec<T>> {
        self.with_output(output, |bytes| {
            let element_bytes = size_of::<T>();
            if element_bytes == 0 || bytes.len() % element_bytes != 0 {
                return Err(Invalid::Elements {
                    bytes: bytes.len() as u64,
                    element_bytes: element_bytes as u64,
                }
                .into());
            }
            let mut elements = vec![T::zeroed(); bytes.len() / element_bytes];
            bytemuck::cast_slice_mut(&mut elements).copy_from_slice(bytes);
            Ok(elements)
        })?
    }
}

impl Future for Completion {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // Cloning, replacing and dropping a waker runs foreign code: the clone
        // is made before the slot's lock and the replaced one dropped after it.
        let (result, replaced) = self.run.poll(context.waker().clone());
        drop(replaced);
        if let Some(result) = result {
            return Poll::Ready(result);
        }
        self.domain.scheduler.watch(self.key);
        self.domain.scheduler.drive();
        match self.run.result() {
            Some(result) => Poll::Ready(result),
            None => Poll::Pending,
        }
    }
}

impl Clone for Completion {
    fn clone(&self) -> Self {
        self.run.add_handle();
        Self {
            domain: self.domain.clone(),
            run: self.run.clone(),
            key: self.key,
            graph: self.graph,
        }
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        self.run.drop_handle();
    }
}

impl fmt::Debug for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completion")
            .field("label", &self.run.label)
            .field("result", &self.run.result())
            .finish_non_exhaustive()
    }
}

/// When a submission moved on, by the host's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// From being taken to being published.
    pub total: Duration,
    /// Its regions that ran, in the graph's order.
    pub regions: Vec<RegionProfile>,
}

/// When one region moved on, by the host's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegionProfile {
    /// The lane it ran on.
    pub lane: Lane,
    /// From the submission being taken to the driver accepting the region.
    pub queued: Duration,
    /// From the driver accepting it to its end being seen.
    pub on_device: Duration,
}
