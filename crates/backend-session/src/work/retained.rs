//! Bytes that buffers hold beyond the end of their grant or reservation.

use crate::admission::DeviceIndex;
use crate::backend::Shared;
use runtime_core::MemoryBudget;
use runtime_sync::Mutex;
use runtime_sync::unmodelled::Arc;
use std::fmt;

/// Follows one budget after its end, and tells the line what comes back.
pub(crate) struct Retained {
    shared: Arc<Shared>,
    device: DeviceIndex,
    /// Bytes that the line believes to be held; `None` before the end.
    believed: Mutex<Option<u64>>,
}

impl Retained {
    /// Follows `budget`, which belongs to one grant or reservation.
    pub(crate) fn follow(
        shared: Arc<Shared>,
        device: DeviceIndex,
        budget: &MemoryBudget,
    ) -> Arc<Self> {
        let retained = Arc::new(Self {
            shared,
            device,
            believed: Mutex::new(None),
        });
        let listener = retained.clone();
        budget.on_release(move |used_bytes| listener.released(used_bytes));
        retained
    }

    /// The end has come: what is still used is retained from here on.
    ///
    /// The count is read under the lock that the listener takes, so a release is
    /// either in it or told later.
    pub(crate) fn keep(&self, budget: &MemoryBudget) -> u64 {
        let mut believed = self.believed.lock();
        let used_bytes = budget.used_bytes();
        *believed = Some(used_bytes);
        used_bytes
    }

    fn released(&self, used_bytes: u64) {
        let returned = {
            let mut believed = self.believed.lock();
            match *believed {
                // Releases may be told out of order; only the least counts.
                Some(before) if used_bytes < before => {
                    *believed = Some(used_bytes);
                    before - used_bytes
                }
                _ => return,
            }
        };
        self.shared.release_retained(self.device, returned);
    }
}

impl fmt::Debug for Retained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retained").finish_non_exhaustive()
    }
}
