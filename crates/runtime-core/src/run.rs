//! A run slot: what one run of a prepared graph needs, and how it ended.
//!
//! A slot is in use while its run is unpublished or a handle to that run is
//! held, since the handle may still read outputs. References that the runtime
//! itself holds do not count: a waker that drops its handle may at once start
//! the next run in the same slot.
//! Lock order: the scheduler's lock, then a slot's.

use std::task::Waker;
use std::time::{Duration, Instant};

use runtime_sync::unmodelled::Arc;
use runtime_sync::{Condvar, Mutex};
use smallvec::SmallVec;

use crate::device::DeviceRegion;
use crate::error::Result;
use crate::lane::line::Plan;
use crate::memory::Buffer;
use crate::revoke::Tenure;

/// A recorded region and what it is called.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) native: Arc<dyn DeviceRegion>,
}

#[derive(Debug)]
pub(crate) struct Run {
    // Regions go before the buffers that they name.
    pub(crate) regions: Vec<Recorded>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) label: Arc<str>,
    /// Every buffer that the regions touch, staging included.
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) tenure: Option<Arc<Tenure>>,
    pub(crate) staging: Staging,
    state: Mutex<RunState>,
    changed: Condvar,
}

/// The host's side of a run's inputs and outputs.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    pub(crate) upload: Option<Buffer>,
    pub(crate) download: Option<Buffer>,
    pub(crate) parameters: Option<Buffer>,
}

/// When a region went to the driver and when its end was seen.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RegionTimes {
    pub(crate) accepted: Option<Instant>,
    pub(crate) reached: Option<Instant>,
}

#[derive(Debug)]
struct RunState {
    pending: bool,
    /// In quarantine: never used again.
    kept: bool,
    handles: u32,
    result: Option<Result<()>>,
    /// Wakes blocked callers when a region moved on: counts acceptances.
    moves: u64,
    wakers: SmallVec<[Waker; 2]>,
    asked: Option<Instant>,
    published: Option<Instant>,
    regions: SmallVec<[RegionTimes; 4]>,
}

/// What a blocked caller last saw of a run.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) result: Option<Result<()>>,
    moves: u64,
}

impl Run {
    pub(crate) fn new(
        regions: Vec<Recorded>,
        plan: Arc<Plan>,
        label: Arc<str>,
        buffers: Vec<Buffer>,
        staging: Staging,
        tenure: Option<Arc<Tenure>>,
    ) -> Self {
        let count = regions.len();
        Self {
            regions,
            plan,
            label,
            buffers,
            tenure,
            staging,
            state: Mutex::new(RunState {
                pending: false,
                kept: false,
                handles: 0,
                result: None,
                moves: 0,
                wakers: SmallVec::new(),
                asked: None,
                published: None,
                regions: SmallVec::from_elem(RegionTimes::default(), count),
            }),
            changed: Condvar::new(),
        }
    }

    /// Claims a free slot, as a first handle; false when it is in use.
    pub(crate) fn claim(&self) -> bool {
        let mut state = self.state.lock();
        if state.pending || state.kept || state.handles > 0 {
            return false;
        }
        state.handles = 1;
        true
    }

    pub(crate) fn add_handle(&self) {
        self.state.lock().handles += 1;
    }

    pub(crate) fn drop_handle(&self) {
        let leftover = {
            let mut state = self.state.lock();
            state.handles -= 1;
            if state.handles == 0 && !state.pending {
                state.result.take()
            } else {
                None
            }
        };
        // An error may carry foreign values, whose drop is foreign code.
        drop(leftover);
    }

    /// The run was taken into the line.
    pub(crate) fn begin(&self, now: Instant) {
        let mut state = self.state.lock();
        state.pending = true;
        state.result = None;
        state.asked = Some(now);
        state.published = None;
        for region in &mut state.regions {
            *region = RegionTimes::default();
        }
    }

    /// The driver has a region; [`announce`](Self::announce) follows.
    pub(crate) fn note_accepted(&self, place: u16, now: Instant) {
        let mut state = self.state.lock();
        state.moves += 1;
        if let Some(region) = state.regions.get_mut(usize::from(place)) {
            region.accepted = Some(now);
        }
    }

    pub(crate) fn note_reached(&self, place: u16, now: Instant) {
        let mut state = self.state.lock();
        if let Some(region) = state.regions.get_mut(usize::from(place)) {
            region.reached = Some(now);
        }
    }

    /// The slot went into quarantine, and the host keeps its hands off it.
    pub(crate) fn keep(&self) {
        self.state.lock().kept = true;
    }

    /// Shows the result. The caller holds the scheduler's lock, so that the
    /// freed place becomes visible in the same step, and wakes outside of it.
    pub(crate) fn publish(&self, result: Result<()>, now: Instant, wakers: &mut Vec<Waker>) {
        let mut state = self.state.lock();
        state.pending = false;
        state.published = Some(now);
        state.result = Some(result);
        wakers.extend(state.wakers.drain(..));
    }

    /// Wakes blocked callers, outside of locks.
    pub(crate) fn announce(&self) {
        self.changed.notify_all();
    }

    pub(crate) fn result(&self) -> Option<Result<()>> {
        self.state.lock().result.clone()
    }

    pub(crate) fn look(&self) -> Seen {
        let state = self.state.lock();
        Seen {
            result: state.result.clone(),
            moves: state.moves,
        }
    }

    /// Blocks until something moved since `seen`, for at most `limit`.
    pub(crate) fn wait_move(&self, seen: &Seen, limit: Duration) {
        let state = self.state.lock();
        if state.result.is_some() || state.moves != seen.moves {
            return;
        }
        let (state, _) = self.changed.wait_timeout(state, limit);
        drop(state);
    }

    /// The result, or `waker` is kept for when there is one. The waker that it
    /// replaces comes back, to be dropped outside of any lock.
    pub(crate) fn poll(&self, waker: Waker) -> (Option<Result<()>>, Option<Waker>) {
        let mut state = self.state.lock();
        if let Some(result) = &state.result {
            return (Some(result.clone()), Some(waker));
        }
        // `will_wake` compares two pointers and runs nothing foreign.
        if let Some(known) = state
            .wakers
            .iter_mut()
            .find(|known| known.will_wake(&waker))
        {
            return (None, Some(std::mem::replace(known, waker)));
        }
        state.wakers.push(waker);
        (None, None)
    }

    pub(crate) fn times(&self) -> RunTimes {
        let state = self.state.lock();
        RunTimes {
            asked: state.asked,
            published: state.published,
            regions: state.regions.clone(),
        }
    }
}

/// When a run moved on.
#[derive(Debug, Clone)]
pub(crate) struct RunTimes {
    pub(crate) asked: Option<Instant>,
    pub(crate) published: Option<Instant>,
    pub(crate) regions: SmallVec<[RegionTimes; 4]>,
}
