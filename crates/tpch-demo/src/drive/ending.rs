//! How an attempt reaches the end that is arranged for it.

use std::future::{Future, poll_fn};
use std::panic;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use backend_session::{Admission, Attempt, Ending, QueryHandle};

use super::{Refused, Stage, Work};
use crate::answers::Answer;
use crate::arrange::Arrangement;
use crate::error::DemoError;
use crate::queries::Query;

/// Too short for the capacity to come free, since the holder keeps it.
const SHORT_QUEUE_DEADLINE: Duration = Duration::from_millis(2);

/// Execution deadline of the attempts that outlive theirs.
const SHORT_EXECUTION_DEADLINE: Duration = Duration::from_millis(2);

/// How often an attempt that outlives its deadline looks whether it has ended.
const LOOK: Duration = Duration::from_millis(1);

/// After so many looks it gives up, and its report will say `dropped`.
const MOST_LOOKS: u32 = 10_000;

/// Brings an attempt to its end. An end that was not arranged is no error here:
/// the report tells it, and is compared with the arrangement.
pub(super) async fn reach<W: Work>(
    stage: &Arc<Stage<W>>,
    attempt: Attempt,
    arrangement: Arrangement,
) -> Result<Option<(Query, Answer)>, DemoError> {
    let admission = ask(stage, &attempt, arrangement)?;
    if arrangement == Arrangement::CancelledWaiting {
        cancel_in_line(&attempt, admission).await;
        return Ok(None);
    }
    // A refusal has ended the attempt.
    let Ok(handle) = admission.await else {
        return Ok(None);
    };
    match arrangement {
        Arrangement::Runs(query) | Arrangement::Abandoned(query) => {
            return Ok(run_query(&stage.work, attempt, handle, query).await);
        }
        Arrangement::Classifies => {
            let classified = stage.work.classify(&handle).await;
            drop(handle);
            finish(attempt, classified);
        }
        Arrangement::Overdraws => {
            let overdrawn = stage.work.overdraw(&handle);
            finish(attempt, overdrawn);
        }
        Arrangement::CancelledRunning => {
            let submitted = stage.work.submit(&handle, Query::Q1);
            if submitted.is_ok() {
                // Whatever ended it first, its report says.
                let _ = attempt.canceller().cancel();
            }
            finish(attempt, submitted);
        }
        Arrangement::Overruns => outlive_deadline(attempt).await,
        Arrangement::Panics => panic_with(attempt, handle).await,
        Arrangement::Dropped => drop(attempt),
        // The others were to get no grant; their reports will tell.
        _ => finish(attempt, Ok(())),
    }
    Ok(None)
}

/// Runs a query under its grant and ends the attempt.
pub(super) async fn run_query<W: Work>(
    work: &W,
    attempt: Attempt,
    handle: QueryHandle,
    query: Query,
) -> Option<(Query, Answer)> {
    let answer = work.answer(&handle, query).await;
    drop(handle);
    finish(attempt, answer.clone().map(drop));
    answer.ok().map(|answer| (query, answer))
}

fn ask<W: Work>(
    stage: &Stage<W>,
    attempt: &Attempt,
    arrangement: Arrangement,
) -> Result<Admission, DemoError> {
    let bytes = match arrangement {
        Arrangement::NeverFits => stage.grantable_bytes + 1,
        _ => stage.grant_bytes,
    };
    let request = attempt.request(bytes)?;
    let request = match arrangement {
        Arrangement::Expires => request.queue_deadline(SHORT_QUEUE_DEADLINE),
        Arrangement::Overruns => request.execution_deadline(SHORT_EXECUTION_DEADLINE),
        _ => request,
    };
    Ok(stage.session.admit_async_with_request(request))
}

/// Cancels an attempt once it is in the line, which its first poll puts it in.
async fn cancel_in_line(attempt: &Attempt, admission: Admission) {
    let mut admission = pin!(admission);
    let waits = poll_fn(|context| Poll::Ready(admission.as_mut().poll(context).is_pending())).await;
    if waits {
        // Whatever ended it first, its report says.
        let _ = attempt.canceller().cancel();
        let _ = admission.await;
    }
}

/// Stays until the deadline has ended the attempt, then leaves.
async fn outlive_deadline(attempt: Attempt) {
    for _ in 0..MOST_LOOKS {
        if attempt.has_ended() {
            break;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Unwinds a task that owns the attempt, without a word from the panic hook.
async fn panic_with(attempt: Attempt, handle: QueryHandle) {
    let task = tokio::spawn(async move {
        let _owned = (attempt, handle);
        panic::resume_unwind(Box::new("arranged"));
    });
    // That it panicked is what was arranged, and what the report will say.
    let _: Result<(), _> = task.await;
}

fn finish(attempt: Attempt, result: Result<(), Refused>) {
    let ending = match result {
        Ok(()) => Ending::Succeeded,
        Err(Refused { code }) => Ending::Failed { code },
    };
    // An attempt that something else ended first keeps that end.
    let _ = attempt.finish(ending);
}
