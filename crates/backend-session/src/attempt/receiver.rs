//! Waiting for a report.

use super::record::Record;
use crate::callout;
use crate::identity::AttemptId;
use crate::report::QueryAttemptReport;
use runtime_sync::Arc;
use runtime_sync::unmodelled;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A future of an attempt's report, for any executor.
///
/// Clones get the same report. A report that becomes ready while no receiver
/// exists goes to the backend's queue of abandoned reports, if it has one. The
/// future may be dropped and polled again at will; it keeps no device alive, and
/// close does not wait for it.
pub struct AttemptReceiver {
    record: unmodelled::Arc<Record>,
    key: u64,
}

impl AttemptReceiver {
    pub(crate) fn new(record: unmodelled::Arc<Record>) -> Self {
        let key = record.slot.join();
        Self { record, key }
    }

    /// The attempt that is reported.
    #[must_use]
    pub fn attempt(&self) -> AttemptId {
        self.record.id
    }

    /// The report, if it is ready.
    #[must_use]
    pub fn try_report(&self) -> Option<Arc<QueryAttemptReport>> {
        self.record.slot.read()
    }
}

impl Future for AttemptReceiver {
    type Output = Arc<QueryAttemptReport>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // Cloning and dropping a waker runs foreign code, so both happen
        // outside the slot's lock.
        let waker = context.waker().clone();
        let (report, old) = self.record.slot.wait(self.key, waker);
        callout::run(|| drop(old));
        report.map_or(Poll::Pending, Poll::Ready)
    }
}

impl Clone for AttemptReceiver {
    fn clone(&self) -> Self {
        Self::new(self.record.clone())
    }
}

impl Drop for AttemptReceiver {
    fn drop(&mut self) {
        let waker = self.record.slot.part(self.key);
        callout::run(|| drop(waker));
    }
}

impl fmt::Debug for AttemptReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttemptReceiver")
            .field("attempt", &self.record.id)
            .field("is_ready", &self.try_report().is_some())
            .finish()
    }
}
