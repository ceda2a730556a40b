//! The order of regions: which may be handed to the device, behind what.
//!
//! Pure: events in, decisions out, no lock and no clock. A region waits for the
//! earlier regions that it conflicts with to be *ordered*, which means accepted
//! by the driver; from then on the device keeps the order, by a timeline wait
//! between queues and by a leading barrier on one queue.
//!
//! Invariants:
//! - a region is offered once, after every predecessor was accepted or is gone;
//! - predecessors have smaller sequence numbers, so nothing waits in a circle;
//! - a region that will never run (a *void* one) hands its predecessors on to
//!   whoever waited for it, and stays in the hazard table until they are
//!   reached: it never touched memory, but what it stood behind still may.

use std::collections::VecDeque;
use std::ops::Range;

use slotmap::{SlotMap, new_key_type};
use smallvec::SmallVec;

use super::{Lane, line::SubmissionKey};
use crate::device::{Leading, Point, QueueIndex};
use crate::graph::hazards::{Access, HazardTable};

new_key_type! {
    /// A region of an unpublished submission.
    pub(crate) struct RegionKey;
}

/// One buffer range that a region touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) buffer: u64,
    pub(crate) range: Range<u64>,
    pub(crate) access: Access,
}

/// What is known of a region before it is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RegionFacts {
    pub(crate) submission: SubmissionKey,
    /// Its position in its graph.
    pub(crate) place: u16,
    pub(crate) sequence: u64,
    pub(crate) lane: Lane,
    pub(crate) queue: QueueIndex,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Predecessors are not ordered yet, or the region is barred or offered.
    Held,
    /// Somebody hands it to the driver now.
    Submitting,
    Accepted(u64),
    Reached,
    /// Will never run.
    Void,
}

#[derive(Debug)]
struct Region {
    facts: RegionFacts,
    state: State,
    /// Predecessors that are not ordered yet.
    unmet: u32,
    predecessors: SmallVec<[RegionKey; 4]>,
    successors: SmallVec<[RegionKey; 4]>,
}

#[derive(Debug, Default)]
struct Timeline {
    accepted: u64,
    reached: u64,
    /// Regions between the driver's acceptance and our note of it.
    submitting: u64,
    /// Accepted and unreached, by rising value.
    pending: VecDeque<(u64, RegionKey)>,
}

/// What a submit to the driver needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Orders {
    pub(crate) leading: Leading,
    pub(crate) waits: SmallVec<[Point; 4]>,
}

/// A timeline went beyond what can have been accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overrun;

#[derive(Debug)]
pub(crate) struct Order {
    regions: SlotMap<RegionKey, Region>,
    hazards: HazardTable<RegionKey>,
    timelines: Vec<Timeline>,
    /// Void regions that conflicts may still be found through.
    voids: Vec<RegionKey>,
    /// Regions whose last predecessor became ordered, not yet collected.
    ordered: VecDeque<RegionKey>,
    found: Vec<RegionKey>,
}

impl Order {
    pub(crate) fn new(queues: usize) -> Self {
        Self {
            regions: SlotMap::with_key(),
            hazards: HazardTable::new(),
            timelines: (0..queues).map(|_| Timeline::default()).collect(),
            voids: Vec::new(),
            ordered: VecDeque::new(),
            found: Vec::new(),
        }
    }

