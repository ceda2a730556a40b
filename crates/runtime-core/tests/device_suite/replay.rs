//! Prepared graphs run again, each run with its own bytes.

use runtime_core::{Busy, Error, Invalid, RuntimeOptions};

use crate::fixture::{bench, bench_with, pattern};

// R41
#[test]
fn each_run_sees_its_own_inputs() {
    let bench = bench_with(RuntimeOptions::default().run_slots(4));
    let buffer = bench.buffer(100);
    let mut graph = bench.runtime.graph();
    let input = graph.upload(&buffer.view()).unwrap();
    let output = graph.download(&buffer.view()).unwrap();
    let prepared = graph.prepare().unwrap();
    assert_eq!(prepared.run_slots(), 4);

    for round in 0..5 {
        let seeds = [0, 1, 2, 3].map(|place| round * 4 + place);
        let runs = seeds.map(|seed| {
            let run = prepared.run().input(input, &pattern(100, seed)).unwrap();
            run.submit().unwrap()
        });
        for (run, seed) in runs.iter().zip(seeds).rev() {
            run.wait().unwrap();
            assert_eq!(run.output::<u8>(output).unwrap(), pattern(100, seed));
        }
    }
}

#[test]
fn inputs_larger_than_a_piece_arrive() {
    let bench = bench();
    let content = pattern((9 << 20) + 1, 7);
    let buffer = bench.buffer(content.len() as u64);
    let mut graph = bench.runtime.graph();
    let input = graph.upload(&buffer.view()).unwrap();
    let output = graph.download(&buffer.view()).unwrap();
    let run = graph.prepare().unwrap();
    let run = run.run().input(input, &content).unwrap().submit().unwrap();
    run.wait().unwrap();
    assert!(run.with_output(output, |bytes| bytes == content).unwrap());
}

#[test]
fn held_outputs_keep_their_slot() {
    let bench = bench_with(RuntimeOptions::default().run_slots(2));
    let buffer = bench.filled(&pattern(8, 1));
    let mut graph = bench.runtime.graph();
    let output = graph.download(&buffer.view()).unwrap();
    let prepared = graph.prepare().unwrap();
    let held = [(); 2].map(|()| prepared.run().submit().unwrap());
    held.iter().for_each(|run| run.wait().unwrap());

    let refused = prepared.run().submit().unwrap_err();
    assert!(matches!(refused, Error::Busy(Busy::RunSlots { limit: 2 })));
    assert_eq!(bench.runtime.statistics().busy_run_slots, 1);
    let [first, second] = held;
    drop(first);
    bench.runtime.upload(&buffer.view(), &[0; 8]).unwrap();
    let again = prepared.run().submit().unwrap();
    again.wait().unwrap();
    assert_eq!(again.output::<u8>(output).unwrap(), [0; 8]);
    assert_eq!(second.output::<u8>(output).unwrap(), pattern(8, 1));
}

#[test]
fn an_unsubmitted_run_gives_its_slot_back() {
    let bench = bench_with(RuntimeOptions::default().run_slots(1));
    let buffer = bench.buffer(4);
    let mut graph = bench.runtime.graph();
    let input = graph.upload(&buffer.view()).unwrap();
    let prepared = graph.prepare().unwrap();
    drop(prepared.run().input(input, &[1; 4]).unwrap());
    assert!(matches!(
        prepared.run().submit(),
        Err(Error::Invalid(Invalid::MissingInput { index: 0 }))
    ));
    let run = prepared.run().input(input, &[2; 4]).unwrap();
    run.submit().unwrap().wait().unwrap();
    assert_eq!(bench.bytes(&buffer), [2; 4]);
}

#[test]
fn inputs_and_outputs_belong_to_their_graph() {
    let bench = bench();
    let buffer = bench.buffer(12);
    let [one, other] = [(); 2].map(|()| {
        let mut graph = bench.runtime.graph();
        let input = graph.upload(&buffer.view()).unwrap();
        let output = graph.download(&buffer.view()).unwrap();
        (graph.prepare().unwrap(), input, output)
    });
    assert!(matches!(
        one.0.run().input(other.1, &[0; 12]),
        Err(Error::Invalid(Invalid::ForeignGraph { .. }))
    ));
    assert!(matches!(
        one.0.run().input(one.1, &[0; 11]),
        Err(Error::Invalid(Invalid::LengthMismatch { .. }))
    ));
    let run = one
        .0
        .run()
        .input(one.1, &[5; 12])
        .unwrap()
        .submit()
        .unwrap();
    run.wait().unwrap();
    assert!(matches!(
        run.output::<u8>(other.2),
        Err(Error::Invalid(Invalid::ForeignGraph { .. }))
    ));
    assert!(matches!(
        run.output::<u64>(one.2),
        Err(Error::Invalid(Invalid::Elements {
            bytes: 12,
            element_bytes: 8
        }))
    ));
    assert_eq!(run.output::<u32>(one.2).unwrap(), [0x0505_0505; 3]);
}

#[test]
fn many_outputs_come_back_apart() {
    let bench = bench();
    let content = pattern(200, 9);
    let buffer = bench.filled(&content);
    let mut graph = bench.runtime.graph();
    let outputs: Vec<_> = [(0, 1), (1, 7), (63, 66), (199, 1)]
        .into_iter()
        .map(|(offset, bytes)| {
            let view = buffer.view().slice(offset as u64, bytes as u64).unwrap();
            (graph.download(&view).unwrap(), offset, bytes)
        })
        .collect();
    let run = graph.prepare().unwrap().run().submit().unwrap();
    run.wait().unwrap();
    for (output, offset, bytes) in outputs {
        assert_eq!(
            run.output::<u8>(output).unwrap(),
            content[offset..offset + bytes]
        );
    }
}
