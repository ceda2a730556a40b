//! The handle of a grant.

use crate::admission::Grant;
use crate::attempt::{Attempt, AttemptCanceller, AttemptReceiver, Record};
use crate::backend::Shared;
use crate::error::{Error, Result};
use crate::identity::AttemptId;
use crate::work::QueryLease;
use runtime_core::Runtime;
use runtime_core::lane::DrainScope;
use runtime_sync::Mutex;
use runtime_sync::unmodelled::Arc;
use std::fmt;

/// The right to run: a device, bytes, a place among the active.
///
/// Clones are the same grant. Dropping a handle releases nothing; the attempt's
/// end does. Only an attempt that its request began itself is owned by its
/// handles, and ends when the last of them is dropped.
#[derive(Clone)]
pub struct QueryHandle {
    grant: Arc<Held>,
}

struct Held {
    shared: Arc<Shared>,
    record: Arc<Record>,
    grant: Grant,
    owner: Mutex<Option<Attempt>>,
}

impl QueryHandle {
    pub(crate) fn new(
        shared: Arc<Shared>,
        record: Arc<Record>,
        grant: Grant,
        owner: Option<Attempt>,
    ) -> Self {
        Self {
            grant: Arc::new(Held {
                shared,
                record,
                grant,
                owner: Mutex::new(owner),
            }),
        }
    }

    /// The attempt that was granted.
    #[must_use]
    pub fn attempt(&self) -> AttemptId {
        self.grant.record.id
    }

    /// The device of the grant.
    #[must_use]
    pub fn device_ordinal(&self) -> u32 {
        self.grant.grant.ordinal
    }

    /// The device's generation at the grant; recovery raises it.
    #[must_use]
    pub fn device_generation(&self) -> u64 {
        self.grant.grant.generation
    }

    /// Bytes granted: exactly what was asked for.
    #[must_use]
    pub fn granted_bytes(&self) -> u64 {
        self.grant.grant.bytes
    }

    /// The request's place in the order of submission to the line.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.grant.grant.sequence
    }

    /// True once the attempt's outcome is fixed: work under this grant is to
    /// stop, since a ledger's bytes are kept until its owner leaves.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.grant.record.has_ended()
    }

    /// Fails once the attempt's outcome is fixed.
    ///
    /// # Errors
    /// `AttemptEnded`.
    pub fn check(&self) -> Result<()> {
        if self.has_ended() {
            return Err(Error::AttemptEnded {
                attempt: self.attempt(),
            });
        }
        Ok(())
    }

    /// A view of the device's runtime, charged to this grant: allocate, prepare
    /// graphs, submit. It is revoked when the attempt ends, and all that was made
    /// through it, with the runtime's error `Revoked`; work that the device has
    /// accepted goes on to its proof. A view that is kept longer keeps the runtime
    /// open, so drop it with the attempt.
    ///
    /// # Errors
    /// `AttemptEnded`; `LedgerOnly` where the device has no runtime.
    pub fn runtime(&self) -> Result<Runtime> {
        self.check()?;
        let now_ns = self.grant.shared.now_ns();
        self.grant
            .record
            .work
            .view(now_ns)
            .ok_or_else(|| match self.check() {
                Err(ended) => ended,
                // Lost and recovered, or detached by close, since the grant.
                Ok(()) if self.grant.grant.has_runtime => Error::Runtime {
                    code: "device_lost",
                    device_lost: true,
                },
                Ok(()) => Error::LedgerOnly {
                    ordinal: self.device_ordinal(),
                },
            })
    }

    /// What an error of the lent runtime means to this attempt: one that says
    /// "revoked" means that the attempt has ended.
    #[must_use]
    pub fn explain(&self, error: &runtime_core::Error) -> Error {
        if error.kind() == runtime_core::ErrorKind::Revoked {
            return Error::AttemptEnded {
                attempt: self.attempt(),
            };
        }
        Error::from(error.clone())
    }

    /// The compute lane of the device, waiting in turn, for a stage of foreign
    /// work under this grant.
    ///
    /// For any executor; dropping the future leaves the lane's line.
    ///
    /// # Errors
    /// `AttemptEnded`, also when the attempt ends during the wait; `LedgerOnly`;
    /// the runtime's own.
    pub async fn lease(&self, scope: DrainScope) -> Result<QueryLease> {
        let asked = self.runtime()?.lease_async(scope).await;
        let lease = asked.map_err(|error| self.explain(&error))?;
        QueryLease::new(&self.grant.record, lease).ok_or(Error::AttemptEnded {
            attempt: self.attempt(),
        })
    }

    /// Something that can end the attempt from anywhere.
    #[must_use]
    pub fn canceller(&self) -> AttemptCanceller {
        AttemptCanceller::new(self.grant.shared.clone(), self.grant.record.clone())
    }

    /// One more receiver of the attempt's report.
    #[must_use]
    pub fn receiver(&self) -> AttemptReceiver {
        AttemptReceiver::new(self.grant.record.clone())
    }

    /// The owner of an attempt that its request began itself, once: whoever takes
    /// it ends the attempt. Otherwise the drop of the last handle does.
    #[must_use]
    pub fn take_attempt(&self) -> Option<Attempt> {
        self.grant.owner.lock().take()
    }
}

impl fmt::Debug for QueryHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryHandle")
            .field("attempt", &self.attempt())
            .field("device_ordinal", &self.device_ordinal())
            .field("device_generation", &self.device_generation())
            .field("granted_bytes", &self.granted_bytes())
            .field("has_ended", &self.has_ended())
            .finish()
    }
}
