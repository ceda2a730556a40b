//! Helpers for tokio programs. Nothing else in this crate knows tokio.

use crate::admission::QueryAdmissionRequest;
use crate::attempt::AttemptCanceller;
use crate::backend::{CloseReport, GpuBackend};
use crate::error::{Error, Result};
use crate::handle::QueryHandle;
use crate::session::GpuBackendSession;
use runtime_sync::Arc;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

impl GpuBackendSession {
    /// As [`admit_async_with_request`](Self::admit_async_with_request), and
    /// cancels the attempt when `token` is cancelled before the grant. To cancel
    /// it afterwards too, hand the token to
    /// [`AttemptCanceller::cancel_on`].
    ///
    /// # Errors
    /// As there; `Cancelled`/`caller_cancelled` once the token is cancelled.
    pub async fn admit_with_token(
        &self,
        request: QueryAdmissionRequest,
        token: CancellationToken,
    ) -> Result<QueryHandle> {
        let mut admission = pin!(self.admit_async_with_request(request));
        let mut cancelled = pin!(token.cancelled());
        let mut is_open = true;
        poll_fn(|context| {
            if is_open && cancelled.as_mut().poll(context).is_ready() {
                is_open = false;
                match admission.canceller() {
                    // It may have ended otherwise just now, which the poll tells.
                    Some(canceller) => drop(canceller.cancel()),
                    None => return Poll::Ready(Err(Error::CallerCancelled)),
                }
            }
            admission.as_mut().poll(context)
        })
        .await
    }
}

impl AttemptCanceller {
    /// Cancels the attempt once `token` is cancelled. Dropping the future, or
    /// never polling it, leaves the attempt alone.
    ///
    /// # Errors
    /// `AlreadyEnded`, when the attempt ended before the token was cancelled.
    pub async fn cancel_on(self, token: CancellationToken) -> Result<()> {
        token.cancelled().await;
        self.cancel()
    }
}

impl GpuBackend {
    /// Waits for the signal that asks a server to end (interrupt, and on Unix
    /// terminate), then closes and waits as
    /// [`close_async`](Self::close_async) does.
    ///
    /// Cancel-safe: dropping the future before the signal changes nothing.
    ///
    /// # Errors
    /// As there; `SignalRefused` when the operating system does not let the
    /// process listen, and then nothing is closed.
    pub async fn close_on_signal(&self, limit: Duration) -> Result<Arc<CloseReport>> {
        asked_to_end().await.map_err(|error| Error::SignalRefused {
            cause: error.kind(),
        })?;
        self.close_async(limit).await
    }
}

#[cfg(unix)]
async fn asked_to_end() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    poll_fn(|context| {
        let either = [
            interrupt.poll_recv(context).is_ready(),
            terminate.poll_recv(context).is_ready(),
        ];
        if either.contains(&true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    Ok(())
}

#[cfg(not(unix))]
async fn asked_to_end() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
