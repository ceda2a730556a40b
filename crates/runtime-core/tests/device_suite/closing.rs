//! A runtime ends in order.

use std::time::Duration;

use runtime_core::device::MemoryPlacement;
use runtime_core::{Error, RuntimeOptions};

use crate::fixture::{bench, bench_with};

const LONG: Duration = Duration::from_secs(60);

// R35
#[test]
fn closing_drains_and_reports() {
    let bench = bench();
    let buffer = bench.buffer(1 << 16);
    let mut graph = bench.runtime.graph();
    graph.fill(&buffer.view(), 7).unwrap();
    let output = graph.download(&buffer.view()).unwrap();
    let prepared = graph.prepare().unwrap();
    let run = prepared.run().submit().unwrap();

    let report = bench.runtime.close(LONG);
    assert_eq!(
        (report.unfinished, report.cancelled, report.quarantined),
        (0, 0, 0)
    );
    assert!(!report.stage_running);
    assert!(report.still_held_bytes >= 1 << 16);
    assert_eq!(report.leaked_bytes, 0);
    run.wait_timeout(Duration::ZERO).unwrap();
    assert_eq!(run.output::<u32>(output).unwrap(), vec![7; 1 << 14]);

    assert!(matches!(prepared.run().submit(), Err(Error::Closed)));
    assert!(matches!(
        bench.runtime.allocate(4, MemoryPlacement::Upload),
        Err(Error::Closed)
    ));
    assert_eq!(bench.runtime.close(Duration::ZERO), report);
    assert_eq!(bench.runtime.clone().close(LONG), report);
}

// R35
#[test]
fn concurrent_closes_share_the_report() {
    let bench = bench();
    let buffer = bench.buffer(1 << 20);
    let mut graph = bench.runtime.graph();
    graph.fill(&buffer.view(), 7).unwrap();
    let _run = graph.prepare().unwrap().run().submit().unwrap();
    let reports = std::thread::scope(|scope| {
        let closers = [(); 4].map(|()| scope.spawn(|| bench.runtime.close(LONG)));
        closers.map(|closer| closer.join().unwrap())
    });
    assert!(reports.iter().all(|report| *report == reports[0]));
}

// R38
#[test]
fn statistics_add_up() {
    let bench = bench_with(RuntimeOptions::default().run_slots(4));
    let buffer = bench.buffer(64);
    let mut graph = bench.runtime.graph();
    graph.fill(&buffer.view(), 7).unwrap();
    let prepared = graph.prepare().unwrap();
    let before = bench.runtime.statistics();
    for _ in 0..10 {
        prepared.run().submit().unwrap().wait().unwrap();
    }
    let after = bench.runtime.statistics();
    assert_eq!(after.submitted - before.submitted, 10);
    assert_eq!(
        after.submitted,
        after.succeeded + after.failed + after.cancelled + after.uncertain
    );
    assert_eq!((after.in_flight, after.failed), (0, 0));
}

// R37
#[test]
fn the_trace_keeps_the_newest() {
    let bench = bench_with(RuntimeOptions::default().trace_capacity(5));
    let buffer = bench.buffer(64);
    let before = bench.runtime.trace();
    let before = before.dropped + before.records.len() as u64;
    for place in 0..30 {
        let mut graph = bench.runtime.graph();
        graph.label(format!("run {place}"));
        graph.fill(&buffer.view(), 7).unwrap();
        graph
            .prepare()
            .unwrap()
            .run()
            .submit()
            .unwrap()
            .wait()
            .unwrap();
    }
    let trace = bench.runtime.trace();
    let labels: Vec<&str> = trace.records.iter().map(|record| &*record.label).collect();
    assert_eq!(labels, ["run 25", "run 26", "run 27", "run 28", "run 29"]);
    assert_eq!(trace.dropped, before + 25);
    for pair in trace.records.windows(2) {
        assert!(pair[0].id < pair[1].id && !pair[0].failed);
        assert!(pair[0].asked_at <= pair[0].started_at);
        assert!(pair[0].started_at <= pair[0].ended_at);
    }
}
