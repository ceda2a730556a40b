//! The line: one sequence of submissions and native stages.
//!
//! Pure: a thin shell locks it, tells it an event, takes its decisions, unlocks,
//! and only then talks to the driver or wakes anybody. What it decides:
//! - who enters ([`turns`](super::turns)): places, waiters, tickets, the stage;
//! - what may go to the driver, behind what ([`order`](super::order));
//! - when a submission is over: all its regions are reached or will never run.
//!
//! A submission that is over is *finished* first, and still holds its place and
//! keeps younger stages out. The shell lets go of what it owned and then
//! *publishes* it, which frees the place and shows the result in one step.
//!
//! What has a sequence number waits only for smaller ones; what waits for a
//! place has no number and no lane. So nothing waits in a circle.

mod facts;

use std::collections::{BTreeSet, VecDeque};

use slotmap::SlotMap;
use smallvec::SmallVec;

pub(crate) use facts::{End, Finished, Offer, Plan, PlannedRegion, Progress, SubmissionKey};

use super::Lane;
use super::order::{Order, Overrun, RegionFacts, RegionKey, RegionProgress};
use super::turns::{DrainScope, Entrant, Turn, TurnId, Turns};
use crate::device::{DeviceFault, Point, QueueIndex};

#[derive(Debug)]
struct Submission {
    sequence: u64,
    regions: SmallVec<[RegionKey; 4]>,
    /// Regions that are neither reached nor void.
    unresolved: usize,
    /// Regions that the driver has accepted, reached ones included.
    accepted: usize,
    has_compute: bool,
    /// Set once by what ends it early.
    end: Option<End>,
    /// Submissions that end with this one unless it succeeds.
    followers: SmallVec<[SubmissionKey; 1]>,
    /// Somebody other than a blocked caller wants to hear of its end.
    watched: bool,
}

#[derive(Debug)]
pub(crate) struct Line<W> {
    turns: Turns<W>,
    order: Order,
    submissions: SlotMap<SubmissionKey, Submission>,
    last_sequence: u64,
    ready: VecDeque<RegionKey>,
    /// Ordered compute regions behind a stage, by sequence and place.
    barred: BTreeSet<(u64, u16, RegionKey)>,
    finished: VecDeque<SubmissionKey>,
    watched: usize,
    wakes: Vec<W>,
}

impl<W> Line<W> {
    pub(crate) fn new(limit: u32, queues: usize) -> Self {
        Self {
            turns: Turns::new(limit),
            order: Order::new(queues),
            submissions: SlotMap::with_key(),
            last_sequence: 0,
            ready: VecDeque::new(),
            barred: BTreeSet::new(),
            finished: VecDeque::new(),
            watched: 0,
            wakes: Vec::new(),
        }
    }

    // Entering.

    pub(crate) fn try_place(&mut self) -> bool {
        self.turns.try_place()
    }

    /// Gives back a place that was taken or promised and not used.
    pub(crate) fn return_place(&mut self) {
        self.turns.return_place();
        self.settle();
    }

    /// Enters a submission; its place was taken before. It ends at once when a
    /// producer that it follows has failed already.
    pub(crate) fn submit(
        &mut self,
        plan: &Plan,
        follows: &[SubmissionKey],
        producer_failed: bool,
    ) -> SubmissionKey {
        self.last_sequence += 1;
        let sequence = self.last_sequence;
        let mut stand_behind: SmallVec<[RegionKey; 8]> = SmallVec::new();
        for producer in follows {
            if let Some(producer) = self.submissions.get(*producer) {
                stand_behind.extend(producer.regions.iter().copied());
            }
        }
        let key = self.submissions.insert(Submission {
            sequence,
            regions: SmallVec::new(),
            unresolved: plan.regions.len(),
            accepted: 0,
            has_compute: plan.has_compute(),
            end: None,
            followers: SmallVec::new(),
            watched: false,
        });
        for (place, region) in plan.regions.iter().enumerate() {
            let facts = RegionFacts {
                submission: key,
                place: u16::try_from(place).unwrap_or(u16::MAX),
                sequence,
                lane: region.lane,
                queue: region.queue,
            };
            let region = self.order.insert(facts, &region.touches, &stand_behind);
            self.submissions[key].regions.push(region);
        }
        let mut producer_failed = producer_failed;
        for producer in follows {
            if let Some(producer) = self.submissions.get_mut(*producer) {
                producer_failed |= producer.end.is_some();
                producer.followers.push(key);
            }
        }
        if plan.regions.is_empty() {
            self.finished.push_back(key);
        }
        if producer_failed {
            self.fail(key, End::DependencyFailed);
        }
        self.collect_ordered();
        key
    }

