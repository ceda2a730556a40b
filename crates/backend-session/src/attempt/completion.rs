//! What is owed at the end of an attempt.

use super::facts::Verdict;
use super::record::Record;
use crate::admission::Carried;
use crate::error::Error;
use crate::gate::{GpuPermit, ObservationPermit};
use runtime_sync::unmodelled::Arc;
use std::fmt;

/// The permits of an attempt and what is owed when they are given back.
///
/// It lives in the book, never in a future, since a future may never be polled
/// again. The fields are in the order in which they are let go.
pub(crate) struct QueryCompletion {
    /// Absent until an admission request consumes the claim.
    pub(crate) gpu: Option<GpuPermit>,
    /// Where the report appears.
    pub(crate) publisher: Arc<Record>,
    /// Covers the delivery of the report.
    pub(crate) observation: ObservationPermit,
    /// The caller's, dropped last.
    pub(crate) activity: Option<Box<dyn Send>>,
}

impl Carried for QueryCompletion {
    type Work = Arc<Record>;

    fn work(&self) -> Arc<Record> {
        self.publisher.clone()
    }

    fn enter_gpu(&mut self) -> Result<(), Error> {
        self.gpu = Some(self.observation.enter_gpu()?);
        Ok(())
    }

    fn decide(&mut self, verdict: &Verdict) {
        self.publisher.decide(verdict);
    }
}

impl fmt::Debug for QueryCompletion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryCompletion")
            .field("attempt", &self.publisher.id)
            .field("holds_gpu", &self.gpu.is_some())
            .field("has_activity", &self.activity.is_some())
            .finish()
    }
}
