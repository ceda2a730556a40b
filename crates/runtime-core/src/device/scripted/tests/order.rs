use std::time::Duration;

use super::fixture::{Bench, Buffer, bench, built, copy, fill, span};
use crate::device::scripted::{Misuse, ScriptedDevice};
use crate::device::{Command, Device, DeviceFault, Leading, MemoryPlacement, Point, Waited};
use crate::lane::Lane;

fn device_buffer(bench: &Bench) -> Buffer {
    bench.buffer(256, MemoryPlacement::Device)
}

fn labels(bench: &Bench) -> Vec<String> {
    let log = bench.controls.log();
    log.iter().map(|entry| entry.label.to_string()).collect()
}

#[test]
fn a_held_queue_runs_in_order() {
    let bench = bench();
    let buffer = device_buffer(&bench);
    bench.controls.hold(Lane::Compute);
    let first = bench.run(Lane::Compute, "first", fill(&buffer, 0, 4, 1));
    let second = bench.run(Lane::Compute, "second", fill(&buffer, 4, 4, 1));
    let other = device_buffer(&bench);
    let _upload = bench.run(Lane::Upload, "upload", fill(&other, 0, 4, 1));
    assert_eq!(labels(&bench), ["upload"]);
    assert_eq!(bench.controls.pending(Lane::Compute).len(), 2);
    assert_eq!(
        bench.device.wait(first.1, Duration::ZERO),
        Ok(Waited::Elapsed)
    );

    assert!(bench.controls.release_one(Lane::Compute));
    assert_eq!(labels(&bench), ["upload", "first"]);
    assert_eq!(bench.device.reached(first.1.queue), Ok(1));
    assert_eq!(
        bench.device.wait(first.1, Duration::ZERO),
        Ok(Waited::Reached)
    );
    assert_eq!(
        bench.device.wait(second.1, Duration::ZERO),
        Ok(Waited::Elapsed)
    );
    bench.controls.release(Lane::Compute);
    assert_eq!(labels(&bench), ["upload", "first", "second"]);
    assert!(!bench.controls.release_one(Lane::Compute));
    assert_eq!(bench.controls.misuses(), []);
}

#[test]
fn a_wait_holds_across_queues() {
    let bench = bench();
    let buffer = device_buffer(&bench);
    bench.controls.hold(Lane::Upload);
    let upload = bench.run(Lane::Upload, "upload", fill(&buffer, 0, 4, 1));
    let compute = bench
        .record(Lane::Compute, "compute", vec![fill(&buffer, 0, 4, 2)])
        .unwrap();
    bench
        .submit(&compute, Leading::Nothing, &[upload.1])
        .unwrap();
    assert_eq!(labels(&bench), [""; 0]);
    bench.controls.release(Lane::Upload);
    assert_eq!(labels(&bench), ["upload", "compute"]);
    assert_eq!(bench.controls.log()[1].waits, [upload.1]);
    assert_eq!(bench.controls.misuses(), []);
}

#[test]
fn a_missing_leading_barrier_is_caught() {
    let bench = bench();
    let buffer = device_buffer(&bench);
    bench.controls.hold(Lane::Compute);
    let _first = bench.run(Lane::Compute, "first", fill(&buffer, 0, 16, 1));
    let _apart = bench.run(Lane::Compute, "apart", fill(&buffer, 16, 16, 1));
    let later = bench
        .record(Lane::Compute, "later", vec![fill(&buffer, 12, 4, 1)])
        .unwrap();
    assert_eq!(
        bench.submit(&later, Leading::Nothing, &[]),
        Err(DeviceFault::Misuse(Misuse::MissingLeadingBarrier {
            earlier: "first".into(),
            later: "later".into(),
            offset: 12
        }))
    );
    bench.submit(&later, Leading::Barrier, &[]).unwrap();
    // The barrier of `later` stands before this one too, but `later` itself
    // does not.
    let _again = bench.run(Lane::Compute, "again", fill(&buffer, 0, 12, 1));
    let over = bench
        .record(Lane::Compute, "over", vec![fill(&buffer, 12, 4, 1)])
        .unwrap();
    assert!(bench.submit(&over, Leading::Nothing, &[]).is_err());
}

#[test]
fn a_reached_submission_needs_no_barrier() {
    let bench = bench();
    let buffer = device_buffer(&bench);
    let _first = bench.run(Lane::Compute, "first", fill(&buffer, 0, 16, 1));
    let _second = bench.run(Lane::Compute, "second", fill(&buffer, 0, 16, 2));
    assert_eq!(bench.controls.misuses(), []);
}

#[test]
fn readers_of_one_range_do_not_conflict() {
    let bench = bench();
    let (from, to) = (device_buffer(&bench), device_buffer(&bench));
    bench.controls.hold_all();
    let _a = bench.run(
        Lane::Compute,
        "a",
        copy(span(&from, 0, 16), span(&to, 0, 16)),
    );
    let _b = bench.run(
        Lane::Compute,
        "b",
        copy(span(&from, 0, 16), span(&to, 16, 16)),
    );
    let _c = bench.run(
        Lane::Upload,
        "c",
        copy(span(&from, 0, 16), span(&to, 32, 16)),
    );
    assert_eq!(bench.controls.misuses(), []);
}

