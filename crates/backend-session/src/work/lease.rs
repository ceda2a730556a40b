//! Leases of the compute lane under a grant.

use crate::attempt::Record;
use runtime_core::Lease;
use runtime_sync::unmodelled::Arc;
use std::fmt;

/// The compute lane of a grant's device, for one stage.
///
/// While it is held the attempt's work is not over: an attempt that ends
/// meanwhile keeps its bytes until the lease is gone.
#[must_use = "dropping the lease gives the lane back"]
pub struct QueryLease {
    // In this order: the lane goes back before the attempt is told.
    lease: Lease,
    holding: Holding,
}

struct Holding(Arc<Record>);

impl QueryLease {
    /// `None`, with the lane given back, if the attempt has ended.
    pub(crate) fn new(record: &Arc<Record>, lease: Lease) -> Option<Self> {
        let is_held = record.work.enter_lease(lease.waited());
        is_held.then(|| Self {
            lease,
            holding: Holding(record.clone()),
        })
    }

    /// Runs `stage` with the lease, which counts as held until `stage` is left,
    /// by a panic too.
    ///
    /// With a native session:
    /// `lease.run(|lease| unsafe { session.run_leased(lease, stage) })`.
    pub fn run<R>(self, stage: impl FnOnce(Lease) -> R) -> R {
        let Self { lease, holding } = self;
        let _holding = holding;
        stage(lease)
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.0.work.leave_lease();
    }
}

impl fmt::Debug for QueryLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryLease")
            .field("attempt", &self.holding.0.id)
            .finish_non_exhaustive()
    }
}
