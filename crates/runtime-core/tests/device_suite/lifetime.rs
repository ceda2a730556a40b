//! What the device may touch outlives every handle.

use std::time::Duration;

use runtime_core::{Error, Invalid};

use crate::fixture::{bench, pattern};

const LONG: Duration = Duration::from_secs(60);

// D06
#[test]
fn a_replay_outlives_the_handles_it_names() {
    let bench = bench();
    let (from, to) = (bench.filled(&pattern(64, 1)), bench.buffer(64));
    let mut graph = bench.runtime.graph();
    graph
        .upload_bytes(&from.view().slice(0, 8).unwrap(), &[7; 8])
        .unwrap();
    graph.copy(&from.view(), &to.view()).unwrap();
    let output = graph.download(&to.view()).unwrap();
    let prepared = graph.prepare().unwrap();
    drop((from, to));
    for _ in 0..3 {
        let run = prepared.run().submit().unwrap();
        run.wait().unwrap();
        let bytes = run.output::<u8>(output).unwrap();
        assert_eq!(bytes[..8], [7; 8]);
        assert_eq!(bytes[8..], pattern(64, 1)[8..]);
    }
}

// D05
#[test]
fn work_in_flight_survives_every_drop() {
    for _ in 0..20 {
        let bench = bench();
        let mut content = pattern(1 << 16, 3);
        let mut graph = bench.runtime.graph();
        let (one, two) = (bench.buffer(1 << 16), bench.buffer(1 << 16));
        let input = graph.upload(&one.view()).unwrap();
        graph.copy(&one.view(), &two.view()).unwrap();
        let output = graph.download(&two.view()).unwrap();
        let prepared = graph.prepare().unwrap();
        if let Some(controls) = &bench.controls {
            controls.hold_all();
        }
        let run = prepared.run().input(input, &content).unwrap();
        content.fill(0);
        let completion = run.submit().unwrap();
        drop((prepared, one, two));
        let controls = bench.controls.clone();
        drop(bench);
        if let Some(controls) = &controls {
            controls.release_all();
        }
        completion.wait().unwrap();
        completion.wait().unwrap();
        assert!(completion.output::<u8>(output).unwrap() == pattern(1 << 16, 3));
        drop(completion);
        if let Some(controls) = &controls {
            assert_eq!(controls.misuses(), []);
            assert!(controls.wait_dropped(LONG));
            assert_eq!(controls.live().buffers, 0);
        }
    }
}

// D05
#[test]
fn a_dropped_completion_still_runs() {
    let bench = bench();
    let buffer = bench.buffer(64);
    let mut graph = bench.runtime.graph();
    graph.fill(&buffer.view(), u32::MAX).unwrap();
    drop(graph.prepare().unwrap().run().submit().unwrap());
    assert_eq!(bench.bytes(&buffer), [255; 64]);
}

// R34
#[test]
fn handles_of_another_runtime_are_refused() {
    let (ours, theirs) = (bench(), bench());
    assert!(!ours.runtime.same_domain(&theirs.runtime));
    let (buffer, foreign) = (ours.buffer(16), theirs.buffer(16));
    assert!(ours.runtime.owns(&buffer.view()) && !ours.runtime.owns(&foreign.view()));
    let before = ours.runtime.statistics();

    let view = foreign.view();
    let mut graph = ours.runtime.graph();
    let refusals = [
        graph.fill(&view, 0).map(|_| ()),
        graph.copy(&buffer.view(), &view).map(|_| ()),
        graph.copy(&view, &buffer.view()).map(|_| ()),
        graph.upload_bytes(&view, &[0; 16]).map(|_| ()),
        graph.upload(&view).map(|_| ()),
        graph.download(&view).map(|_| ()),
        ours.runtime.upload(&view, &[0; 16]),
        ours.runtime.download(&view).map(|_| ()),
    ];
    for refusal in refusals {
        assert!(matches!(
            refusal,
            Err(Error::Invalid(Invalid::ForeignRuntime { .. }))
        ));
    }

    let mut graph = theirs.runtime.graph();
    graph.fill(&view, 0).unwrap();
    let producer = graph.prepare().unwrap().run().submit().unwrap();
    let mut graph = ours.runtime.graph();
    graph.fill(&buffer.view(), 0).unwrap();
    assert!(matches!(
        graph.prepare().unwrap().run().submit_after(&[&producer]),
        Err(Error::Invalid(Invalid::ForeignRuntime { .. }))
    ));
    assert_eq!(ours.runtime.statistics(), before);
}
