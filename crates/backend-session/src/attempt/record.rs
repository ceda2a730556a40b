//! What everybody who holds an attempt shares.

use super::facts::Verdict;
use super::slot::Slot;
use crate::admission::{Admission, Circle, SharedAdmission};
use crate::error::{EndedBy, Error, Result};
use crate::identity::AttemptId;
use crate::report::QueryAttemptReport;
use crate::work::Workload;
use runtime_sync::Mutex;
use runtime_sync::unmodelled::{Arc, AtomicBool, OnceLock, Ordering};

/// One attempt, as its owner, its handles and its completion see it.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) id: AttemptId,
    pub(crate) slot: Slot<QueryAttemptReport>,
    /// Set once, under the line lock.
    verdict: OnceLock<Verdict>,
    is_claimed: AtomicBool,
    /// What the attempt does on its device.
    pub(crate) work: Workload,
    /// The admission that partitions of the attempt share.
    circle: Mutex<Option<Arc<Circle>>>,
}

impl Record {
    pub(crate) fn new(id: AttemptId) -> Self {
        Self {
            id,
            slot: Slot::new(),
            verdict: OnceLock::new(),
            is_claimed: AtomicBool::new(false),
            work: Workload::new(),
            circle: Mutex::new(None),
        }
    }

    /// Fixes what ended the attempt; a second verdict is not taken.
    pub(crate) fn decide(&self, verdict: &Verdict) {
        let _ = self.verdict.set(verdict.clone());
    }

    /// True once the outcome is fixed.
    pub(crate) fn has_ended(&self) -> bool {
        self.verdict.get().is_some()
    }

    /// What an attempt that ended tells those who wait for its grant.
    pub(crate) fn error(&self) -> Error {
        self.verdict
            .get()
            .and_then(|verdict| verdict.error.clone())
            .unwrap_or_else(|| self.already_ended())
    }

    /// What an attempt that ended tells those who come too late to end it.
    pub(crate) fn already_ended(&self) -> Error {
        Error::AlreadyEnded {
            attempt: self.id,
            which: self
                .verdict
                .get()
                .map_or(EndedBy::Unknown, |verdict| verdict.by),
        }
    }

    /// Joins the shared admission, which the first caller makes.
    ///
    /// # Errors
    /// Those of `make`.
    pub(crate) fn share(
        &self,
        make: impl FnOnce() -> Result<Admission>,
    ) -> Result<SharedAdmission> {
        let mut circle = self.circle.lock();
        if let Some(member) = circle.as_ref().and_then(Circle::join) {
            return Ok(member);
        }
        let made = Circle::new(make()?);
        let member = made.join();
        *circle = Some(made);
        member.ok_or_else(|| self.already_ended())
    }

    /// Forgets the shared admission, whose handle holds this record in turn.
    pub(crate) fn unshare(&self) {
        let circle = self.circle.lock().take();
        drop(circle);
    }

    /// Takes the one claim; false if it is taken.
    pub(crate) fn take_claim(&self) -> bool {
        // Acquire and Release pair with each other: who gets a returned claim
        // sees what its last holder did.
        !self.is_claimed.swap(true, Ordering::AcqRel)
    }

    /// Gives an unused claim back.
    pub(crate) fn return_claim(&self) {
        self.is_claimed.store(false, Ordering::Release);
    }
}