    pub(crate) fn try_ticket(&mut self, scope: DrainScope, signal: W) -> Option<TurnId> {
        let id = self
            .turns
            .try_ticket(scope, self.last_sequence + 1, signal)?;
        self.last_sequence += 1;
        self.settle();
        Some(id)
    }

    pub(crate) fn wait(&mut self, entrant: Entrant, signal: W) -> TurnId {
        let id = self.turns.wait(entrant, signal);
        self.settle();
        id
    }

    pub(crate) fn turn(&self, id: TurnId) -> Turn {
        self.turns.turn(id)
    }

    pub(crate) fn take_promise(&mut self, id: TurnId) -> bool {
        self.turns.take_promise(id)
    }

    /// Gives up a turn that is neither a submission nor active.
    pub(crate) fn leave(&mut self, id: TurnId) -> Option<W> {
        let signal = self.turns.leave(id);
        self.settle();
        signal
    }

    /// The active stage ends.
    pub(crate) fn release(&mut self, id: TurnId) {
        if self.turns.release(id) {
            self.settle();
        }
    }

    // Working.

    /// The next region for the driver.
    pub(crate) fn next_offer(&mut self) -> Option<Offer> {
        while let Some(region) = self.ready.pop_front() {
            if let Some((facts, orders)) = self.order.begin(region) {
                return Some(Offer {
                    region,
                    facts,
                    orders,
                });
            }
        }
        None
    }

    /// The driver accepted an offered region.
    pub(crate) fn accepted(&mut self, offer: &Offer, value: u64) {
        let at_once = self.order.accepted(offer.region, value);
        if let Some(submission) = self.submissions.get_mut(offer.facts.submission) {
            submission.accepted += 1;
        }
        if at_once {
            self.resolve(offer.facts.submission);
        }
        self.collect_ordered();
    }

    /// The driver refused an offered region and consumed no point.
    pub(crate) fn refused(&mut self, offer: &Offer, fault: DeviceFault) {
        if self.order.refused(offer.region) {
            self.resolve_after(offer.facts.submission, End::Refused(fault));
        }
        self.collect_ordered();
    }

    fn resolve_after(&mut self, key: SubmissionKey, end: End) {
        self.fail(key, end);
        self.resolve(key);
    }

    /// A queue's timeline was seen at `value`.
    pub(crate) fn reached(
        &mut self,
        queue: QueueIndex,
        value: u64,
        mut done: impl FnMut(SubmissionKey, u16),
    ) -> Result<(), Overrun> {
        let mut resolved: SmallVec<[SubmissionKey; 8]> = SmallVec::new();
        let outcome = self.order.reached(queue, value, |facts| {
            done(facts.submission, facts.place);
            resolved.push(facts.submission);
        });
        for submission in resolved {
            self.resolve(submission);
        }
        outcome
    }

    /// One more region of the submission is reached or void.
    fn resolve(&mut self, key: SubmissionKey) {
        // A submission that a loss has ended is over whatever is seen later.
        if let Some(submission) = self.submissions.get_mut(key)
            && submission.unresolved > 0
        {
            submission.unresolved -= 1;
            if submission.unresolved == 0 {
                self.finished.push_back(key);
            }
        }
    }

    /// Ends a submission before the driver has all of it; false when it is too
    /// late for that.
    pub(crate) fn cancel(&mut self, key: SubmissionKey) -> bool {
        let Some(submission) = self.submissions.get(key) else {
            return false;
        };
        let on_host = submission
            .regions
            .iter()
            .any(|region| self.order.point(*region) == RegionProgress::OnHost);
        if !on_host || submission.end.is_some() {
            return false;
        }
        let cancelled = self.fail(key, End::Cancelled);
        self.collect_ordered();
        cancelled
    }

    /// Voids what the driver does not have, of a submission and its followers.
    /// False when there was nothing left to void.
    fn fail(&mut self, key: SubmissionKey, end: End) -> bool {
        let mut failing = vec![(key, end)];
        let mut any = false;
        while let Some((key, end)) = failing.pop() {
            let Some(submission) = self.submissions.get_mut(key) else {
                continue;
            };
            if submission.end.is_some() {
                continue;
            }
            let regions = submission.regions.clone();
            let followers = std::mem::take(&mut submission.followers);
            let voided = regions
                .iter()
                .filter(|region| self.order.void(**region))
                .count();
            let refused = matches!(end, End::Refused(_));
            if voided > 0 || refused {
                any = true;
                self.submissions[key].end = Some(end);
                failing.extend(
                    followers
                        .into_iter()
                        .map(|follower| (follower, End::DependencyFailed)),
                );
            } else {
                self.submissions[key].followers = followers;
            }
            for _ in 0..voided {
                self.resolve(key);
            }
        }
        any
    }

    // Publishing.

