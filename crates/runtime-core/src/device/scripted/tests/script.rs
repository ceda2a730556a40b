use std::time::Duration;

use runtime_sync::thread;

use super::fixture::{bench, built, fill};
use crate::device::scripted::{Call, ScriptedDevice};
use crate::device::{Device, DeviceFault, Leading, MemoryPlacement, Point, Waited};
use crate::lane::Lane;

const LONG: Duration = Duration::from_secs(60);

fn driver(code: i32) -> DeviceFault {
    DeviceFault::Driver { call: "test", code }
}

#[test]
fn the_nth_call_fails_and_no_other() {
    let bench = bench();
    bench.controls.fail(Call::Allocate, 2, driver(1));
    bench.controls.fail(Call::Allocate, 3, driver(2));
    bench.controls.fail(Call::Record, 1, driver(3));
    let answers = [(); 4].map(|()| bench.try_buffer(4, MemoryPlacement::Device).map(|_| ()));
    assert_eq!(answers, [Ok(()), Err(driver(1)), Err(driver(2)), Ok(())]);
    assert_eq!(
        bench.record(Lane::Compute, "fails", vec![]).map(|_| ()),
        Err(driver(3))
    );
}

#[test]
fn a_failed_submit_consumes_no_value() {
    let bench = bench();
    let buffer = bench.buffer(4, MemoryPlacement::Device);
    let region = bench
        .record(Lane::Compute, "once", vec![fill(&buffer, 0, 4, 1)])
        .unwrap();
    bench.controls.fail(Call::Submit, 1, driver(1));
    assert_eq!(bench.submit(&region, Leading::Nothing, &[]), Err(driver(1)));
    assert_eq!(bench.controls.accepted(Lane::Compute), 0);
    assert_eq!(
        bench.submit(&region, Leading::Nothing, &[]).unwrap().value,
        1
    );
}

#[test]
fn a_lost_submit_counts_as_submitted() {
    let bench = bench();
    let buffer = bench.buffer(4, MemoryPlacement::Device);
    let region = bench
        .record(Lane::Compute, "lost", vec![fill(&buffer, 0, 4, 1)])
        .unwrap();
    let lost = DeviceFault::Lost { call: "test" };
    bench.controls.fail(Call::Submit, 1, lost.clone());
    assert_eq!(bench.submit(&region, Leading::Nothing, &[]), Err(lost));
    assert_eq!(bench.controls.accepted(Lane::Compute), 1);
    assert_eq!(bench.controls.pending(Lane::Compute).len(), 1);
    assert_eq!(
        bench.try_buffer(4, MemoryPlacement::Device).map(|_| ()),
        Err(DeviceFault::Lost { call: "allocate" })
    );
    drop(region);
    assert_eq!(bench.controls.misuses().len(), 1);
}

#[test]
fn a_loss_ends_waits() {
    let bench = bench();
    let buffer = bench.buffer(4, MemoryPlacement::Device);
    bench.controls.hold(Lane::Compute);
    let (_region, point) = bench.run(Lane::Compute, "held", fill(&buffer, 0, 4, 1));
    let controls = bench.controls.clone();
    let loser = thread::spawn_named("loser", move || controls.lose()).unwrap();
    assert_eq!(
        bench.device.wait(point, LONG),
        Err(DeviceFault::Lost { call: "wait" })
    );
    loser.join().unwrap();
    bench.controls.release(Lane::Compute);
    assert_eq!(bench.controls.log(), []);
}

#[test]
fn a_counter_says_what_it_must() {
    let bench = bench();
    bench.controls.force_counter(Lane::Compute, Some(u64::MAX));
    let queue = bench.device.info().lanes.queue(Lane::Compute);
    assert_eq!(bench.device.reached(queue), Ok(u64::MAX));
    bench.controls.force_counter(Lane::Compute, None);
    assert_eq!(bench.device.reached(queue), Ok(0));
    let start = Point { queue, value: 0 };
    assert_eq!(
        bench.device.wait(start, Duration::ZERO),
        Ok(Waited::Reached)
    );
}

#[test]
fn a_release_elsewhere_ends_a_wait() {
    let bench = bench();
    let buffer = bench.buffer(4, MemoryPlacement::Device);
    bench.controls.hold(Lane::Compute);
    let controls = bench.controls.clone();
    let releaser = thread::spawn_named("releaser", move || {
        assert!(controls.wait_accepted(Lane::Compute, 1, LONG));
        assert!(!controls.wait_accepted(Lane::Compute, 2, Duration::ZERO));
        controls.release(Lane::Compute);
    })
    .unwrap();
    let (_region, point) = bench.run(Lane::Compute, "held", fill(&buffer, 0, 4, 1));
    assert_eq!(bench.device.wait(point, LONG), Ok(Waited::Reached));
    releaser.join().unwrap();
}

#[test]
fn an_own_thread_runs_and_ends() {
    let bench = built(ScriptedDevice::builder().own_thread());
    let buffer = bench.buffer(4, MemoryPlacement::Device);
    let (region, point) = bench.run(Lane::Compute, "there", fill(&buffer, 0, 4, 1));
    assert_eq!(bench.device.wait(point, LONG), Ok(Waited::Reached));
    bench.controls.hold(Lane::Compute);
    let next = bench.submit(&region, Leading::Nothing, &[]).unwrap();
    assert_eq!(bench.device.wait(next, Duration::ZERO), Ok(Waited::Elapsed));
    bench.controls.release(Lane::Compute);
    let controls = bench.controls.clone();
    drop(bench);
    assert_eq!(controls.log().len(), 2);
}

#[test]
fn the_log_keeps_the_newest() {
    let bench = built(ScriptedDevice::builder().log_capacity(2));
    let buffer = bench.buffer(4, MemoryPlacement::Device);
    let region = bench
        .record(Lane::Compute, "again", vec![fill(&buffer, 0, 4, 1)])
        .unwrap();
    for _ in 0..3 {
        bench.submit(&region, Leading::Nothing, &[]).unwrap();
    }
    let values: Vec<u64> = bench
        .controls
        .log()
        .iter()
        .map(|entry| entry.value)
        .collect();
    assert_eq!(values, [2, 3]);
}
