//! Bytes are reserved before they are allocated.

use runtime_core::device::MemoryPlacement;
use runtime_core::{Error, MemoryBudget, RuntimeOptions};

use crate::fixture::bench_with;

// R33
#[test]
fn an_allocation_over_budget_changes_nothing() {
    let budget = MemoryBudget::new(1000, "all");
    let bench = bench_with(RuntimeOptions::default().budget(budget.clone()));
    let live = || bench.controls.as_ref().map(|controls| controls.live());
    let kept = bench
        .runtime
        .allocate_named(600, MemoryPlacement::Device, "kept")
        .unwrap();
    let before = (budget.used_bytes(), budget.peak_bytes(), live());

    let refused = bench.runtime.allocate(401, MemoryPlacement::Device);
    let Err(Error::OverBudget(over)) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!((over.requested_bytes, over.free_bytes), (401, 400));
    assert_eq!(
        (&*over.holders[0].label, over.holders[0].bytes),
        ("kept", 600)
    );
    assert_eq!((budget.used_bytes(), budget.peak_bytes(), live()), before);

    let fits = bench
        .runtime
        .allocate(400, MemoryPlacement::Device)
        .unwrap();
    assert_eq!(budget.free_bytes(), 0);
    drop((kept, fits));
    assert_eq!(budget.used_bytes(), 0);
}

// R33
#[test]
fn the_last_alias_gives_the_charge_back() {
    let budget = MemoryBudget::new(1 << 20, "all");
    let bench = bench_with(RuntimeOptions::default().budget(budget.clone()));
    let buffer = bench.buffer(4096);
    let view = buffer.view().slice(8, 8).unwrap();
    drop(buffer);
    assert_eq!(budget.used_bytes(), 4096);
    let mut graph = bench.runtime.graph();
    graph.fill(&view, 3).unwrap();
    let prepared = graph.prepare().unwrap();
    drop(view);
    assert_eq!(budget.used_bytes(), 4096);
    let run = prepared.run().submit().unwrap();
    run.wait().unwrap();
    drop(prepared);
    drop(run);
    assert_eq!(budget.used_bytes(), 0);
}

#[test]
fn staging_is_charged_too() {
    let budget = MemoryBudget::new(150, "all");
    let bench = bench_with(
        RuntimeOptions::default()
            .budget(budget.clone())
            .run_slots(2),
    );
    let buffer = bench.buffer(70);
    let mut graph = bench.runtime.graph();
    graph.upload(&buffer.view()).unwrap();
    assert!(matches!(graph.prepare(), Err(Error::OverBudget(_))));
    assert_eq!(budget.used_bytes(), 70);
    drop(buffer);
    assert_eq!(budget.used_bytes(), 0);
}
