//! Driver calls that fail, without the device being lost.

use runtime_core::device::scripted::{Call, ScriptedDevice};
use runtime_core::device::{DeviceFault, Heap, MemoryPlacement};
use runtime_core::{Error, ErrorKind, Lane, MemoryBudget, RuntimeOptions};

use crate::fixture::{LONG, bench, built, part};

fn out_of_memory() -> DeviceFault {
    DeviceFault::OutOfHostMemory { call: "submit" }
}

// D01
#[test]
fn a_failed_submit_leaves_no_trace() {
    let bench = bench();
    let buffer = bench.buffer(64);
    let fill = bench.fill("fill", &buffer.view(), 9);
    let accepted = bench.controls.accepted(Lane::Compute);
    bench.controls.fail(Call::Submit, 1, out_of_memory());
    let run = fill.run().submit().unwrap();
    let error = run.wait_timeout(LONG).unwrap_err();
    assert!(matches!(&error, Error::Device(fault) if *fault == out_of_memory()));
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert_eq!(bench.controls.accepted(Lane::Compute), accepted);
    drop(run);
    let again = fill.run().submit().unwrap();
    again.wait_timeout(LONG).unwrap();
    assert!(bench.ran_unordered("fill"));
    let statistics = bench.runtime.statistics();
    assert_eq!((statistics.failed, statistics.uncertain), (1, 0));
    assert!(bench.runtime.quarantine().is_empty());
    bench.assert_no_misuse();
}

// D07
#[test]
fn a_refused_region_ends_its_submission() {
    let bench = bench();
    let (one, two, three) = (bench.buffer(64), bench.buffer(64), bench.buffer(64));
    let mut graph = bench.runtime.graph();
    graph.label("chain");
    graph
        .copy_on(Lane::Upload, &one.view(), &two.view())
        .unwrap();
    graph
        .copy_on(Lane::Compute, &two.view(), &three.view())
        .unwrap();
    graph
        .copy_on(Lane::Download, &three.view(), &one.view())
        .unwrap();
    let chain = graph.prepare().unwrap();
    assert_eq!(chain.region_count(), 3);
    // It conflicts with what was accepted and with what was not.
    let after = bench.fill("after", &part(&two, 0, 4), 7);

    for nth in 1..=3 {
        bench.controls.hold_all();
        bench.controls.fail(Call::Submit, nth, out_of_memory());
        let run = chain.run().submit().unwrap();
        let after = after.run().submit().unwrap();
        bench.controls.release_all();
        assert!(matches!(run.wait_timeout(LONG), Err(Error::Device(_))));
        after.wait_timeout(LONG).unwrap();
        drop(run);
        chain.run().submit().unwrap().wait_timeout(LONG).unwrap();
    }
    assert_eq!(bench.runtime.statistics().failed, 3);
    bench.assert_no_misuse();
}

#[test]
fn a_failed_wait_is_tried_again() {
    let bench = bench();
    let buffer = bench.buffer(64);
    let fill = bench.fill("fill", &buffer.view(), 9);
    bench.controls.hold(Lane::Compute);
    let run = fill.run().submit().unwrap();
    for nth in 1..=3 {
        bench.controls.fail(Call::Wait, nth, out_of_memory());
        bench.controls.fail(Call::Reached, nth, out_of_memory());
    }
    let controls = bench.controls.clone();
    let releaser = std::thread::spawn(move || controls.release(Lane::Compute));
    run.wait_timeout(LONG).unwrap();
    releaser.join().unwrap();
    assert!(bench.runtime.quarantine().is_empty());
    bench.assert_no_misuse();
}

// R33
#[test]
fn a_failed_allocation_gives_its_charge_back() {
    let budget = MemoryBudget::new(1 << 20, "all");
    let heap = Heap {
        bytes: 4096,
        device_local: true,
        host_visible: true,
    };
    let bench = built(
        ScriptedDevice::builder().heaps([heap]),
        RuntimeOptions::default().budget(budget.clone()),
    );
    let kept = bench.buffer(4000);
    let refused = bench.runtime.allocate(100, MemoryPlacement::Device);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::OutOfMemory);
    assert_eq!(budget.used_bytes(), 4000);
    drop(kept);
    let fits = bench.buffer(4096);
    assert_eq!(budget.used_bytes(), 4096);
    drop(fits);
    assert_eq!(
        (budget.used_bytes(), bench.controls.heap_used_bytes()),
        (0, vec![0])
    );
    bench.assert_no_misuse();
}

// R33
#[test]
fn a_buffer_that_cannot_be_zeroed_goes_back() {
    let bench = bench();
    for (call, placement) in [
        (Call::Record, MemoryPlacement::Device),
        (Call::Submit, MemoryPlacement::Device),
        (Call::Flush, MemoryPlacement::Upload),
    ] {
        bench.controls.fail(call, 1, out_of_memory());
        let refused = bench.runtime.allocate(64, placement);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::OutOfMemory);
        assert_eq!(bench.runtime.budget().used_bytes(), 0);
        let live = bench.controls.live();
        assert_eq!((live.buffers, live.regions), (0, 0));
    }
    bench.assert_no_misuse();
}

// D12
#[test]
fn the_allocation_limit_is_named() {
    let bench = built(
        ScriptedDevice::builder().limits(|limits| limits.allocations = 4),
        RuntimeOptions::default(),
    );
    let kept: Vec<_> = (0..4).map(|_| bench.buffer(4)).collect();
    let refused = bench.runtime.allocate(4, MemoryPlacement::Device);
    assert!(matches!(
        refused,
        Err(Error::Device(DeviceFault::TooManyAllocations { limit: 4 }))
    ));
    drop(kept);
    bench.buffer(4);
    bench.assert_no_misuse();
}

// D11
#[test]
fn wide_atoms_keep_neighbours_apart() {
    let bench = built(
        ScriptedDevice::builder().atom_bytes(256),
        RuntimeOptions::default().run_slots(3),
    );
    let buffer = bench.buffer(4096);
    let mut graph = bench.runtime.graph();
    let transfers = [(0x203, 24), (0x21b, 24), (0x300, 1)].map(|(offset, bytes)| {
        let view = part(&buffer, offset, bytes);
        let (input, output) = (graph.upload(&view).unwrap(), graph.download(&view).unwrap());
        (input, output, usize::try_from(bytes).unwrap())
    });
    let prepared = graph.prepare().unwrap();
    let runs: Vec<_> = (1..=3_u8)
        .map(|seed| {
            let mut run = prepared.run();
            for ((input, _, bytes), place) in transfers.iter().zip(0_u8..) {
                run = run.input(*input, &vec![seed * 10 + place; *bytes]).unwrap();
            }
            run.submit().unwrap()
        })
        .collect();
    for (run, seed) in runs.iter().zip(1_u8..) {
        run.wait().unwrap();
        for ((_, output, bytes), place) in transfers.iter().zip(0_u8..) {
            assert_eq!(
                run.output::<u8>(*output).unwrap(),
                vec![seed * 10 + place; *bytes]
            );
        }
    }
    bench.assert_no_misuse();
}
