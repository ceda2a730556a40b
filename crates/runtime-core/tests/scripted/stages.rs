//! Native stages among submissions.

use std::future::Future;
use std::task::{Context, Waker};
use std::time::Duration;

use runtime_core::device::scripted::ScriptedDevice;
use runtime_core::lane::DrainScope;
use runtime_core::{Busy, Error, Lane, RuntimeOptions};
use runtime_sync::block_on;

use crate::fixture::{Bench, LONG, bench, built, part};

const SHORT: Duration = Duration::from_millis(2);

fn bench_with(options: RuntimeOptions) -> Bench {
    built(ScriptedDevice::builder().queue_per_lane(), options)
}

// R12
#[test]
fn a_stage_keeps_its_place_in_the_order() {
    let bench = bench();
    let buffer = bench.buffer(64);
    let first = bench.fill("first", &part(&buffer, 0, 4), 1);
    let second = bench.fill("second", &part(&buffer, 4, 4), 1);
    bench.controls.hold(Lane::Compute);
    let one = first.run().submit().unwrap();
    let (before, during) = std::thread::scope(|scope| {
        let stage = scope.spawn(|| {
            let lease = bench.runtime.lease_timeout(DrainScope::All, LONG).unwrap();
            let order = bench.order();
            drop(lease);
            order
        });
        while bench.runtime.statistics().stages_waiting == 0 {
            std::thread::yield_now();
        }
        let two = second.run().submit().unwrap();
        let before = bench.pending(Lane::Compute);
        bench.controls.release(Lane::Compute);
        let during = stage.join().unwrap();
        two.wait_timeout(LONG).unwrap();
        (before, during)
    });
    assert_eq!(
        (before, during),
        (vec!["first".into()], vec!["first".into()])
    );
    one.wait().unwrap();
    assert_eq!(bench.order(), ["first", "second"]);
    bench.assert_no_misuse();
}

// R11
#[test]
fn uploads_pass_a_stage() {
    let bench = bench_with(RuntimeOptions::default().max_submissions(1));
    let buffer = bench.buffer(64);
    let mut graph = bench.runtime.graph();
    let input = graph.upload(&buffer.view()).unwrap();
    let prepared = graph.prepare().unwrap();
    let active = bench.runtime.lease(DrainScope::All).unwrap();
    std::thread::scope(|scope| {
        let queued = scope.spawn(|| {
            drop(bench.runtime.lease_timeout(DrainScope::All, LONG).unwrap());
        });
        let run = prepared.run().input(input, &[3; 64]).unwrap();
        block_on(async { run.submit_async().await.unwrap().await.unwrap() });
        drop(active);
        queued.join().unwrap();
    });
    assert_eq!(bench.runtime.download(&buffer.view()).unwrap(), [3; 64]);
    bench.assert_no_misuse();
}

// R13
#[test]
fn the_drain_scope_decides_about_transfers() {
    let bench = bench();
    let buffer = bench.buffer(64);
    let copy = bench.copy(
        Lane::Upload,
        "copy",
        &part(&buffer, 0, 8),
        &part(&buffer, 8, 8),
    );
    bench.controls.hold(Lane::Upload);
    let run = copy.run().submit().unwrap();
    drop(
        bench
            .runtime
            .lease_timeout(DrainScope::Compute, LONG)
            .unwrap(),
    );
    let refused = bench.runtime.lease_timeout(DrainScope::All, SHORT);
    assert!(matches!(refused, Err(Error::TimedOut { .. })));
    bench.controls.release(Lane::Upload);
    run.wait().unwrap();
    drop(bench.runtime.lease_timeout(DrainScope::All, LONG).unwrap());
    bench.assert_no_misuse();
}

// R18
#[test]
fn an_expired_lease_wait_leaves_nothing() {
    let bench = bench_with(RuntimeOptions::default().max_submissions(2));
    let buffer = bench.buffer(64);
    let first = bench.fill("first", &part(&buffer, 0, 4), 1);
    let second = bench.fill("second", &part(&buffer, 4, 4), 1);
    bench.controls.hold(Lane::Compute);
    let one = first.run().submit().unwrap();
    let expired = bench.runtime.lease_timeout(DrainScope::All, SHORT);
    assert!(matches!(expired, Err(Error::TimedOut { .. })));
    assert_eq!(bench.runtime.statistics().stages_waiting, 0);
    // The place is free again, and the younger work went to the driver.
    let two = second.run().submit().unwrap();
    assert_eq!(bench.pending(Lane::Compute), ["first", "second"]);
    bench.controls.release(Lane::Compute);
    one.wait().unwrap();
    two.wait().unwrap();
    bench.assert_no_misuse();
}

