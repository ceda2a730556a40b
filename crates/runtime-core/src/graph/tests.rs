use std::time::Duration;

use crate::device::MemoryPlacement;
use crate::device::scripted::{Controls, ScriptedDevice};
use crate::lane::{DrainScope, Lane};
use crate::{Busy, Error, Runtime, RuntimeOptions};

const LIMIT: Duration = Duration::from_secs(10);

fn scripted(options: RuntimeOptions) -> (Runtime, Controls) {
    let device = ScriptedDevice::builder().queue_per_lane().build();
    let controls = device.controls();
    let runtime = Runtime::on_device(Box::new(device), options).expect("a scripted runtime");
    (runtime, controls)
}

#[test]
fn bytes_go_in_through_and_out() {
    let (runtime, controls) = scripted(RuntimeOptions::default());
    let source = runtime.allocate(64, MemoryPlacement::Device).unwrap();
    let target = runtime.allocate(64, MemoryPlacement::Device).unwrap();
    let mut graph = runtime.graph();
    let input = graph.upload(&source.view()).unwrap();
    graph.copy(&source.view(), &target.view()).unwrap();
    graph
        .fill(&target.view().slice(0, 4).unwrap(), 0x0101_0101)
        .unwrap();
    let output = graph.download(&target.view()).unwrap();
    let prepared = graph.prepare().unwrap();
    assert_eq!(prepared.region_count(), 3);
    for round in 0..5_u8 {
        let bytes = [round; 64];
        let completion = prepared
            .run()
            .input(input, &bytes)
            .unwrap()
            .submit()
            .unwrap();
        completion.wait_timeout(LIMIT).unwrap();
        let mut expected = bytes;
        expected[..4].fill(1);
        assert_eq!(completion.output::<u8>(output).unwrap(), expected);
    }
    assert_eq!(controls.misuses(), []);
    let report = runtime.close(LIMIT);
    assert_eq!((report.unfinished, report.quarantined), (0, 0));
}

#[test]
fn an_awaited_run_is_reaped() {
    let (runtime, controls) = scripted(RuntimeOptions::default());
    let buffer = runtime.allocate(64, MemoryPlacement::Device).unwrap();
    let mut graph = runtime.graph();
    graph.fill(&buffer.view(), 7).unwrap();
    let prepared = graph.prepare().unwrap();
    controls.hold_all();
    let completion = prepared.run().submit().unwrap();
    let release = controls.clone();
    let releaser = std::thread::spawn(move || {
        release.wait_accepted(Lane::Compute, 1, LIMIT);
        release.release_all();
    });
    runtime_sync::block_on(completion).unwrap();
    releaser.join().unwrap();
}

#[test]
fn compute_does_not_overtake_a_stage() {
    let (runtime, controls) = scripted(RuntimeOptions::default());
    let buffer = runtime.allocate(64, MemoryPlacement::Device).unwrap();
    let mut graph = runtime.graph();
    graph.fill(&buffer.view(), 7).unwrap();
    let prepared = graph.prepare().unwrap();
    let lease = runtime.lease(DrainScope::All).unwrap();
    let accepted = controls.accepted(Lane::Compute);
    let completion = prepared.run().submit().unwrap();
    assert_eq!(controls.accepted(Lane::Compute), accepted);
    assert!(matches!(
        completion.wait_timeout(Duration::from_millis(5)),
        Err(Error::TimedOut {
            lane_held_by: Some(_),
            ..
        })
    ));
    assert!(matches!(
        runtime.try_lease(DrainScope::All),
        Err(Error::Busy(Busy::Lane))
    ));
    drop(lease);
    completion.wait_timeout(LIMIT).unwrap();
}
