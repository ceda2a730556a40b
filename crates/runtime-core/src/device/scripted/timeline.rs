//! Queues with their timelines: what is accepted, ordered and may run. Pure.
//!
//! Each queue keeps a *clock*: for every queue, the value up to which earlier
//! submissions are ordered, with their memory, before the commands that follow.
//! It follows Vulkan: a barrier orders all earlier commands of its queue before
//! all later ones, in whichever submission they are; a signal covers all
//! earlier commands of its queue; a wait orders all later ones behind it.

use std::collections::VecDeque;

use runtime_sync::unmodelled::Arc;

use super::misuse::Misuse;
use super::region::RegionBody;
use crate::device::{Leading, Point, QueueIndex};

#[derive(Debug)]
pub(super) struct Pending {
    pub(super) value: u64,
    pub(super) body: Arc<RegionBody>,
    pub(super) leading: Leading,
    pub(super) waits: Vec<Point>,
    clock: Vec<u64>,
}

#[derive(Debug, Default)]
struct Queue {
    accepted: u64,
    reached: u64,
    forced: Option<u64>,
    held: bool,
    /// While held, submissions up to this value may run all the same.
    allowed: u64,
    running: bool,
    pending: VecDeque<Pending>,
    clock: Vec<u64>,
}

#[derive(Debug)]
pub(super) struct Timelines {
    queues: Vec<Queue>,
}

impl Timelines {
    pub(super) fn new(count: usize) -> Self {
        let queue = || Queue {
            clock: vec![0; count],
            ..Queue::default()
        };
        Self {
            queues: (0..count).map(|_| queue()).collect(),
        }
    }

    pub(super) fn accepted(&self, queue: QueueIndex) -> u64 {
        self.get(queue).map_or(0, |queue| queue.accepted)
    }

    /// What the device says it has reached: the truth, unless that was forced.
    pub(super) fn reached(&self, queue: QueueIndex) -> u64 {
        self.get(queue)
            .map_or(0, |queue| queue.forced.unwrap_or(queue.reached))
    }

    pub(super) fn force(&mut self, queue: QueueIndex, value: Option<u64>) {
        if let Some(queue) = self.get_mut(queue) {
            queue.forced = value;
        }
    }

    pub(super) fn hold(&mut self, queue: QueueIndex) {
        if let Some(queue) = self.get_mut(queue) {
            queue.held = true;
            queue.allowed = queue.reached + u64::from(queue.running);
        }
    }

    pub(super) fn release(&mut self, queue: QueueIndex) {
        if let Some(queue) = self.get_mut(queue) {
            queue.held = false;
        }
    }

    /// Lets the oldest submission run that is still held; false without one.
    pub(super) fn release_one(&mut self, queue: QueueIndex) -> bool {
        let Some(queue) = self.get_mut(queue) else {
            return false;
        };
        let some_held = queue.held && queue.allowed < queue.accepted;
        queue.allowed += u64::from(some_held);
        some_held
    }

    /// All submissions that are accepted and unreached, queue by queue.
    pub(super) fn unreached(&self) -> impl Iterator<Item = &Pending> {
        self.queues.iter().flat_map(|queue| &queue.pending)
    }

    pub(super) fn unreached_on(&self, queue: QueueIndex) -> impl Iterator<Item = &Pending> {
        self.get(queue).into_iter().flat_map(|queue| &queue.pending)
    }

    /// What is wrong with submitting this now.
    pub(super) fn check(
        &self,
        body: &RegionBody,
        leading: Leading,
        waits: &[Point],
    ) -> Result<(), Misuse> {
        if self.unreached().any(|pending| pending.body.id == body.id) {
            return Err(Misuse::SubmittedTwice {
                region: body.label.clone(),
            });
        }
        for wait in waits {
            let accepted = self.accepted(wait.queue);
            if wait.value > accepted {
                return Err(Misuse::WaitNotAccepted {
                    queue: wait.queue.0,
                    value: wait.value,
                    accepted,
                });
            }
        }
        self.check_order(body, &self.clock_before(body.queue, leading, waits))
    }

