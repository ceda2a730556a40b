//! Drives the attempts through the session.
//!
//! First the holder takes the whole capacity, and those that are to expire or
//! to be cancelled in the line wait behind it; when all of them have ended, the
//! holder runs its query. Then the others run, as many at once as asked for.
//! The attempts that close is to find begun are handed back.
//! This module knows neither kernels nor buffers: what an attempt does with its
//! grant is [`Work`].

use std::sync::Arc;
use std::time::Duration;

use backend_session::{
    AttemptBegin, BeginAttemptRequest, CloseReport, GpuBackend, GpuBackendSession,
    QueryAttemptReport, QueryHandle,
};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::answers::Answer;
use crate::arrange::Arrangement;
use crate::error::DemoError;
use crate::queries::Query;

mod ending;
#[cfg(test)]
mod tests;

/// Longest wait for close to complete.
const CLOSE_LIMIT: Duration = Duration::from_secs(30);

/// What attempts do with their grants.
pub(crate) trait Work: Send + Sync + 'static {
    /// Runs a query to its answer.
    fn answer(
        &self,
        handle: &QueryHandle,
        query: Query,
    ) -> impl Future<Output = Result<Answer, Refused>> + Send;

    /// Gives a query to the device and waits for nothing.
    fn submit(&self, handle: &QueryHandle, query: Query) -> Result<(), Refused>;

    /// Runs one stage of the classifier.
    fn classify(&self, handle: &QueryHandle) -> impl Future<Output = Result<(), Refused>> + Send;

    /// Allocates more than the grant has; right is to be refused.
    fn overdraw(&self, handle: &QueryHandle) -> Result<(), Refused>;
}

/// Work that was refused or failed, with the code that goes into the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) code: String,
}

/// What the attempts share.
#[derive(Debug)]
pub(crate) struct Stage<W> {
    pub(crate) session: GpuBackendSession,
    pub(crate) work: W,
    /// Bytes that all grants together can have.
    pub(crate) grantable_bytes: u64,
    /// Bytes of one ordinary grant.
    pub(crate) grant_bytes: u64,
}

/// An attempt that is over.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) arrangement: Arrangement,
    /// Its report; none where the receiver was dropped.
    pub(crate) report: Option<Arc<QueryAttemptReport>>,
    pub(crate) answer: Option<(Query, Answer)>,
}

/// What driving the attempts gave.
#[derive(Debug)]
pub(crate) struct Driven {
    pub(crate) ended: Vec<Ended>,
    /// Attempts that close is to find begun.
    pub(crate) begun: Vec<AttemptBegin>,
}

/// Drives attempts 0 to `attempts`, those of the second round at most
/// `concurrency` at once.
pub(crate) async fn drive<W: Work>(
    stage: &Arc<Stage<W>>,
    attempts: u32,
    concurrency: usize,
) -> Result<Driven, DemoError> {
    let arranged = (0..attempts).map(|number| (number, Arrangement::of(number)));
    let (mut waiting, mut running, mut begun) = (Vec::new(), Vec::new(), Vec::new());
    for (number, arrangement) in arranged {
        match arrangement {
            Arrangement::Closed => begun.push(begin(&stage.session, number, arrangement)?),
            Arrangement::Holder => waiting.push((number, arrangement)),
            _ if arrangement.waits() => waiting.push((number, arrangement)),
            _ => running.push((number, arrangement)),
        }
    }
    let mut ended = first_round(stage, waiting).await?;
    ended.extend(second_round(stage, running, concurrency).await?);
    Ok(Driven { ended, begun })
}

/// The holder takes everything, the others wait behind it and end; then it runs.
async fn first_round<W: Work>(
    stage: &Arc<Stage<W>>,
    waiting: Vec<(u32, Arrangement)>,
) -> Result<Vec<Ended>, DemoError> {
    let mut ended = Vec::new();
    let mut holder = None;
    let mut tasks = JoinSet::new();
    for (number, arrangement) in waiting {
        if arrangement == Arrangement::Holder {
            let AttemptBegin { attempt, receiver } = begin(&stage.session, number, arrangement)?;
            let request = attempt.request(stage.grantable_bytes)?;
            let handle = stage.session.admit_async_with_request(request).await?;
            holder = Some((attempt, receiver, handle));
        } else {
            tasks.spawn(one(stage.clone(), number, arrangement));
        }
    }
    while let Some(one) = tasks.join_next().await {
        ended.push(one??);
    }
    if let Some((attempt, receiver, handle)) = holder {
        let arrangement = Arrangement::Holder;
        let answer = ending::run_query(&stage.work, attempt, handle, Query::Q6).await;
        ended.push(Ended {
            arrangement,
            report: Some(receiver.await),
            answer,
        });
    }
    Ok(ended)
}

/// The others, at most `concurrency` at once.
async fn second_round<W: Work>(
    stage: &Arc<Stage<W>>,
    running: Vec<(u32, Arrangement)>,
    concurrency: usize,
) -> Result<Vec<Ended>, DemoError> {
    let places = Arc::new(Semaphore::new(concurrency));
    let mut tasks = JoinSet::new();
    for (number, arrangement) in running {
        let (stage, places) = (stage.clone(), places.clone());
        tasks.spawn(async move {
            // The semaphore is never closed; without a place it would run all
            // the same, only with more company.
            let _place = places.acquire_owned().await;
            one(stage, number, arrangement).await
        });
    }
    let mut ended = Vec::new();
    while let Some(one) = tasks.join_next().await {
        ended.push(one??);
    }
    Ok(ended)
}

fn begin(
    session: &GpuBackendSession,
    number: u32,
    arrangement: Arrangement,
) -> Result<AttemptBegin, DemoError> {
    let correlation = arrangement.correlation(number);
    Ok(session.begin_attempt(BeginAttemptRequest::new().correlation(correlation))?)
}

/// One attempt from its begin to its report.
async fn one<W: Work>(
    stage: Arc<Stage<W>>,
    number: u32,
    arrangement: Arrangement,
) -> Result<Ended, DemoError> {
    let AttemptBegin { attempt, receiver } = begin(&stage.session, number, arrangement)?;
    let receiver = Some(receiver).filter(|_| !matches!(arrangement, Arrangement::Abandoned(_)));
    let answer = ending::reach(&stage, attempt, arrangement).await?;
    let report = match receiver {
        Some(receiver) => Some(receiver.await),
        None => None,
    };
    Ok(Ended {
        arrangement,
        report,
        answer,
    })
}

/// What closing gave.
#[derive(Debug)]
pub(crate) struct Closed {
    /// Every attempt, those included that close found begun.
    pub(crate) ended: Vec<Ended>,
    pub(crate) report: Arc<CloseReport>,
}

/// Signals close, lets the attempts that it found begun end unplanned, and
/// waits until close is complete.
pub(crate) async fn close(backend: &GpuBackend, driven: Driven) -> Result<Closed, DemoError> {
    let Driven { mut ended, begun } = driven;
    backend.close();
    for AttemptBegin { attempt, receiver } in begun {
        // Close came first: this ends the attempt, and its report says how.
        let _ = attempt.plan();
        drop(attempt);
        ended.push(Ended {
            arrangement: Arrangement::Closed,
            report: Some(receiver.await),
            answer: None,
        });
    }
    let report = backend.close_async(CLOSE_LIMIT).await?;
    Ok(Closed { ended, report })
}