#[test]
fn a_missing_wait_is_caught() {
    let bench = built(ScriptedDevice::builder().queue_per_lane());
    let buffer = device_buffer(&bench);
    bench.controls.hold_all();
    let upload = bench.run(Lane::Upload, "upload", fill(&buffer, 0, 4, 1));
    let compute = bench
        .record(Lane::Compute, "compute", vec![fill(&buffer, 0, 4, 2)])
        .unwrap();
    assert_eq!(
        bench.submit(&compute, Leading::Barrier, &[]),
        Err(DeviceFault::Misuse(Misuse::MissingWait {
            earlier: "upload".into(),
            later: "compute".into(),
            offset: 0
        }))
    );
    // An order through a third queue is one.
    let other = device_buffer(&bench);
    let relay = bench
        .record(Lane::Npu, "relay", vec![fill(&other, 0, 4, 2)])
        .unwrap();
    let relayed = bench.submit(&relay, Leading::Nothing, &[upload.1]).unwrap();
    bench
        .submit(&compute, Leading::Nothing, &[relayed])
        .unwrap();
}

#[test]
fn an_inner_barrier_orders_submissions() {
    let bench = bench();
    let (one, two) = (device_buffer(&bench), device_buffer(&bench));
    bench.controls.hold(Lane::Compute);
    let _before = bench.run(Lane::Compute, "before", fill(&one, 64, 4, 1));
    let commands = vec![fill(&one, 0, 4, 1), Command::Barrier, fill(&two, 0, 4, 1)];
    let split = bench.record(Lane::Compute, "split", commands).unwrap();
    bench.submit(&split, Leading::Nothing, &[]).unwrap();
    let _head = bench.run(Lane::Compute, "over the head", fill(&one, 0, 4, 1));
    let _past = bench.run(Lane::Compute, "over the one before", fill(&one, 64, 4, 1));
    let tail = bench
        .record(Lane::Compute, "over the tail", vec![fill(&two, 0, 4, 1)])
        .unwrap();
    assert!(bench.submit(&tail, Leading::Nothing, &[]).is_err());
}

#[test]
fn a_wait_for_the_unaccepted_is_caught() {
    let bench = bench();
    let buffer = device_buffer(&bench);
    let region = bench
        .record(Lane::Compute, "early", vec![fill(&buffer, 0, 4, 1)])
        .unwrap();
    let (_kept, point) = bench.run(Lane::Upload, "upload", fill(&buffer, 0, 4, 1));
    let ahead = Point {
        value: point.value + 1,
        ..point
    };
    let misuse = DeviceFault::Misuse(Misuse::WaitNotAccepted {
        queue: 1,
        value: 2,
        accepted: 1,
    });
    assert_eq!(
        bench.submit(&region, Leading::Nothing, &[ahead]),
        Err(misuse.clone())
    );
    assert_eq!(bench.device.wait(ahead, Duration::ZERO), Err(misuse));
}

#[test]
fn a_region_in_flight_is_not_resubmitted() {
    let bench = bench();
    let buffer = device_buffer(&bench);
    bench.controls.hold(Lane::Compute);
    let (region, _) = bench.run(Lane::Compute, "once", fill(&buffer, 0, 4, 1));
    assert_eq!(
        bench.submit(&region, Leading::Barrier, &[]),
        Err(DeviceFault::Misuse(Misuse::SubmittedTwice {
            region: "once".into()
        }))
    );
    bench.controls.release(Lane::Compute);
    bench.submit(&region, Leading::Nothing, &[]).unwrap();
}

#[test]
fn early_drops_are_caught() {
    let bench = bench();
    let buffer = device_buffer(&bench);
    bench.controls.hold(Lane::Compute);
    let (region, _) = bench.run(Lane::Compute, "region", fill(&buffer, 0, 4, 1));
    drop(region);
    drop(buffer);
    assert_eq!(
        bench.controls.misuses(),
        [
            Misuse::RegionDropped {
                region: "region".into()
            },
            Misuse::BufferDropped {
                buffer: "buffer".into(),
                region: "region".into()
            }
        ]
    );
    bench.controls.release(Lane::Compute);
    assert_eq!(labels(&bench), ["region"]);
}

#[test]
fn drops_after_the_point_are_fine() {
    let bench = bench();
    let buffer = device_buffer(&bench);
    let (region, _) = bench.run(Lane::Compute, "region", fill(&buffer, 0, 4, 1));
    let live = bench.controls.live();
    assert_eq!((live.buffers, live.buffer_bytes, live.regions), (1, 256, 1));
    drop(region);
    drop(buffer);
    let live = bench.controls.live();
    assert_eq!((live.buffers, live.buffer_bytes, live.regions), (0, 0, 0));
    assert_eq!(bench.controls.heap_used_bytes(), [0, 0]);
    assert_eq!(bench.controls.misuses(), []);
}
