#![expect(
    unsafe_code,
    reason = "submitting is unsafe to the caller, which a model is"
)]

use std::time::Duration;

use runtime_sync::{Arc, model, thread, unmodelled};

use super::{Call, ScriptedDevice};
use crate::device::{
    BufferSpec, Command, Device, DeviceFault, DeviceRegion, Leading, MemoryPlacement, QueueIndex,
    RegionPlan, Span, Waited,
};
use crate::lane::Lane;

const LONG: Duration = Duration::from_secs(60);

/// A region that fills a buffer of its own.
fn recorded(device: &ScriptedDevice) -> unmodelled::Arc<dyn DeviceRegion> {
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
    device
        .record(&RegionPlan {
            lane: Lane::Compute,
            commands: vec![Command::Fill { target, word: 1 }],
            read_by_host: false,
            label: "fill".into(),
        })
        .expect("the plan is right")
}

/// Submits the region and says how the wait for it ended.
fn run(device: &ScriptedDevice, region: &dyn DeviceRegion) -> Result<Waited, DeviceFault> {
    // SAFETY: recorded by this device, kept until the wait ends, submitted
    // once, behind no points, and no host sees the buffer. After a loss this
    // device touches it no more.
    let point = unsafe { device.submit(region, Leading::Nothing, &[]) };
    point.and_then(|point| device.wait(point, LONG))
}

#[test]
fn a_release_always_wakes_the_waiter() {
    model("a release always wakes the waiter", || {
        let device = Arc::new(ScriptedDevice::builder().build());
        let region = recorded(&device);
        let controls = device.controls();
        controls.hold(Lane::Compute);
        let releaser = {
            let controls = controls.clone();
            thread::spawn_named("releaser", move || controls.release(Lane::Compute))
        };
        assert_eq!(run(&device, &*region), Ok(Waited::Reached));
        releaser.expect("a thread starts").join().expect("it ends");
        assert_eq!(controls.misuses(), []);
    });
}

#[test]
fn two_submitters_lose_no_submission() {
    model("two submitters lose no submission", || {
        let device = Arc::new(ScriptedDevice::builder().build());
        let region = recorded(&device);
        let other = device.clone();
        let submitter = thread::spawn_named("submitter", move || {
            assert_eq!(run(&other, &*recorded(&other)), Ok(Waited::Reached));
        });
        assert_eq!(run(&device, &*region), Ok(Waited::Reached));
        submitter.expect("a thread starts").join().expect("it ends");
        let controls = device.controls();
        assert_eq!(
            (controls.reached(Lane::Compute), controls.misuses().len()),
            (2, 0)
        );
    });
}

#[test]
fn a_loss_always_ends_the_wait() {
    model("a loss always ends the wait", || {
        let device = Arc::new(ScriptedDevice::builder().build());
        let region = recorded(&device);
        let controls = device.controls();
        controls.hold(Lane::Compute);
        let loser = thread::spawn_named("loser", move || controls.lose());
        assert!(run(&device, &*region).is_err_and(|fault| fault.is_lost()));
        loser.expect("a thread starts").join().expect("it ends");
    });
}

#[test]
fn a_loss_in_a_call_ends_the_wait() {
    model("a loss that a call reports ends the wait", || {
        let device = Arc::new(ScriptedDevice::builder().build());
        let region = recorded(&device);
        let controls = device.controls();
        controls.hold(Lane::Compute);
        controls.fail(Call::Reached, 1, DeviceFault::Lost { call: "scripted" });
        let other = device.clone();
        let asker = thread::spawn_named("asker", move || {
            assert!(other.reached(QueueIndex(0)).is_err());
        });
        assert!(run(&device, &*region).is_err_and(|fault| fault.is_lost()));
        asker.expect("a thread starts").join().expect("it ends");
    });
}
