#![expect(
    unsafe_code,
    reason = "submitting is unsafe to the caller, which a model is"
)]

use std::time::Duration;

use runtime_sync::{Arc, model, thread};

use super::ScriptedDevice;
use crate::device::{
    BufferSpec, Command, Device, Leading, MemoryPlacement, Point, RegionPlan, Span, Waited,
};
use crate::lane::Lane;

const LONG: Duration = Duration::from_secs(60);

/// Fills a buffer of its own on the lane and returns the point, after waiting.
fn run_one(device: &ScriptedDevice, lane: Lane, wait_for: &[Point]) -> Point {
    let buffer = device
        .allocate(BufferSpec {
            bytes: 4,
            placement: MemoryPlacement::Device,
            label: "filled",
        })
        .expect("there is room");
    let target = Span {
        buffer,
        offset: 0,
        bytes: 4,
    };
    let region = device
        .record(&RegionPlan {
            lane,
            commands: vec![Command::Fill { target, word: 1 }],
            read_by_host: false,
            label: "fill".into(),
        })
        .expect("the plan is right");
    // SAFETY: recorded by this device, kept until the wait ends, submitted
    // once, behind accepted points, and no host sees the buffer.
    let point = unsafe { device.submit(&*region, Leading::Nothing, wait_for) };
    let point = point.expect("the device is healthy");
    assert_eq!(device.wait(point, LONG), Ok(Waited::Reached));
    point
}

#[test]
fn a_release_always_wakes_the_waiter() {
    model("a release always wakes the waiter", || {
        let device = Arc::new(ScriptedDevice::builder().build());
        let controls = device.controls();
        controls.hold(Lane::Compute);
        let releaser = {
            let controls = controls.clone();
            thread::spawn_named("releaser", move || controls.release(Lane::Compute))
        };
        run_one(&device, Lane::Compute, &[]);
        releaser.expect("a thread starts").join().expect("it ends");
        assert_eq!(controls.misuses(), []);
    });
}

#[test]
fn two_submitters_lose_no_submission() {
    model("two submitters lose no submission", || {
        let device = Arc::new(ScriptedDevice::builder().build());
        let other = device.clone();
        let submitter = thread::spawn_named("submitter", move || {
            run_one(&other, Lane::Compute, &[]);
        });
        run_one(&device, Lane::Compute, &[]);
        submitter.expect("a thread starts").join().expect("it ends");
        let controls = device.controls();
        assert_eq!(
            (controls.reached(Lane::Compute), controls.misuses().len()),
            (2, 0)
        );
    });
}
