//! Which threads are inside a native stage, and of which runtime.
//!
//! A stage that waits for coordinated work of its own runtime waits for itself.
//! A mark on the thread turns that hang into `Busy(Reentry)`.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;

use smallvec::SmallVec;

runtime_sync::thread_local! {
    static MARKS: RefCell<SmallVec<[u64; 2]>> = RefCell::new(SmallVec::new());
}

/// The right to mark threads as part of one stage. A stage's helper thread
/// enters it to be refused, instead of waiting for the lane that the stage holds.
#[derive(Clone)]
pub struct StageScope {
    domain: u64,
}

impl StageScope {
    pub(crate) fn new(domain: u64) -> Self {
        Self { domain }
    }

    /// Marks this thread until the guard drops, also when that is by unwinding.
    pub fn enter(&self) -> StageEntered {
        MARKS.with(|marks| marks.borrow_mut().push(self.domain));
        StageEntered {
            domain: self.domain,
            _this_thread: PhantomData,
        }
    }
}

impl fmt::Debug for StageScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StageScope").finish_non_exhaustive()
    }
}

/// This thread is inside a stage until this drops.
#[must_use = "the mark goes when this drops"]
pub struct StageEntered {
    domain: u64,
    _this_thread: PhantomData<*const ()>,
}

impl fmt::Debug for StageEntered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StageEntered").finish_non_exhaustive()
    }
}

impl Drop for StageEntered {
    fn drop(&mut self) {
        // The storage may be gone when a thread ends; then so is the mark.
        let _ = MARKS.try_with(|marks| {
            let mut marks = marks.borrow_mut();
            if let Some(place) = marks.iter().rposition(|domain| *domain == self.domain) {
                marks.remove(place);
            }
        });
    }
}

/// True while this thread is inside a stage of the domain.
pub(crate) fn inside(domain: u64) -> bool {
    MARKS
        .try_with(|marks| marks.borrow().contains(&domain))
        .unwrap_or(false)
}
