//! The owner of an attempt, its claim and its cancellers.

use super::facts::Verdict;
use super::receiver::AttemptReceiver;
use super::record::Record;
use crate::admission::{Admission, QueryAdmissionRequest, SharedAdmission};
use crate::backend::Shared;
use crate::error::{EndedBy, Error, Result};
use crate::identity::AttemptId;
use runtime_sync::thread;
use runtime_sync::unmodelled::Arc;
use std::fmt;

/// What begins with an attempt.
#[derive(Debug)]
#[must_use = "dropping the owner ends the attempt"]
pub struct AttemptBegin {
    /// The owner.
    pub attempt: Attempt,
    /// A future of the report.
    pub receiver: AttemptReceiver,
}

/// How an owner ends its attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// The request was answered; on a device, or without one after all.
    Succeeded,
    /// The owner's own work failed. That says nothing against the device.
    Failed {
        /// The owner's code for it, which the report carries.
        code: String,
    },
    /// The owner gave up.
    Cancelled,
}

/// The owner of one attempt. Exactly one report follows, on every path.
///
/// Dropping it ends the attempt as dropped, or as panicked while the thread
/// unwinds.
#[must_use = "dropping the owner ends the attempt"]
pub struct Attempt {
    shared: Arc<Shared>,
    record: Arc<Record>,
    is_over: bool,
}

impl Attempt {
    pub(crate) fn new(shared: Arc<Shared>, record: Arc<Record>) -> Self {
        Self {
            shared,
            record,
            is_over: false,
        }
    }

    /// The attempt's number within its backend.
    #[must_use]
    pub fn id(&self) -> AttemptId {
        self.record.id
    }

    /// True once its outcome is fixed, by whomever.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.record.has_ended()
    }

    /// Says that planning starts. An admission request says so by itself.
    ///
    /// # Errors
    /// `BackendClosing` when close has been signalled: the attempt ends here,
    /// unplanned. `AlreadyEnded` when something else ended it. Neither, and no
    /// effect, when it was planned before.
    pub fn plan(&self) -> Result<()> {
        self.shared.plan(&self.record)
    }

    /// The right to one admission request. An unused claim that is dropped can
    /// be taken again.
    ///
    /// # Errors
    /// `AlreadyClaimed`.
    pub fn claim(&self) -> Result<Claim> {
        if !self.record.take_claim() {
            return Err(Error::AlreadyClaimed {
                attempt: self.record.id,
            });
        }
        Ok(Claim {
            shared: self.shared.clone(),
            record: self.record.clone(),
            is_used: false,
        })
    }

    /// A request for `bytes` that consumes the claim.
    ///
    /// # Errors
    /// `AlreadyClaimed`.
    pub fn request(&self, bytes: u64) -> Result<QueryAdmissionRequest> {
        Ok(QueryAdmissionRequest::new(bytes).claim(self.claim()?))
    }

    /// Admits the attempt once for all of its partitions: every caller, and every
    /// clone of what a caller gets, has the same handle or the same error. The
    /// first caller's `request` counts and consumes the claim.
    ///
    /// # Errors
    /// `AlreadyClaimed` when the claim went elsewhere, or everybody who shared
    /// the admission left before it was done.
    pub fn admit_shared(&self, request: QueryAdmissionRequest) -> Result<SharedAdmission> {
        self.record.share(|| {
            let request = request.claim(self.claim()?);
            Ok(Admission::new(self.shared.clone(), request))
        })
    }

    /// Something that can end the attempt from anywhere.
    #[must_use]
    pub fn canceller(&self) -> AttemptCanceller {
        AttemptCanceller::new(self.shared.clone(), self.record.clone())
    }

    /// One more receiver of the report.
    #[must_use]
    pub fn receiver(&self) -> AttemptReceiver {
        AttemptReceiver::new(self.record.clone())
    }

    /// Ends the attempt.
    ///
    /// # Errors
    /// `AlreadyEnded` when something else ended it first; that end stands.
    pub fn finish(mut self, ending: Ending) -> Result<()> {
        let verdict = match ending {
            Ending::Succeeded => Verdict {
                by: EndedBy::Success,
                error: None,
            },
            Ending::Failed { code } => {
                Verdict::failed(EndedBy::ClientError, Error::Client { code })
            }
            Ending::Cancelled => Verdict::failed(EndedBy::Cancel, Error::CallerCancelled),
        };
        self.is_over = true;
        self.shared.finish_by_owner(&self.record, &verdict)
    }

    pub(crate) fn record(&self) -> &Arc<Record> {
        &self.record
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let verdict = if thread::panicking() {
            Verdict::failed(EndedBy::Panic, Error::AttemptPanicked)
        } else {
            Verdict::failed(EndedBy::Drop, Error::AttemptDropped)
        };
        // Something else may have ended it; the owner's leaving counts all the same.
        let _ = self.shared.finish_by_owner(&self.record, &verdict);
    }
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("id", &self.record.id)
            .field("has_ended", &self.has_ended())
            .finish()
    }
}

/// The right to one admission request of an attempt.
#[must_use = "a claim is for an admission request"]
pub struct Claim {
    shared: Arc<Shared>,
    record: Arc<Record>,
    is_used: bool,
}

impl Claim {
    /// True if the attempt belongs to the backend that `shared` is of.
    pub(crate) fn is_of(&self, shared: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.shared, shared)
    }

    /// Consumes the claim.
    pub(crate) fn consume(mut self) -> Arc<Record> {
        self.is_used = true;
        self.record.clone()
    }

    /// Something that can end the attempt from anywhere.
    #[must_use]
    pub fn canceller(&self) -> AttemptCanceller {
        AttemptCanceller::new(self.shared.clone(), self.record.clone())
    }

    /// The attempt that it is of.
    #[must_use]
    pub fn attempt(&self) -> AttemptId {
        self.record.id
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.is_used {
            self.record.return_claim();
        }
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim")
            .field("attempt", &self.record.id)
            .finish_non_exhaustive()
    }
}

/// Ends an attempt from anywhere, at every stage. Clones end the same one.
#[derive(Clone)]
pub struct AttemptCanceller {
    shared: Arc<Shared>,
    record: Arc<Record>,
}

impl AttemptCanceller {
    pub(crate) fn new(shared: Arc<Shared>, record: Arc<Record>) -> Self {
        Self { shared, record }
    }

    /// Ends the attempt as cancelled, unless something else ended it first.
    ///
    /// Before the grant everything is over when this returns. After it, the
    /// outcome is fixed when this returns, and the report follows the proof that
    /// the device work is over: on a ledger-only device, the owner's leaving.
    ///
    /// # Errors
    /// `AlreadyEnded`, with what came first.
    pub fn cancel(&self) -> Result<()> {
        let verdict = Verdict::failed(EndedBy::Cancel, Error::CallerCancelled);
        self.shared.end(&self.record, &verdict)
    }

    /// The attempt that it ends.
    #[must_use]
    pub fn attempt(&self) -> AttemptId {
        self.record.id
    }
}

impl fmt::Debug for AttemptCanceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttemptCanceller")
            .field("attempt", &self.record.id)
            .finish_non_exhaustive()
    }
}
