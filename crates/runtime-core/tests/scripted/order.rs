//! Which submissions wait for which, and how.

use runtime_core::Lane;
use runtime_core::device::Leading;

use crate::fixture::{LONG, bench, one_queue, part};

// R03
#[test]
fn independent_lanes_all_start() {
    let bench = bench();
    let pairs = [(); 3].map(|()| (bench.buffer(64), bench.buffer(64)));
    let lanes = [Lane::Upload, Lane::Compute, Lane::Download];
    let graphs = pairs
        .iter()
        .zip(lanes)
        .map(|((from, to), lane)| bench.copy(lane, lane.name(), &from.view(), &to.view()))
        .collect::<Vec<_>>();
    bench.controls.hold_all();
    let runs: Vec<_> = graphs
        .iter()
        .map(|graph| graph.run().submit().unwrap())
        .collect();
    for lane in lanes {
        assert_eq!(bench.pending(lane), [lane.name()]);
    }
    bench.controls.release_all();
    runs.iter().for_each(|run| run.wait().unwrap());
    for lane in lanes {
        assert!(bench.ran_unordered(lane.name()));
    }
    bench.assert_no_misuse();
}

// R04
#[test]
fn one_shared_byte_orders_across_lanes() {
    let bench = bench();
    let (shared, other) = (bench.buffer(64), bench.buffer(64));
    let first = bench.fill("first", &part(&shared, 0, 32), 1);
    let apart = bench.copy(
        Lane::Upload,
        "apart",
        &part(&other, 0, 32),
        &part(&shared, 32, 32),
    );
    let (byte, sink) = (part(&shared, 31, 1), part(&other, 63, 1));
    let touching = bench.copy(Lane::Download, "touching", &byte, &sink);
    bench.controls.hold(Lane::Compute);
    let runs = [&first, &apart, &touching].map(|graph| graph.run().submit().unwrap());
    runs[1].wait().unwrap();
    assert!(!runs[2].is_complete());
    assert_eq!(bench.order(), ["apart"]);
    bench.controls.release(Lane::Compute);
    runs.iter().for_each(|run| run.wait().unwrap());
    assert_eq!(bench.order(), ["apart", "first", "touching"]);
    let first = bench.executed("first");
    let waits = bench.executed("touching").waits;
    assert_eq!(waits.len(), 1);
    assert_eq!((waits[0].queue, waits[0].value), (first.queue, first.value));
    assert!(bench.ran_unordered("apart"));
    bench.assert_no_misuse();
}

// R07
#[test]
fn a_writer_waits_for_both_readers() {
    let bench = bench();
    let (shared, sink) = (bench.buffer(64), bench.buffer(128));
    let up = bench.copy(Lane::Upload, "up", &shared.view(), &part(&sink, 0, 64));
    let down = bench.copy(Lane::Download, "down", &shared.view(), &part(&sink, 64, 64));
    let writer = bench.fill("writer", &part(&shared, 0, 4), 1);
    bench.controls.hold(Lane::Upload);
    bench.controls.hold(Lane::Download);
    let runs = [&up, &down, &writer].map(|graph| graph.run().submit().unwrap());
    assert!(!runs[2].is_complete());
    bench.controls.release(Lane::Download);
    assert!(!runs[2].is_complete());
    assert_eq!(bench.order(), ["down"]);
    bench.controls.release(Lane::Upload);
    runs.iter().for_each(|run| run.wait().unwrap());
    assert_eq!(bench.order(), ["down", "up", "writer"]);
    assert!(bench.ran_unordered("up") && bench.ran_unordered("down"));
    bench.assert_no_misuse();
}

// R42
#[test]
fn a_barrier_stands_only_between_conflicts() {
    let bench = one_queue();
    let [a, b, c] = [(); 3].map(|()| bench.buffer(64));
    let graphs = [
        bench.fill("writes a", &a.view(), 1),
        bench.fill("writes b", &b.view(), 1),
        bench.copy(Lane::Upload, "reads a", &part(&a, 60, 4), &part(&c, 0, 4)),
    ];
    bench.controls.hold_all();
    let runs: Vec<_> = graphs
        .iter()
        .map(|graph| graph.run().submit().unwrap())
        .collect();
    bench.controls.release_all();
    runs.iter().for_each(|run| run.wait().unwrap());
    let leading = ["writes a", "writes b", "reads a"].map(|label| bench.executed(label).leading);
    assert_eq!(
        leading,
        [Leading::Nothing, Leading::Nothing, Leading::Barrier]
    );
    bench.assert_no_misuse();
}

