//! The helpers for tokio programs, and tokio as an executor.

#![cfg(feature = "tokio")]

mod support;

use backend_session::{Ending, GpuBackend, Outcome, QueryAdmissionRequest};
use std::time::Duration;
use support::{LONG, eventually, stage};
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn a_token_cancels_a_waiting_request() {
    let stage = stage();
    let (_holder, ..) = stage.submit(100).granted();
    let begun = stage.begin();
    let request = begun.attempt.request(1).unwrap();
    let token = CancellationToken::new();
    let (session, child) = (stage.session.clone(), token.clone());
    let admission = tokio::spawn(async move { session.admit_with_token(request, child).await });
    while stage
        .session
        .backend_metrics_snapshot()
        .facts
        .tickets
        .queued
        == 0
    {
        tokio::task::yield_now().await;
    }
    token.cancel();
    let error = admission.await.unwrap().unwrap_err();
    assert_eq!(error.code(), "caller_cancelled");
    assert_eq!(begun.receiver.await.outcome, Outcome::Cancelled);
}

#[tokio::test]
async fn a_cancelled_token_lets_nothing_begin() {
    let stage = stage();
    let token = CancellationToken::new();
    token.cancel();
    let request = QueryAdmissionRequest::new(1);
    let error = stage.session.admit_with_token(request, token.clone()).await;
    assert_eq!(error.unwrap_err().code(), "caller_cancelled");
    assert_eq!(stage.session.attempt_counters_snapshot().attempts_begun, 0);

    let begun = stage.begin();
    let request = begun.attempt.request(1).unwrap();
    let error = stage.session.admit_with_token(request, token).await;
    assert_eq!(error.unwrap_err().code(), "caller_cancelled");
    assert_eq!(begun.receiver.await.outcome, Outcome::Cancelled);
}

#[tokio::test]
async fn a_token_cancels_a_running_attempt() {
    let stage = stage();
    let (attempt, receiver, handle) = stage.submit(1).granted();
    let token = CancellationToken::new();
    let watch = tokio::spawn(attempt.canceller().cancel_on(token.clone()));
    token.cancel();
    watch.await.unwrap().unwrap();
    assert!(handle.has_ended());
    drop(attempt);
    assert_eq!(receiver.await.outcome, Outcome::Cancelled);
}

#[tokio::test]
async fn deadlines_need_no_executor_thread() {
    let backend = GpuBackend::builder().ledger_device(0, 1).build().unwrap();
    let session = backend.session();
    let holder = session.admit_async_with_request(QueryAdmissionRequest::new(1));
    let _holder = holder.await.unwrap();
    let limit = Duration::from_millis(5);
    let request = QueryAdmissionRequest::new(1).queue_deadline(limit);
    let mut waiting = Box::pin(session.admit_async_with_request(request));
    let waker = std::task::Waker::noop();
    assert!(support::poll_with(waiting.as_mut(), waker).is_pending());
    // This one executor thread is busy until the report is there.
    eventually("the deadline fires", || {
        session.attempt_counters_snapshot().reports_ready == 1
    });
    assert_eq!(waiting.await.unwrap_err().code(), "queue_wait_elapsed");
}

#[tokio::test]
async fn close_is_awaited_beside_other_work() {
    let stage = stage();
    let (attempt, ..) = stage.submit(1).granted();
    let backend = stage.backend.clone();
    let closing = tokio::spawn(async move { backend.close_async(LONG).await });
    tokio::task::yield_now().await;
    attempt.finish(Ending::Succeeded).unwrap();
    assert!(closing.await.unwrap().unwrap().is_clean());
}

#[cfg(unix)]
#[tokio::test]
async fn a_signal_closes_the_backend() {
    let stage = stage();
    let backend = stage.backend.clone();
    let closing = tokio::spawn(async move { backend.close_on_signal(LONG).await });
    // The listener has to be there before the signal, which ends the process
    // otherwise: its first poll installs it.
    tokio::task::yield_now().await;
    assert!(!stage.session.is_closing());
    let pid = std::process::id().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-TERM", &pid])
        .status();
    assert!(sent.unwrap().success());
    assert!(closing.await.unwrap().unwrap().is_clean());
}