// R02, R14
#[test]
fn a_submit_never_passes_a_waiter() {
    let bench = bench_with(RuntimeOptions::default().max_submissions(1).run_slots(4));
    let buffer = bench.buffer(64);
    let fill = bench.fill("fill", &buffer.view(), 1);
    let full = || {
        matches!(
            fill.run().submit(),
            Err(Error::Busy(Busy::Capacity { limit: 1 }))
        )
    };
    bench.controls.hold(Lane::Compute);
    let held = fill.run().submit().unwrap();
    assert!(full());
    let mut waiting = Box::pin(fill.run().submit_async());
    let mut context = Context::from_waker(Waker::noop());
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    bench.controls.release(Lane::Compute);
    held.wait().unwrap();
    // The place is promised to the waiter, even if it has not come back yet.
    assert!(full());
    block_on(waiting).unwrap().wait().unwrap();
    fill.run().submit().unwrap().wait().unwrap();
    assert_eq!(bench.runtime.statistics().busy_capacity, 2);
    bench.assert_no_misuse();
}

// R02
#[test]
fn a_dropped_waiter_leaves_its_turn() {
    let bench = bench_with(RuntimeOptions::default().max_submissions(1).run_slots(4));
    let buffer = bench.buffer(64);
    let fill = bench.fill("fill", &buffer.view(), 1);
    bench.controls.hold(Lane::Compute);
    let held = fill.run().submit().unwrap();
    let mut waiting = Box::pin(fill.run().submit_async());
    let mut context = Context::from_waker(Waker::noop());
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    let expired = fill.run().submit_timeout(SHORT);
    assert!(matches!(expired, Err(Error::TimedOut { .. })));
    bench.controls.release(Lane::Compute);
    held.wait().unwrap();
    drop(waiting);
    fill.run().submit().unwrap().wait().unwrap();
    bench.assert_no_misuse();
}

// R35
#[test]
fn a_close_reports_what_is_held() {
    let bench = bench();
    let (buffer, other) = (bench.buffer(64), bench.buffer(64));
    let fill = bench.fill("fill", &buffer.view(), 1);
    let copy = bench.copy(
        Lane::Upload,
        "copy",
        &part(&other, 0, 8),
        &part(&other, 8, 8),
    );
    bench.controls.hold(Lane::Upload);
    let on_device = copy.run().submit().unwrap();
    let lease = bench
        .runtime
        .lease_timeout(DrainScope::Compute, LONG)
        .unwrap();
    let on_host = fill.run().submit().unwrap();

    let report = bench.runtime.close(SHORT);
    assert!(report.stage_running);
    assert_eq!((report.cancelled, report.unfinished), (1, 1));
    assert!(matches!(on_host.wait(), Err(Error::Cancelled)));
    assert!(!on_device.is_complete());
    drop(lease);
    bench.controls.release(Lane::Upload);
    on_device.wait().unwrap();
    assert_eq!(bench.runtime.close(LONG), report);
    bench.assert_no_misuse();
}

// N05
#[test]
fn a_wait_inside_a_stage_is_refused() {
    let bench = bench();
    let buffer = bench.buffer(64);
    let fill = bench.fill("fill", &buffer.view(), 1);
    let mut lease = bench.runtime.lease(DrainScope::All).unwrap();
    let run = fill.run().submit().unwrap();
    let entered = lease.scope().enter();
    assert!(bench.runtime.in_stage());
    assert!(matches!(run.wait(), Err(Error::Busy(Busy::Reentry))));
    assert!(matches!(
        bench.runtime.lease(DrainScope::All),
        Err(Error::Busy(Busy::Reentry))
    ));
    drop(entered);
    lease.name("a long stage");
    match run.wait_timeout(SHORT) {
        Err(Error::TimedOut { lane_held_by, .. }) => {
            assert_eq!(lane_held_by.as_deref(), Some("a long stage"));
        }
        other => panic!("{other:?}"),
    }
    drop(lease);
    run.wait().unwrap();
    bench.assert_no_misuse();
}
