//! What overlaps in bytes keeps its order, whatever lanes it runs on.

use runtime_core::{Buffer, Completion, GraphBuilder, Lane, RuntimeOptions};

use crate::fixture::{Bench, Random, bench, bench_with, pattern};

const BYTES: u64 = 96;

/// What two buffers must hold, by doing each operation at once.
struct Oracle {
    contents: [Vec<u8>; 2],
}

/// Puts a random operation into the graph and does it on the oracle.
fn random_operation(
    random: &mut Random,
    graph: &mut GraphBuilder,
    buffers: &[Buffer; 2],
    oracle: &mut Oracle,
) {
    let which = random.below(2) as usize;
    let other = 1 - which;
    match random.below(3) {
        0 => {
            let (first, words) = (random.below(20), 1 + random.below(4));
            let word = u32::try_from(random.below(1 << 32)).unwrap();
            let view = buffers[which].view().slice(first * 4, words * 4).unwrap();
            graph.fill(&view, word).unwrap();
            for place in 0..words {
                let start = usize::try_from((first + place) * 4).unwrap();
                oracle.contents[which][start..start + 4].copy_from_slice(&word.to_ne_bytes());
            }
        }
        1 => {
            let length = 1 + random.below(24);
            let (from, to) = (random.below(BYTES - length), random.below(BYTES - length));
            let lane = [Lane::Compute, Lane::Upload, Lane::Download][random.below(3) as usize];
            let source = buffers[other].view().slice(from, length).unwrap();
            let target = buffers[which].view().slice(to, length).unwrap();
            graph.copy_on(lane, &source, &target).unwrap();
            let [from, to, length] = [from, to, length].map(|value| value as usize);
            let bytes = oracle.contents[other][from..from + length].to_vec();
            oracle.contents[which][to..to + length].copy_from_slice(&bytes);
        }
        _ => {
            let length = 1 + random.below(12);
            let offset = random.below(BYTES - length);
            let bytes = pattern(length as usize, random.below(1 << 40));
            let view = buffers[which].view().slice(offset, length).unwrap();
            graph.upload_bytes(&view, &bytes).unwrap();
            let (offset, length) = (offset as usize, length as usize);
            oracle.contents[which][offset..offset + length].copy_from_slice(&bytes);
        }
    }
}

fn start(bench: &Bench) -> ([Buffer; 2], Oracle) {
    let contents = [pattern(BYTES as usize, 1), pattern(BYTES as usize, 2)];
    let buffers = [0, 1].map(|place: usize| bench.filled(&contents[place]));
    (buffers, Oracle { contents })
}

#[test]
fn operations_of_a_graph_keep_their_order() {
    let bench = bench();
    for seed in 0..12 {
        let (buffers, mut oracle) = start(&bench);
        let mut random = Random::new(seed);
        let mut graph = bench.runtime.graph();
        for _ in 0..40 {
            random_operation(&mut random, &mut graph, &buffers, &mut oracle);
        }
        graph
            .prepare()
            .unwrap()
            .run()
            .submit()
            .unwrap()
            .wait()
            .unwrap();
        for (buffer, expected) in buffers.iter().zip(&oracle.contents) {
            assert_eq!(bench.bytes(buffer), *expected, "seed {seed}");
        }
    }
}

// R04
#[test]
fn submissions_keep_their_order() {
    let bench = bench_with(RuntimeOptions::default().max_submissions(1024).run_slots(1));
    for seed in 0..6 {
        let (buffers, mut oracle) = start(&bench);
        let mut random = Random::new(1000 + seed);
        // All are prepared first: preparing would let earlier ones end.
        let graphs: Vec<_> = (0..60)
            .map(|_| {
                let mut graph = bench.runtime.graph();
                for _ in 0..=random.below(2) {
                    random_operation(&mut random, &mut graph, &buffers, &mut oracle);
                }
                graph.prepare().unwrap()
            })
            .collect();
        if let Some(controls) = &bench.controls {
            controls.hold_all();
        }
        let completions: Vec<Completion> = graphs
            .iter()
            .map(|graph| graph.run().submit().unwrap())
            .collect();
        if let Some(controls) = &bench.controls {
            controls.release_all();
        }
        for completion in completions.into_iter().rev() {
            completion.wait().unwrap();
        }
        for (buffer, expected) in buffers.iter().zip(&oracle.contents) {
            assert_eq!(bench.bytes(buffer), *expected, "seed {seed}");
        }
    }
}

#[test]
fn a_replay_follows_its_last_run() {
    let bench = bench_with(RuntimeOptions::default().run_slots(2));
    let (one, two) = (bench.filled(&pattern(64, 5)), bench.buffer(64));
    let spare = bench.buffer(64);
    // Rotates three buffers; a run that overtook the last would break it.
    let mut graph = bench.runtime.graph();
    graph.copy(&one.view(), &spare.view()).unwrap();
    graph
        .copy_on(Lane::Upload, &two.view(), &one.view())
        .unwrap();
    graph
        .copy_on(Lane::Download, &spare.view(), &two.view())
        .unwrap();
    let swap = graph.prepare().unwrap();
    let mut last = None;
    for _ in 0..51 {
        let next = loop {
            match swap.run().submit() {
                Ok(next) => break next,
                Err(error) => assert_eq!(error.code(), "busy_run_slots"),
            }
            last = None::<Completion>;
        };
        drop(last.replace(next));
    }
    last.unwrap().wait().unwrap();
    assert_eq!(bench.bytes(&two), pattern(64, 5));
    assert_eq!(bench.bytes(&one), vec![0; 64]);
}
