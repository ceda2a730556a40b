//! One admission for many partitions.
//!
//! The partitions' futures stand around one [`Admission`]. Whoever is polled
//! takes it out of the lock, polls it, and puts it back, since a poll may run
//! foreign code. A wake-up that comes meanwhile is remembered (`is_rung`), so the
//! poller polls once more before it leaves; otherwise that wake-up would find
//! nobody holding the admission and be lost.

use super::admit::Admission;
use crate::callout;
use crate::error::Result;
use crate::handle::QueryHandle;
use runtime_sync::Mutex;
use runtime_sync::unmodelled::Arc;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Wake, Waker};

/// A future of one grant that many tasks share, for any executor.
///
/// Every clone gets the same handle or the same error. Dropping the last one
/// before the grant ends the attempt as dropped.
#[must_use = "a request enters the line at the first poll"]
pub struct SharedAdmission {
    circle: Arc<Circle>,
    key: u64,
}

/// Everybody who waits for one admission.
pub(crate) struct Circle {
    state: Mutex<State>,
}

struct State {
    stage: Stage,
    is_rung: bool,
    members: u64,
    next_key: u64,
    wakers: BTreeMap<u64, Waker>,
}

enum Stage {
    /// Nobody polls it.
    Resting(Admission),
    /// Somebody polls it right now.
    Polled,
    Done(Result<QueryHandle>),
    /// Everybody left.
    Left,
}

impl Circle {
    /// A circle around `admission`, without members yet.
    pub(crate) fn new(admission: Admission) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                stage: Stage::Resting(admission),
                is_rung: false,
                members: 0,
                next_key: 0,
                wakers: BTreeMap::new(),
            }),
        })
    }

    /// One member more; `None` when everybody had left.
    pub(crate) fn join(self: &Arc<Self>) -> Option<SharedAdmission> {
        let mut state = self.state.lock();
        if matches!(state.stage, Stage::Left) {
            return None;
        }
        state.members += 1;
        state.next_key += 1;
        Some(SharedAdmission {
            circle: self.clone(),
            key: state.next_key,
        })
    }

    /// Registers `waker`, and takes the admission if it rests. An older waker
    /// comes back, to be dropped without the lock.
    fn approach(&self, key: u64, waker: Waker) -> (Approach, Option<Waker>) {
        let mut state = self.state.lock();
        match std::mem::replace(&mut state.stage, Stage::Polled) {
            Stage::Resting(admission) => {
                state.is_rung = false;
                let old = state.wakers.insert(key, waker);
                (Approach::Mine(admission), old)
            }
            Stage::Polled => (Approach::Taken, state.wakers.insert(key, waker)),
            Stage::Done(result) => {
                state.stage = Stage::Done(result.clone());
                (Approach::Done(result), Some(waker))
            }
            Stage::Left => {
                state.stage = Stage::Left;
                (Approach::Taken, Some(waker))
            }
        }
    }

    /// Polls `admission` until it rests without a wake-up in between, or is done.
    fn poll(self: &Arc<Self>, mut admission: Admission) -> Option<Result<QueryHandle>> {
        let waker = Waker::from(self.clone());
        loop {
            let polled = Pin::new(&mut admission).poll(&mut Context::from_waker(&waker));
            let mut state = self.state.lock();
            if let Poll::Ready(result) = polled {
                state.stage = Stage::Done(result.clone());
                let wakers = std::mem::take(&mut state.wakers);
                drop(state);
                callout::wake_all(wakers.into_values());
                return Some(result);
            }
            if state.members == 0 {
                state.stage = Stage::Left;
                // The last member left while it was polled; it is dropped unlocked.
                drop(state);
                return None;
            }
            if !std::mem::take(&mut state.is_rung) {
                state.stage = Stage::Resting(admission);
                return None;
            }
        }
    }
}

enum Approach {
    Mine(Admission),
    Taken,
    Done(Result<QueryHandle>),
}

impl Wake for Circle {
    fn wake(self: Arc<Self>) {
        let wakers: Vec<_> = {
            let mut state = self.state.lock();
            state.is_rung = true;
            std::mem::take(&mut state.wakers).into_values().collect()
        };
        callout::wake_all(wakers);
    }
}

impl Future for SharedAdmission {
    type Output = Result<QueryHandle>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (approach, old) = self.circle.approach(self.key, context.waker().clone());
        callout::run(|| drop(old));
        match approach {
            Approach::Mine(admission) => self
                .circle
                .poll(admission)
                .map_or(Poll::Pending, Poll::Ready),
            Approach::Taken => Poll::Pending,
            Approach::Done(result) => Poll::Ready(result),
        }
    }
}

impl Clone for SharedAdmission {
    fn clone(&self) -> Self {
        let mut state = self.circle.state.lock();
        state.members += 1;
        state.next_key += 1;
        Self {
            circle: self.circle.clone(),
            key: state.next_key,
        }
    }
}

impl Drop for SharedAdmission {
    fn drop(&mut self) {
        let (waker, stage) = {
            let mut state = self.circle.state.lock();
            state.members -= 1;
            let waker = state.wakers.remove(&self.key);
            // What is done is kept for partitions that come later.
            let ends = state.members == 0 && matches!(state.stage, Stage::Resting(_));
            let stage = ends.then(|| std::mem::replace(&mut state.stage, Stage::Left));
            (waker, stage)
        };
        callout::run(|| drop(waker));
        // Ends the attempt, which still waits.
        drop(stage);
    }
}

impl fmt::Debug for SharedAdmission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedAdmission").finish_non_exhaustive()
    }
}

impl fmt::Debug for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Circle").finish_non_exhaustive()
    }
}