// R42
#[test]
fn a_reached_conflict_needs_no_barrier() {
    let bench = one_queue();
    let buffer = bench.buffer(64);
    let fill = bench.fill("fill", &buffer.view(), 1);
    for _ in 0..3 {
        fill.run().submit().unwrap().wait().unwrap();
    }
    let log = bench.controls.log();
    let fills: Vec<_> = log.iter().filter(|entry| &*entry.label == "fill").collect();
    assert_eq!(fills.len(), 3);
    assert!(fills.iter().all(|entry| entry.leading == Leading::Nothing));
    bench.assert_no_misuse();
}

// R09
#[test]
fn dependent_regions_chain_on_the_device() {
    let bench = bench();
    let (a, b) = (bench.buffer(64), bench.buffer(64));
    let graphs = [
        bench.copy(Lane::Upload, "1", &a.view(), &b.view()),
        bench.copy(Lane::Compute, "2", &b.view(), &a.view()),
        bench.copy(Lane::Download, "3", &a.view(), &b.view()),
        bench.copy(Lane::Upload, "4", &b.view(), &a.view()),
    ];
    bench.controls.hold_all();
    let runs: Vec<_> = graphs
        .iter()
        .map(|graph| graph.run().submit().unwrap())
        .collect();
    // The driver has all of them before the first has run.
    assert_eq!(bench.pending(Lane::Upload), ["1", "4"]);
    assert_eq!(bench.pending(Lane::Compute), ["2"]);
    assert_eq!(bench.pending(Lane::Download), ["3"]);
    bench.controls.release_all();
    runs[3].wait().unwrap();
    assert_eq!(bench.order(), ["1", "2", "3", "4"]);
    bench.assert_no_misuse();
}

// D08
#[test]
fn a_held_queue_does_not_block_others() {
    let bench = bench();
    let [a, b] = [(); 2].map(|()| bench.buffer(64));
    let held = bench.fill("held", &a.view(), 1);
    let free = bench.copy(Lane::Upload, "free", &part(&b, 0, 8), &part(&b, 8, 8));
    bench.controls.hold(Lane::Compute);
    let held = held.run().submit().unwrap();
    free.run().submit().unwrap().wait_timeout(LONG).unwrap();
    assert!(!held.is_complete());
    bench.controls.release(Lane::Compute);
    held.wait().unwrap();
    bench.assert_no_misuse();
}

// D08
#[test]
fn one_queue_takes_a_younger_independent() {
    let bench = one_queue();
    let [a, b] = [(); 2].map(|()| bench.buffer(64));
    let older = bench.fill("older", &a.view(), 1);
    let younger = bench.copy(Lane::Upload, "younger", &part(&b, 0, 8), &part(&b, 8, 8));
    bench.controls.hold_all();
    let runs = [&older, &younger].map(|graph| graph.run().submit().unwrap());
    assert_eq!(bench.pending(Lane::Compute), ["older"]);
    assert_eq!(bench.pending(Lane::Upload), ["younger"]);
    bench.controls.release_all();
    runs.iter().for_each(|run| run.wait().unwrap());
    assert!(bench.ran_unordered("younger"));
    bench.assert_no_misuse();
}

// R19
#[test]
fn an_expired_wait_changes_nothing() {
    let bench = bench();
    let buffer = bench.buffer(64);
    let fill = bench.fill("fill", &buffer.view(), 9);
    bench.controls.hold(Lane::Compute);
    let run = fill.run().submit().unwrap();
    let expired = run
        .wait_timeout(std::time::Duration::from_millis(2))
        .unwrap_err();
    assert_eq!(expired.code(), "timed_out");
    assert!(!run.is_complete() && bench.runtime.quarantine().is_empty());
    bench.controls.release(Lane::Compute);
    run.wait().unwrap();
    let bytes = bench.runtime.download(&buffer.view()).unwrap();
    assert_eq!(bytes, [9, 0, 0, 0].repeat(16));
    assert_eq!(bench.runtime.statistics().uncertain, 0);
    bench.assert_no_misuse();
}