    /// A submission that is over and not published yet; given once.
    pub(crate) fn next_finished(&mut self) -> Option<Finished> {
        let key = self.finished.pop_front()?;
        let end = self.submissions.get(key)?.end.as_ref();
        Some(Finished {
            key,
            uncertain: matches!(end, Some(End::Lost { uncertain: true })),
        })
    }

    /// Frees the place of a finished submission and says how it ended.
    pub(crate) fn publish(&mut self, key: SubmissionKey) -> Option<End> {
        let submission = self.submissions.remove(key)?;
        self.order.retire(&submission.regions);
        if submission.watched {
            self.watched -= 1;
        }
        self.turns.return_place();
        self.settle();
        Some(submission.end.unwrap_or(End::Succeeded))
    }

    /// The device is gone: everything unpublished is over.
    pub(crate) fn lose(&mut self) {
        self.ready.clear();
        self.barred.clear();
        let keys: Vec<SubmissionKey> = self.submissions.keys().collect();
        for key in keys {
            let submission = &mut self.submissions[key];
            if submission.unresolved == 0 {
                continue;
            }
            submission.unresolved = 0;
            let regions = submission.regions.clone();
            for region in &regions {
                self.order.void(*region);
            }
            let uncertain = regions
                .iter()
                .any(|region| self.order.point(*region) != RegionProgress::Done);
            let submission = &mut self.submissions[key];
            if uncertain || submission.end.is_none() {
                submission.end = Some(End::Lost { uncertain });
            }
            self.finished.push_back(key);
        }
        self.turns.end_all(&mut self.wakes);
    }

    /// Nobody enters any more; submissions and the active stage go on.
    pub(crate) fn close(&mut self) {
        self.turns.end_all(&mut self.wakes);
    }

    // Observing.

    pub(crate) fn progress(&self, key: SubmissionKey) -> Progress {
        let Some(submission) = self.submissions.get(key) else {
            return Progress::Over;
        };
        let mut last = Progress::Over;
        for region in &submission.regions {
            match self.order.point(*region) {
                RegionProgress::OnHost => return Progress::OnHost,
                RegionProgress::OnDevice(point) => last = Progress::OnDevice(point),
                RegionProgress::Done => {}
            }
        }
        last
    }

    /// True while the submission waits for compute work that is still on the
    /// host: its own, or what it stands behind.
    pub(crate) fn awaits_compute(&self, key: SubmissionKey) -> bool {
        self.submissions.get(key).is_some_and(|submission| {
            let mut regions = submission.regions.iter();
            regions.any(|region| self.order.awaits_compute(*region))
        })
    }

    /// Marks that a future waits for this submission.
    pub(crate) fn watch(&mut self, key: SubmissionKey) {
        if let Some(submission) = self.submissions.get_mut(key)
            && !submission.watched
        {
            submission.watched = true;
            self.watched += 1;
        }
    }

    /// True while somebody depends on a thread of ours to look at the device.
    pub(crate) fn wants_reaper(&self) -> bool {
        self.watched > 0 || self.turns.anyone_waits()
    }

    pub(crate) fn next_point(&self, queue: QueueIndex) -> Option<Point> {
        self.order.next_point(queue)
    }

    pub(crate) fn take_wakes(&mut self, into: &mut Vec<W>) {
        into.append(&mut self.wakes);
    }

    pub(crate) fn unpublished(&self) -> usize {
        self.submissions.len()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = SubmissionKey> {
        self.submissions.keys()
    }

    pub(crate) fn limit(&self) -> u32 {
        self.turns.limit()
    }

    pub(crate) fn waiting_stages(&self) -> usize {
        self.turns.waiting_stages()
    }

    pub(crate) fn has_stage(&self) -> bool {
        self.turns.has_active()
    }

    pub(crate) fn forget(&mut self, buffer: u64) {
        self.order.forget(buffer);
    }

    // Deciding.

    fn collect_ordered(&mut self) {
        while let Some((region, facts)) = self.order.next_ordered() {
            if facts.lane == Lane::Compute && self.turns.bars(facts.sequence) {
                self.barred.insert((facts.sequence, facts.place, region));
            } else {
                self.ready.push_back(region);
            }
        }
    }

    fn settle(&mut self) {
        let last_sequence = &mut self.last_sequence;
        let submissions = &self.submissions;
        self.turns.settle(
            || {
                *last_sequence += 1;
                *last_sequence
            },
            |scope, sequence| {
                !submissions.values().any(|submission| {
                    submission.sequence < sequence
                        && (scope == DrainScope::All || submission.has_compute)
                })
            },
            &mut self.wakes,
        );
        while let Some(&(sequence, place, region)) = self.barred.first() {
            if self.turns.bars(sequence) {
                break;
            }
            self.barred.remove(&(sequence, place, region));
            self.ready.push_back(region);
        }
    }
}
