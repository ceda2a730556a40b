//! The line is bounded, and its places come back.

use std::time::Duration;

use runtime_core::{Busy, Error, PreparedGraph, RuntimeOptions};
use runtime_sync::block_on;

use crate::fixture::{Bench, bench_with};

const LONG: Duration = Duration::from_secs(60);

fn filling(bench: &Bench, bytes: u64) -> PreparedGraph {
    let buffer = bench.buffer(bytes);
    let mut graph = bench.runtime.graph();
    graph.fill(&buffer.view(), 1).unwrap();
    graph.prepare().unwrap()
}

// R01
#[test]
fn absurd_options_are_refused() {
    use runtime_core::device::scripted::ScriptedDevice;
    use runtime_core::{Invalid, Runtime};

    for (options, name) in [
        (
            RuntimeOptions::default().max_submissions(0),
            "max_submissions",
        ),
        (
            RuntimeOptions::default().max_submissions(u32::MAX),
            "max_submissions",
        ),
        (RuntimeOptions::default().run_slots(0), "run_slots"),
        (RuntimeOptions::default().run_slots(u32::MAX), "run_slots"),
        (
            RuntimeOptions::default().trace_capacity(usize::MAX),
            "trace_capacity",
        ),
    ] {
        let device = Box::new(ScriptedDevice::builder().build());
        match Runtime::on_device(device, options) {
            Err(Error::Invalid(Invalid::Option { option, .. })) => assert_eq!(option, name),
            other => panic!("{other:?}"),
        }
    }
}

// R02
#[test]
fn places_that_nobody_waits_for_come_back() {
    let bench = bench_with(RuntimeOptions::default().max_submissions(2).run_slots(8));
    let graph = filling(&bench, 1 << 20);
    for _ in 0..50 {
        loop {
            match graph.run().submit() {
                Ok(_) => break,
                Err(Error::Busy(Busy::Capacity { limit })) => assert_eq!(limit, 2),
                Err(error) => assert_eq!(error.code(), "busy_run_slots"),
            }
            std::thread::yield_now();
        }
    }
}

// R02
#[test]
fn waiting_submits_resume() {
    let bench = bench_with(RuntimeOptions::default().max_submissions(1).run_slots(16));
    let graph = filling(&bench, 1 << 20);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let graph = &graph;
            scope.spawn(move || {
                for _ in 0..5 {
                    let completion = if thread % 2 == 0 {
                        graph.run().submit_timeout(LONG).unwrap()
                    } else {
                        block_on(graph.run().submit_async()).unwrap()
                    };
                    if thread < 4 {
                        completion.wait().unwrap();
                    }
                }
            });
        }
    });
    assert!(bench.runtime.statistics().peak_in_flight <= 1);
}

// R19
#[test]
fn a_zero_wait_on_the_finished_succeeds() {
    let bench = bench_with(RuntimeOptions::default());
    let completion = filling(&bench, 64).run().submit().unwrap();
    completion.wait().unwrap();
    completion.wait_timeout(Duration::ZERO).unwrap();
    assert!(completion.is_complete() && !completion.cancel());
    assert!(completion.profile().unwrap().total < LONG);
}

#[test]
fn completions_can_be_awaited() {
    let bench = bench_with(RuntimeOptions::default());
    let graph = filling(&bench, 1 << 16);
    for _ in 0..20 {
        block_on(graph.run().submit().unwrap()).unwrap();
    }
}
