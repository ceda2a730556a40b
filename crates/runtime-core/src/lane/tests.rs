use super::line::{End, Line, Offer, Plan, PlannedRegion, Progress, SubmissionKey};
use super::order::Touch;
use super::turns::{DrainScope, Entrant, Turn};
use super::{Lane, stage::StageScope};
use crate::device::{DeviceFault, Leading, Point, QueueIndex};
use crate::graph::hazards::Access;

const TRANSFER: QueueIndex = QueueIndex(1);
const COMPUTE: QueueIndex = QueueIndex(0);

fn queue(lane: Lane) -> QueueIndex {
    match lane {
        Lane::Upload | Lane::Download => TRANSFER,
        Lane::Compute | Lane::Npu => COMPUTE,
    }
}

fn plan(regions: &[(Lane, u64, Access)]) -> Plan {
    Plan {
        regions: regions
            .iter()
            .map(|(lane, buffer, access)| PlannedRegion {
                lane: *lane,
                queue: queue(*lane),
                touches: vec![Touch {
                    buffer: *buffer,
                    range: 0..64,
                    access: *access,
                }],
            })
            .collect(),
    }
}

/// A line whose events are given by hand; signals are numbers.
struct Bench {
    line: Line<u32>,
    values: [u64; 2],
}

impl Bench {
    fn new(limit: u32) -> Self {
        Self {
            line: Line::new(limit, 2),
            values: [0; 2],
        }
    }

    fn submit(&mut self, plan: &Plan) -> SubmissionKey {
        assert!(self.line.try_place(), "no place");
        self.line.submit(plan, &[], false)
    }

    fn compute(&mut self, buffer: u64) -> SubmissionKey {
        self.submit(&plan(&[(Lane::Compute, buffer, Access::Write)]))
    }

    fn offer(&mut self) -> Offer {
        self.line.next_offer().expect("an offer")
    }

    fn accept(&mut self, offer: &Offer) -> Point {
        let queue = offer.facts.queue;
        self.values[queue.index()] += 1;
        let value = self.values[queue.index()];
        self.line.accepted(offer, value);
        Point { queue, value }
    }

    fn reach(&mut self, point: Point) {
        self.line
            .reached(point.queue, point.value, |_, _| {})
            .expect("a point within bounds");
    }

    fn publish(&mut self) -> (SubmissionKey, End) {
        let finished = self.line.next_finished().expect("a finished submission");
        (
            finished.key,
            self.line.publish(finished.key).expect("an end"),
        )
    }

    fn wakes(&mut self) -> Vec<u32> {
        let mut wakes = Vec::new();
        self.line.take_wakes(&mut wakes);
        wakes
    }
}

#[test]
fn a_conflict_on_one_queue_takes_a_barrier() {
    let mut bench = Bench::new(4);
    bench.compute(1);
    let first = bench.offer();
    assert_eq!(first.orders.leading, Leading::Nothing);
    bench.compute(1);
    assert_eq!(bench.line.next_offer(), None, "offered before acceptance");
    bench.accept(&first);
    let second = bench.offer();
    assert_eq!(second.orders.leading, Leading::Barrier);
    assert!(second.orders.waits.is_empty());
    bench.compute(2);
    assert_eq!(bench.offer().orders.leading, Leading::Nothing);
}

#[test]
fn a_reached_conflict_needs_nothing() {
    let mut bench = Bench::new(4);
    bench.compute(1);
    let first = bench.offer();
    let point = bench.accept(&first);
    bench.reach(point);
    bench.compute(1);
    assert_eq!(bench.offer().orders.leading, Leading::Nothing);
}

#[test]
fn regions_on_two_queues_chain_on_the_device() {
    let mut bench = Bench::new(4);
    bench.submit(&plan(&[
        (Lane::Upload, 1, Access::Write),
        (Lane::Compute, 1, Access::Write),
        (Lane::Download, 1, Access::Read),
    ]));
    let upload = bench.offer();
    let uploaded = bench.accept(&upload);
    let compute = bench.offer();
    assert_eq!(compute.orders.waits.as_slice(), [uploaded]);
    let computed = bench.accept(&compute);
    assert_eq!(bench.offer().orders.waits.as_slice(), [computed]);
}

#[test]
fn a_cancelled_writer_hands_its_order_on() {
    let mut bench = Bench::new(4);
    bench.compute(1);
    let first = bench.offer();
    let middle = bench.compute(1);
    let last = bench.compute(1);
    assert!(bench.line.cancel(middle));
    assert_eq!(bench.line.next_offer(), None, "the last passed the first");
    bench.accept(&first);
    let offer = bench.offer();
    assert_eq!(offer.facts.submission, last);
    assert_eq!(offer.orders.leading, Leading::Barrier);
    assert_eq!(bench.publish(), (middle, End::Cancelled));
}

