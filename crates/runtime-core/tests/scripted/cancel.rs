//! Cancelling, and what follows a cancelled submission.

use runtime_core::lane::DrainScope;
use runtime_core::{Error, Lane};

use crate::fixture::{bench, part};

// R20
#[test]
fn an_unaccepted_submission_can_be_cancelled() {
    let bench = bench();
    let buffer = bench.buffer(64);
    let fill = bench.fill("fill", &buffer.view(), 9);
    // A stage keeps compute work on the host.
    let lease = bench.runtime.lease(DrainScope::All).unwrap();
    let run = fill.run().submit().unwrap();
    assert_eq!(bench.pending(Lane::Compute), [""; 0]);
    assert!(run.cancel());
    assert!(matches!(run.wait(), Err(Error::Cancelled)));
    drop(lease);
    assert_eq!(bench.order(), [""; 0]);
    assert_eq!(bench.runtime.statistics().cancelled, 1);
    assert!(!run.cancel());
    drop(run);
    fill.run().submit().unwrap().wait().unwrap();
    bench.assert_no_misuse();
}

// R20
#[test]
fn an_accepted_submission_ends_well() {
    let bench = bench();
    let buffer = bench.buffer(64);
    let fill = bench.fill("fill", &buffer.view(), 9);
    bench.controls.hold(Lane::Compute);
    let run = fill.run().submit().unwrap();
    assert!(!run.cancel());
    bench.controls.release(Lane::Compute);
    run.wait().unwrap();
    assert_eq!(bench.runtime.statistics().cancelled, 0);
    bench.assert_no_misuse();
}

// R21
#[test]
fn followers_end_and_neighbours_run() {
    let bench = bench();
    let (buffer, other) = (bench.buffer(64), bench.buffer(64));
    let producer = bench.fill("producer", &part(&buffer, 0, 8), 9);
    let neighbour = bench.fill("neighbour", &part(&buffer, 4, 8), 5);
    let (from, to) = (part(&other, 0, 8), part(&other, 8, 8));
    let follower = bench.copy(Lane::Upload, "follower", &from, &to);

    let lease = bench.runtime.lease(DrainScope::All).unwrap();
    let run = producer.run().submit().unwrap();
    let by_hazard = neighbour.run().submit().unwrap();
    let explicit = follower.run().submit_after(&[&run]).unwrap();
    assert!(run.cancel());
    drop(lease);
    assert!(matches!(run.wait(), Err(Error::Cancelled)));
    by_hazard.wait().unwrap();
    assert!(matches!(explicit.wait(), Err(Error::DependencyFailed)));
    assert_eq!(bench.order(), ["neighbour"]);

    // A producer that has ended already counts the same.
    let late = neighbour.run().submit_after(&[&run]).unwrap();
    assert!(matches!(late.wait(), Err(Error::DependencyFailed)));
    drop((run, explicit, late));
    producer.run().submit().unwrap().wait().unwrap();
    follower.run().submit().unwrap().wait().unwrap();
    assert_eq!(bench.runtime.download(&to).unwrap(), [0; 8]);
    let statistics = bench.runtime.statistics();
    assert_eq!((statistics.cancelled, statistics.failed), (1, 2));
    assert!(bench.runtime.quarantine().is_empty());
    bench.assert_no_misuse();
}

// R21
#[test]
fn a_follower_waits_for_its_producer() {
    let bench = bench();
    let (buffer, other) = (bench.buffer(64), bench.buffer(64));
    let producer = bench.fill("producer", &buffer.view(), 9);
    let (from, to) = (part(&other, 0, 8), part(&other, 8, 8));
    let follower = bench.copy(Lane::Upload, "follower", &from, &to);
    bench.controls.hold(Lane::Compute);
    let first = producer.run().submit().unwrap();
    let second = follower.run().submit_after(&[&first]).unwrap();
    assert!(!second.is_complete());
    assert_eq!(bench.order(), [""; 0]);
    bench.controls.release(Lane::Compute);
    second.wait().unwrap();
    assert_eq!(bench.order(), ["producer", "follower"]);
    bench.assert_no_misuse();
}
