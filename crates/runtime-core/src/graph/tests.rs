use std::time::Duration;

use crate::device::MemoryPlacement;
use crate::device::scripted::{Controls, ScriptedDevice};
#[cfg(feature = "wgsl")]
use crate::kernel::Wgsl;
use crate::lane::{DrainScope, Lane};
use crate::{Busy, Error, Runtime, RuntimeOptions};
#[cfg(feature = "wgsl")]
use crate::{Dispatch, Invalid};

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

#[cfg(feature = "wgsl")]
#[test]
fn a_run_sees_its_own_parameters() {
    let device = ScriptedDevice::builder()
        .queue_per_lane()
        .host_kernel("scale", |invocation| {
            let [factor, addend] = invocation.read::<u32>("parameters")[..] else {
                return;
            };
            for value in invocation.write::<u32>("values") {
                *value = *value * factor + addend;
            }
        })
        .build();
    let runtime =
        Runtime::on_device(Box::new(device), RuntimeOptions::default()).expect("a runtime");
    let source = "
        struct Parameters { factor: u32, addend: u32 }
        @group(0) @binding(0) var<storage, read_write> values: array<u32>;
        @group(1) @binding(0) var<uniform> parameters: Parameters;
        @compute @workgroup_size(64)
        fn scale(@builtin(global_invocation_id) id: vec3<u32>) {
            if (id.x < arrayLength(&values)) {
                values[id.x] = values[id.x] * parameters.factor + parameters.addend;
            }
        }";
    let kernel = runtime.kernel(Wgsl::new(source).entry("scale")).unwrap();
    let values = runtime.allocate(256, MemoryPlacement::Device).unwrap();
    let mut graph = runtime.graph();
    graph.fill(&values.view(), 10).unwrap();
    let dispatch = Dispatch::new(&kernel).bind("values", &values.view());
    graph.dispatch(dispatch.elements(64)).unwrap();
    let output = graph.download(&values.view()).unwrap();
    let prepared = graph.prepare().unwrap();
    let run = |factor: u32, addend: u32| {
        let run = prepared.run().param("factor", factor).unwrap();
        run.param("addend", addend).unwrap().submit().unwrap()
    };
    let (first, second) = (run(2, 1), run(3, 0));
    first.wait_timeout(LIMIT).unwrap();
    second.wait_timeout(LIMIT).unwrap();
    assert_eq!(first.output::<u32>(output).unwrap(), [21; 64]);
    assert_eq!(second.output::<u32>(output).unwrap(), [30; 64]);
    drop((first, second));
    let unset = prepared.run().submit().unwrap();
    unset.wait_timeout(LIMIT).unwrap();
    assert_eq!(unset.output::<u32>(output).unwrap(), [0; 64]);
    let wrong = prepared.run().param("factor", 2_u64);
    assert!(matches!(
        wrong,
        Err(Error::Invalid(Invalid::NoSuchParameter { bytes: 8, .. }))
    ));
}

#[test]
fn a_run_that_nobody_holds_is_traced() {
    let (runtime, controls) = scripted(RuntimeOptions::default());
    let buffer = runtime.allocate(64, MemoryPlacement::Device).unwrap();
    let mut graph = runtime.graph();
    graph.label("unheld").fill(&buffer.view(), 7).unwrap();
    let prepared = graph.prepare().unwrap();
    controls.hold_all();
    drop(prepared.run().submit().unwrap());
    drop(prepared);
    controls.release_all();
    runtime.close(LIMIT);
    let records = runtime.trace().records;
    let unheld = records.iter().filter(|record| &*record.label == "unheld");
    assert_eq!(unheld.count(), 1);
}

#[test]
fn a_revoked_view_gets_no_lane() {
    let (runtime, _controls) = scripted(RuntimeOptions::default());
    let (view, revoker) = runtime.revocable(runtime.budget());
    drop(view.lease(DrainScope::All).unwrap());
    revoker.revoke();
    assert!(matches!(view.lease(DrainScope::All), Err(Error::Revoked)));
    assert!(runtime.lease(DrainScope::All).is_ok());
}