#[test]
fn a_conflict_is_found_through_a_cancelled_writer() {
    let mut bench = Bench::new(4);
    bench.compute(1);
    let first = bench.offer();
    let middle = bench.compute(1);
    assert!(bench.line.cancel(middle));
    bench.publish();
    bench.compute(1);
    assert_eq!(bench.line.next_offer(), None, "the first was forgotten");
    bench.accept(&first);
    assert_eq!(bench.offer().orders.leading, Leading::Barrier);
}

#[test]
fn what_the_driver_has_cannot_be_cancelled() {
    let mut bench = Bench::new(4);
    let key = bench.compute(1);
    let offer = bench.offer();
    let point = bench.accept(&offer);
    assert!(!bench.line.cancel(key));
    assert_eq!(bench.line.progress(key), Progress::OnDevice(point));
    bench.reach(point);
    assert_eq!(bench.publish(), (key, End::Succeeded));
}

#[test]
fn a_refused_region_ends_its_submission_alone() {
    let mut bench = Bench::new(4);
    let refused = bench.submit(&plan(&[
        (Lane::Upload, 1, Access::Write),
        (Lane::Compute, 1, Access::Write),
    ]));
    let consumer = bench.compute(1);
    let upload = bench.offer();
    let uploaded = bench.accept(&upload);
    let compute = bench.offer();
    let fault = DeviceFault::OutOfHostMemory { call: "submit" };
    bench.line.refused(&compute, fault.clone());
    let offer = bench.offer();
    assert_eq!(offer.facts.submission, consumer);
    assert_eq!(offer.orders.waits.as_slice(), [uploaded]);
    assert_eq!(
        bench.line.next_finished(),
        None,
        "published with work pending"
    );
    bench.reach(uploaded);
    assert_eq!(bench.publish(), (refused, End::Refused(fault)));
}

#[test]
fn an_explicit_consumer_fails_with_its_producer() {
    let mut bench = Bench::new(4);
    bench.compute(9);
    let held = bench.offer();
    let producer = bench.compute(9);
    assert!(bench.line.try_place());
    let consumer_plan = plan(&[(Lane::Compute, 2, Access::Write)]);
    let consumer = bench.line.submit(&consumer_plan, &[producer], false);
    let by_hazard = bench.compute(9);
    assert!(bench.line.cancel(producer));
    bench.accept(&held);
    assert_eq!(bench.offer().facts.submission, by_hazard);
    assert_eq!(bench.publish(), (producer, End::Cancelled));
    assert_eq!(bench.publish(), (consumer, End::DependencyFailed));
}

#[test]
fn a_finished_submission_keeps_its_place() {
    let mut bench = Bench::new(1);
    bench.compute(1);
    let offer = bench.offer();
    let point = bench.accept(&offer);
    bench.reach(point);
    assert!(!bench.line.try_place(), "the place came before the result");
    bench.publish();
    assert!(bench.line.try_place());
}

#[test]
fn waiters_are_served_in_turn_and_not_passed() {
    let mut bench = Bench::new(1);
    bench.compute(1);
    let first = bench.line.wait(Entrant::Submission, 1);
    let second = bench.line.wait(Entrant::Submission, 2);
    let offer = bench.offer();
    let point = bench.accept(&offer);
    bench.reach(point);
    bench.publish();
    assert_eq!(bench.line.turn(first), Turn::Promised);
    assert_eq!(bench.line.turn(second), Turn::AwaitsPlace);
    assert!(!bench.line.try_place(), "a waiter was passed");
    assert_eq!(bench.wakes(), [1]);
    assert_eq!(bench.line.leave(first), None);
    assert_eq!(bench.line.turn(second), Turn::Promised);
    assert_eq!(bench.wakes(), [2]);
}

#[test]
fn a_stage_lies_between_older_and_younger_compute() {
    let mut bench = Bench::new(4);
    let older = bench.compute(1);
    let offer = bench.offer();
    let stage = bench.line.try_ticket(DrainScope::All, 7).expect("a ticket");
    let younger = bench.compute(2);
    assert_eq!(
        bench.line.next_offer(),
        None,
        "compute passed a waiting stage"
    );
    assert_eq!(bench.line.turn(stage), Turn::AwaitsLane);
    let point = bench.accept(&offer);
    bench.reach(point);
    assert_eq!(
        bench.line.turn(stage),
        Turn::AwaitsLane,
        "before the result"
    );
    assert_eq!(bench.publish().0, older);
    assert_eq!(bench.line.turn(stage), Turn::Active);
    assert_eq!(bench.wakes(), [7]);
    assert_eq!(
        bench.line.next_offer(),
        None,
        "compute passed a running stage"
    );
    bench.line.release(stage);
    assert_eq!(bench.offer().facts.submission, younger);
}