    /// Enters a region behind its conflicts and behind `follows`.
    pub(crate) fn insert<'a>(
        &mut self,
        facts: RegionFacts,
        touches: impl IntoIterator<Item = &'a Touch>,
        follows: &[RegionKey],
    ) -> RegionKey {
        let key = self.regions.insert(Region {
            facts,
            state: State::Held,
            unmet: 0,
            predecessors: SmallVec::new(),
            successors: SmallVec::new(),
        });
        let mut found = std::mem::take(&mut self.found);
        found.extend_from_slice(follows);
        for touch in touches {
            let regions = &self.regions;
            self.hazards.access(
                touch.buffer,
                touch.range.clone(),
                touch.access,
                key,
                |other| is_live(regions, other),
                &mut |other| found.push(other),
            );
        }
        for other in found.drain(..) {
            self.link(other, key);
        }
        self.found = found;
        if self.regions[key].unmet == 0 {
            self.ordered.push_back(key);
        }
        key
    }

    /// Puts `later` behind `earlier`, or behind what a void `earlier` stands for.
    fn link(&mut self, earlier: RegionKey, later: RegionKey) {
        if earlier == later || !is_live(&self.regions, earlier) {
            return;
        }
        let region = &mut self.regions[earlier];
        match region.state {
            State::Void => {
                for stood_behind in region.predecessors.clone() {
                    self.link(stood_behind, later);
                }
                return;
            }
            State::Reached => return,
            State::Accepted(_) => {}
            State::Held | State::Submitting => {
                if !region.successors.contains(&later) {
                    region.successors.push(later);
                    self.regions[later].unmet += 1;
                }
            }
        }
        let later = &mut self.regions[later];
        if !later.predecessors.contains(&earlier) {
            later.predecessors.push(earlier);
        }
    }

    /// The next region all of whose predecessors are ordered.
    pub(crate) fn next_ordered(&mut self) -> Option<(RegionKey, RegionFacts)> {
        while let Some(key) = self.ordered.pop_front() {
            if let Some(region) = self.regions.get(key)
                && region.state == State::Held
            {
                return Some((key, region.facts));
            }
        }
        None
    }

    /// Begins to hand an ordered region to the driver, unless it became void.
    pub(crate) fn begin(&mut self, key: RegionKey) -> Option<(RegionFacts, Orders)> {
        let region = self.regions.get(key)?;
        if region.state != State::Held {
            return None;
        }
        let facts = region.facts;
        let mut orders = Orders {
            leading: Leading::Nothing,
            waits: SmallVec::new(),
        };
        for earlier in &region.predecessors {
            let Some(earlier) = self.regions.get(*earlier) else {
                continue;
            };
            let State::Accepted(value) = earlier.state else {
                continue;
            };
            if earlier.facts.queue == facts.queue {
                orders.leading = Leading::Barrier;
                continue;
            }
            let queue = earlier.facts.queue;
            match orders.waits.iter_mut().find(|wait| wait.queue == queue) {
                Some(wait) => wait.value = wait.value.max(value),
                None => orders.waits.push(Point { queue, value }),
            }
        }
        self.regions[key].state = State::Submitting;
        self.timelines[facts.queue.index()].submitting += 1;
        Some((facts, orders))
    }

    /// The driver took the region; true when its point is already reached.
    pub(crate) fn accepted(&mut self, key: RegionKey, value: u64) -> bool {
        let Some(region) = self.regions.get_mut(key) else {
            return false;
        };
        let timeline = &mut self.timelines[region.facts.queue.index()];
        timeline.submitting -= 1;
        timeline.accepted = timeline.accepted.max(value);
        let at_once = value <= timeline.reached;
        if at_once {
            region.state = State::Reached;
        } else {
            region.state = State::Accepted(value);
            // Two threads may note their acceptances the other way round.
            let behind = timeline
                .pending
                .iter()
                .rev()
                .take_while(|(other, _)| *other > value)
                .count();
            let place = timeline.pending.len() - behind;
            timeline.pending.insert(place, (value, key));
        }
        let mut successors = std::mem::take(&mut region.successors);
        for later in successors.drain(..) {
            self.met(later);
        }
        at_once
    }

    fn met(&mut self, later: RegionKey) {
        let Some(region) = self.regions.get_mut(later) else {
            return;
        };
        region.unmet -= 1;
        if region.unmet == 0 && region.state == State::Held {
            self.ordered.push_back(later);
        }
    }

    /// The region will never run. False when it is too late to say so, because
    /// the driver has it or is being handed it.
    pub(crate) fn void(&mut self, key: RegionKey) -> bool {
        match self.regions.get(key).map(|region| region.state) {
            Some(State::Held) => {}
            _ => return false,
        }
        self.make_void(key);
        true
    }

    /// The driver refused the region.
    pub(crate) fn refused(&mut self, key: RegionKey) -> bool {
        let Some(region) = self.regions.get(key) else {
            return false;
        };
        self.timelines[region.facts.queue.index()].submitting -= 1;
        self.make_void(key);
        true
    }

    fn make_void(&mut self, key: RegionKey) {
        let region = &mut self.regions[key];
        region.state = State::Void;
        let successors = std::mem::take(&mut region.successors);
        let predecessors = region.predecessors.clone();
        for later in successors {
            for earlier in &predecessors {
                if self.regions.contains_key(later) {
                    self.link(*earlier, later);
                }
            }
            self.met(later);
        }
        self.voids.push(key);
    }

    /// The queue's timeline was seen at `value`; calls `done` for each region
    /// that this proves finished.
    pub(crate) fn reached(
        &mut self,
        queue: QueueIndex,
        value: u64,
        mut done: impl FnMut(RegionFacts),
    ) -> Result<(), Overrun> {
        let timeline = &mut self.timelines[queue.index()];
        if value > timeline.accepted + timeline.submitting {
            return Err(Overrun);
        }
        timeline.reached = timeline.reached.max(value);
        while let Some(&(point, key)) = timeline.pending.front() {
            if point > timeline.reached {
                break;
            }
            timeline.pending.pop_front();
            if let Some(region) = self.regions.get_mut(key) {
                region.state = State::Reached;
                done(region.facts);
            }
        }
        Ok(())
    }

    /// The first unreached point of a queue.
    pub(crate) fn next_point(&self, queue: QueueIndex) -> Option<Point> {
        let (value, _) = *self.timelines[queue.index()].pending.front()?;
        Some(Point { queue, value })
    }

    /// The point of an accepted, unreached region.
    pub(crate) fn point(&self, key: RegionKey) -> RegionProgress {
        match self.regions.get(key) {
            None => RegionProgress::Done,
            Some(region) => match region.state {
                State::Held | State::Submitting => RegionProgress::OnHost,
                State::Accepted(value) => RegionProgress::OnDevice(Point {
                    queue: region.facts.queue,
                    value,
                }),
                State::Reached | State::Void => RegionProgress::Done,
            },
        }
    }

    /// True for a region on the host that is compute work or stands behind some.
    pub(crate) fn awaits_compute(&self, key: RegionKey) -> bool {
        let Some(region) = self.regions.get(key) else {
            return false;
        };
        if !matches!(region.state, State::Held | State::Submitting) {
            return false;
        }
        region.facts.lane == Lane::Compute
            || region
                .predecessors
                .iter()
                .any(|earlier| self.awaits_compute(*earlier))
    }

    /// Removes the regions of a published submission. A void one stays while a
    /// conflict may have to be found through it.
    pub(crate) fn retire(&mut self, keys: &[RegionKey]) {
        for &key in keys {
            if self
                .regions
                .get(key)
                .is_some_and(|region| region.state != State::Void)
            {
                self.regions.remove(key);
            }
        }
        if self.voids.is_empty() {
            return;
        }
        let mut voids = std::mem::take(&mut self.voids);
        voids.retain(|&key| {
            let live = is_live(&self.regions, key);
            if !live {
                self.regions.remove(key);
            }
            live
        });
        self.voids = voids;
    }

    /// Forgets a buffer that no region will name again.
    pub(crate) fn forget(&mut self, buffer: u64) {
        self.hazards.forget(buffer);
    }
}

/// How far a region has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RegionProgress {
    /// The driver has not accepted it yet.
    OnHost,
    /// The driver has it.
    OnDevice(Point),
    /// It is finished, or never runs.
    Done,
}

/// True while a region, or what a void region stands for, may touch memory.
fn is_live(regions: &SlotMap<RegionKey, Region>, key: RegionKey) -> bool {
    let Some(region) = regions.get(key) else {
        return false;
    };
    match region.state {
        State::Held | State::Submitting | State::Accepted(_) => true,
        State::Reached => false,
        State::Void => region
            .predecessors
            .iter()
            .any(|earlier| is_live(regions, *earlier)),
    }
}
