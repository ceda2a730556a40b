//! Many threads share one runtime.

use runtime_core::{Lane, RuntimeOptions};

use crate::fixture::{Random, bench_with, pattern};

// D09, R38
#[test]
fn eight_threads_get_exact_results() {
    let bench = bench_with(RuntimeOptions::default().max_submissions(16));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let bench = &bench;
            scope.spawn(move || {
                let mut random = Random::new(thread);
                let (one, two) = (bench.buffer(512), bench.buffer(512));
                let mut graph = bench.runtime.graph();
                let input = graph.upload(&one.view()).unwrap();
                let lane = Lane::ALL[random.below(3) as usize];
                graph.copy_on(lane, &one.view(), &two.view()).unwrap();
                let output = graph.download(&two.view()).unwrap();
                let prepared = graph.prepare().unwrap();
                for round in 0..50 {
                    let content = pattern(512, thread * 1000 + round);
                    let run = prepared.run().input(input, &content).unwrap();
                    let limit = std::time::Duration::from_secs(60);
                    let run = run.submit_timeout(limit).unwrap();
                    run.wait().unwrap();
                    assert_eq!(run.output::<u8>(output).unwrap(), content);
                }
            });
        }
    });
    let statistics = bench.runtime.statistics();
    assert!(statistics.submitted >= 400);
    assert_eq!(statistics.submitted, statistics.succeeded);
    assert_eq!(statistics.in_flight, 0);
    assert!((1..=16).contains(&statistics.peak_in_flight));
}

#[test]
fn threads_meet_on_one_buffer() {
    let bench = bench_with(RuntimeOptions::default().max_submissions(256).run_slots(32));
    let buffer = bench.buffer(8 * 64);
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            let (bench, buffer) = (&bench, &buffer);
            scope.spawn(move || {
                let own = buffer.view().slice(thread * 64, 64).unwrap();
                let mut graph = bench.runtime.graph();
                let input = graph.upload(&own).unwrap();
                let whole = graph.download(&buffer.view()).unwrap();
                let prepared = graph.prepare().unwrap();
                let place = usize::try_from(thread * 64).unwrap();
                for round in 0..30 {
                    let content = pattern(64, thread * 1000 + round);
                    let run = prepared.run().input(input, &content).unwrap();
                    let run = run.submit().unwrap();
                    run.wait().unwrap();
                    let seen = run.output::<u8>(whole).unwrap();
                    assert_eq!(seen[place..place + 64], content);
                }
            });
        }
    });
}