#[test]
fn a_compute_scope_ignores_older_transfers() {
    let mut bench = Bench::new(4);
    bench.submit(&plan(&[(Lane::Upload, 1, Access::Write)]));
    let patient = bench.line.try_ticket(DrainScope::All, 1).expect("a ticket");
    assert_eq!(bench.line.turn(patient), Turn::AwaitsLane);
    bench.line.leave(patient);
    let quick = bench
        .line
        .try_ticket(DrainScope::Compute, 2)
        .expect("a ticket");
    assert_eq!(bench.line.turn(quick), Turn::Active);
}

#[test]
fn stages_take_places_but_hold_none() {
    let mut bench = Bench::new(2);
    let active = bench.line.try_ticket(DrainScope::All, 1).expect("a ticket");
    assert_eq!(bench.line.turn(active), Turn::Active);
    let waiting = bench.line.try_ticket(DrainScope::All, 2).expect("a ticket");
    bench.compute(1);
    assert!(bench.line.try_ticket(DrainScope::All, 3).is_none());
    bench.compute(2);
    assert!(!bench.line.try_place());
    assert_eq!(bench.line.turn(waiting), Turn::AwaitsLane);
    // An expired wait gives back what it took, and younger compute goes on.
    bench.line.leave(waiting);
    bench.line.release(active);
    assert!(bench.line.next_offer().is_some());
}

#[test]
fn a_loss_ends_everything_and_names_the_uncertain() {
    let mut bench = Bench::new(4);
    let on_device = bench.compute(1);
    let offer = bench.offer();
    bench.accept(&offer);
    let on_host = bench.compute(1);
    // The second is ordered behind the first, and still with us.
    let _offer_taken = bench.line.next_offer();
    let third = bench.compute(1);
    let ticket = bench.line.try_ticket(DrainScope::All, 5).expect("a ticket");
    bench.line.lose();
    let mut ends = [bench.publish(), bench.publish(), bench.publish()];
    ends.sort_by_key(|(key, _)| *key);
    let lost = |uncertain| End::Lost { uncertain };
    assert_eq!(
        ends,
        [
            (on_device, lost(true)),
            (on_host, lost(true)),
            (third, lost(false)),
        ]
    );
    assert_eq!(bench.line.turn(ticket), Turn::Gone);
    assert_eq!(bench.wakes(), [5]);
}

#[test]
fn what_is_seen_after_a_loss_changes_nothing() {
    let mut bench = Bench::new(4);
    bench.compute(1);
    let accepted = bench.offer();
    let point = bench.accept(&accepted);
    bench.compute(2);
    let offered = bench.offer();
    bench.line.lose();
    bench.reach(point);
    bench
        .line
        .refused(&offered, DeviceFault::OutOfHostMemory { call: "submit" });
    assert_eq!(bench.publish().1, End::Lost { uncertain: true });
    assert_eq!(bench.publish().1, End::Lost { uncertain: true });
    assert_eq!(bench.line.next_finished(), None);
}

#[test]
fn a_timeline_beyond_its_acceptances_is_an_overrun() {
    let mut bench = Bench::new(4);
    bench.compute(1);
    let offer = bench.offer();
    // While the driver has it and we have not noted that, its point may show.
    assert!(bench.line.reached(COMPUTE, 1, |_, _| {}).is_ok());
    assert!(bench.line.reached(COMPUTE, 2, |_, _| {}).is_err());
    bench.line.accepted(&offer, 1);
    assert!(bench.line.next_finished().is_some(), "reached before noted");
}

#[test]
fn acceptances_noted_out_of_order_still_end() {
    let mut bench = Bench::new(4);
    bench.compute(1);
    bench.compute(2);
    let (first, second) = (bench.offer(), bench.offer());
    bench.line.accepted(&second, 2);
    bench.line.accepted(&first, 1);
    bench.reach(Point {
        queue: COMPUTE,
        value: 1,
    });
    assert_eq!(bench.publish().0, first.facts.submission);
    assert_eq!(bench.line.next_finished(), None);
}

#[test]
fn a_stage_mark_ends_with_its_guard() {
    let scope = StageScope::new(41);
    assert!(!super::stage::inside(41));
    let outer = scope.enter();
    let inner = scope.clone().enter();
    drop(outer);
    assert!(
        super::stage::inside(41),
        "an inner mark went with the outer"
    );
    assert!(!super::stage::inside(42));
    drop(inner);
    assert!(!super::stage::inside(41));
    let unwound = std::panic::catch_unwind(|| {
        let _entered = StageScope::new(41).enter();
        panic!("a stage panics");
    });
    assert!(unwound.is_err());
    assert!(!super::stage::inside(41));
}
