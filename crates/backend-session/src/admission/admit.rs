//! The future of a grant.

use super::book::{Order, Polled};
use super::ledger::DeviceSet;
use super::request::QueryAdmissionRequest;
use crate::attempt::{Attempt, AttemptCanceller, Claim, Record, Verdict};
use crate::backend::Shared;
use crate::callout;
use crate::error::{EndedBy, Error, Result};
use crate::handle::QueryHandle;
use runtime_sync::unmodelled::Arc;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A future of a grant, for any executor.
///
/// The request enters the line at the first poll. Dropping the future before
/// that has no effect; dropping it later, without having taken the handle, ends
/// the attempt as dropped. Deadlines, cancellation and close end the request
/// whether or not it is polled again.
#[must_use = "a request enters the line at the first poll"]
pub struct Admission {
    shared: Arc<Shared>,
    stage: Stage,
}

enum Stage {
    New(Box<QueryAdmissionRequest>),
    InLine(Place),
    Done,
}

/// A request's place in the line, from outside.
struct Place {
    record: Arc<Record>,
    /// The owner, of an attempt that the request began itself.
    owner: Option<Attempt>,
}

impl Admission {
    pub(crate) fn new(shared: Arc<Shared>, request: QueryAdmissionRequest) -> Self {
        Self {
            shared,
            stage: Stage::New(Box::new(request)),
        }
    }

    /// Something that can end the attempt from anywhere; `None` before the first
    /// poll of a request without a claim, and once the future is done.
    #[must_use]
    pub fn canceller(&self) -> Option<AttemptCanceller> {
        match &self.stage {
            Stage::New(request) => request.claim.as_ref().map(Claim::canceller),
            Stage::InLine(place) => Some(AttemptCanceller::new(
                self.shared.clone(),
                place.record.clone(),
            )),
            Stage::Done => None,
        }
    }

    /// The first poll: from a request to its place in the line.
    fn enter(
        shared: &Arc<Shared>,
        mut request: QueryAdmissionRequest,
        waker: Waker,
    ) -> Result<(Place, Polled)> {
        request.check()?;
        let place = match request.claim.take() {
            Some(claim) if !claim.is_of(shared) => {
                return Err(Error::ForeignAttempt {
                    attempt: claim.attempt(),
                });
            }
            Some(claim) => Place {
                record: claim.consume(),
                owner: None,
            },
            None => {
                let owner = shared.begin(request.begin.clone())?;
                // Nobody else can have its one claim yet.
                owner.record().take_claim();
                Place {
                    record: owner.record().clone(),
                    owner: Some(owner),
                }
            }
        };
        let order = Order {
            bytes: request.bytes,
            // Looked up under the line lock.
            devices: DeviceSet::default(),
            priority: request.priority,
            tenant: request.begin.tenant,
            queue_ns: shared.queue_ns(request.queue_deadline),
            execution_ns: request.execution_deadline.map(crate::clock::whole_ns),
        };
        let mut activity = request.activity;
        let polled = shared.submit(&place.record, order, &request.devices, &mut activity, waker);
        // Still here only if the attempt had ended before: it has no completion
        // any more to keep the activity in.
        callout::run(|| drop(activity));
        Ok((place, polled))
    }
}

impl Future for Admission {
    type Output = Result<QueryHandle>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let waker = context.waker().clone();
        let (place, polled) = match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::New(request) => Self::enter(&self.shared, *request, waker)?,
            Stage::InLine(place) => {
                let polled = self.shared.poll(&place.record, waker);
                (place, polled)
            }
            Stage::Done => return Poll::Pending,
        };
        match polled {
            Polled::Waiting(old) => {
                callout::run(|| drop(old));
                self.stage = Stage::InLine(place);
                Poll::Pending
            }
            Polled::Granted(grant, waker) => {
                callout::run(|| drop(waker));
                let shared = self.shared.clone();
                shared.lend(&place.record, grant);
                let handle = QueryHandle::new(shared, place.record, grant, place.owner);
                Poll::Ready(Ok(handle))
            }
            Polled::Gone(waker) => {
                callout::run(|| drop(waker));
                Poll::Ready(Err(place.record.error()))
            }
        }
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        if let Stage::InLine(place) = &self.stage {
            let verdict = Verdict::failed(EndedBy::Drop, Error::AttemptDropped);
            // It may have ended already, which then stands.
            let _ = self.shared.end(&place.record, &verdict);
        }
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match &self.stage {
            Stage::New(_) => "new",
            Stage::InLine(_) => "in line",
            Stage::Done => "done",
        };
        f.debug_struct("Admission").field("stage", &stage).finish()
    }
}