    fn check_order(&self, body: &RegionBody, clock: &[u64]) -> Result<(), Misuse> {
        for (place, queue) in self.queues.iter().enumerate() {
            let ordered = clock.get(place).copied().unwrap_or(0);
            let later = body.label.clone();
            for pending in queue
                .pending
                .iter()
                .filter(|pending| pending.value > ordered)
            {
                let earlier = pending.body.label.clone();
                if place == body.queue.index() {
                    if let Some(offset) = pending.body.tail.conflict(&body.head) {
                        return Err(Misuse::MissingLeadingBarrier {
                            earlier,
                            later,
                            offset,
                        });
                    }
                } else if let Some(offset) = pending.body.all.conflict(&body.all) {
                    return Err(Misuse::MissingWait {
                        earlier,
                        later,
                        offset,
                    });
                }
            }
        }
        Ok(())
    }

    /// Takes a submission onto its queue.
    pub(super) fn accept(
        &mut self,
        body: Arc<RegionBody>,
        leading: Leading,
        waits: &[Point],
    ) -> Point {
        let index = body.queue;
        let clock = self.clock_before(index, leading, waits);
        let Some(queue) = self.get_mut(index) else {
            return Point {
                queue: index,
                value: 0,
            };
        };
        queue.clock.clone_from(&clock);
        if body.has_barrier
            && let Some(own) = queue.clock.get_mut(index.index())
        {
            *own = queue.accepted;
        }
        queue.accepted += 1;
        let value = queue.accepted;
        queue.pending.push_back(Pending {
            value,
            body,
            leading,
            waits: waits.to_vec(),
            clock,
        });
        Point {
            queue: index,
            value,
        }
    }

    fn clock_before(&self, queue: QueueIndex, leading: Leading, waits: &[Point]) -> Vec<u64> {
        let Some(own) = self.get(queue) else {
            return Vec::new();
        };
        let mut clock = own.clock.clone();
        if leading == Leading::Barrier {
            raise(&mut clock, queue.index(), own.accepted);
        }
        for wait in waits {
            raise(&mut clock, wait.queue.index(), wait.value);
            let signal = self
                .unreached_on(wait.queue)
                .find(|pending| pending.value == wait.value);
            for (place, value) in signal
                .into_iter()
                .flat_map(|one| one.clock.iter().enumerate())
            {
                raise(&mut clock, place, *value);
            }
        }
        clock
    }

    /// The next submission that may run; its queue counts as running until
    /// [`finish`](Self::finish).
    pub(super) fn start_next(&mut self) -> Option<Arc<RegionBody>> {
        let place = self.queues.iter().position(|queue| {
            let may_run = |front: &Pending| {
                (!queue.held || front.value <= queue.allowed)
                    && front.waits.iter().all(|wait| {
                        self.get(wait.queue)
                            .is_some_and(|other| other.reached >= wait.value)
                    })
            };
            !queue.running && queue.pending.front().is_some_and(may_run)
        })?;
        let queue = self.queues.get_mut(place)?;
        queue.running = true;
        queue.pending.front().map(|front| front.body.clone())
    }

    /// Reaches the running submission's point and returns what was reached.
    pub(super) fn finish(&mut self, queue: QueueIndex) -> Option<Pending> {
        let queue = self.get_mut(queue)?;
        queue.running = false;
        let done = queue.pending.pop_front()?;
        queue.reached = done.value;
        Some(done)
    }

    fn get(&self, queue: QueueIndex) -> Option<&Queue> {
        self.queues.get(queue.index())
    }

    fn get_mut(&mut self, queue: QueueIndex) -> Option<&mut Queue> {
        self.queues.get_mut(queue.index())
    }
}

fn raise(clock: &mut [u64], place: usize, value: u64) {
    if let Some(entry) = clock.get_mut(place) {
        *entry = (*entry).max(value);
    }
}
