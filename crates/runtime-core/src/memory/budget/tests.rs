use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use super::{Holder, MemoryBudget};

#[test]
fn a_charge_returns_its_bytes_once() {
    let budget = MemoryBudget::new(100, "all");
    let charge = budget.charge(60, "table").unwrap();
    assert_eq!((budget.used_bytes(), budget.free_bytes()), (60, 40));
    let alias = budget.clone();
    drop(charge);
    assert_eq!((alias.used_bytes(), alias.free_bytes()), (0, 100));
    assert_eq!(budget.peak_bytes(), 60);
}

#[test]
fn a_refusal_changes_nothing_and_names_holders() {
    let budget = MemoryBudget::new(100, "all");
    let _small = budget.charge(10, "index").unwrap();
    let _large = budget.charge(50, "table").unwrap();
    let _more = budget.charge(7, "index").unwrap();
    let refusal = budget.charge(34, "new").unwrap_err();
    assert_eq!(refusal.requested_bytes, 34);
    assert_eq!(refusal.free_bytes, 33);
    let holder = |label: &str, bytes| Holder {
        label: label.into(),
        bytes,
    };
    let expected = [holder("table", 50), holder("index", 17)];
    assert_eq!(refusal.holders, expected);
    assert_eq!((budget.used_bytes(), budget.peak_bytes()), (67, 67));
    assert_eq!(budget.holders(1), [holder("table", 50)]);
    assert_eq!(
        refusal.with_largest_block(20).to_string(),
        "34 bytes do not fit into the 33 that are free (largest block: 20); \
         held by table (50), index (17)"
    );
}

#[test]
fn absurd_requests_are_refused_without_overflow() {
    let budget = MemoryBudget::new(100, "all");
    let mut held = budget.charge(1, "one").unwrap();
    let refusal = budget.charge(u64::MAX, "absurd").unwrap_err();
    assert_eq!(refusal.requested_bytes, u64::MAX);
    assert!(budget.child(u64::MAX, "absurd").is_err());
    assert_eq!(
        held.resize(u64::MAX).unwrap_err().requested_bytes,
        u64::MAX - 1
    );
    assert_eq!(budget.used_bytes(), 1);

    let widest = MemoryBudget::new(u64::MAX, "widest");
    let all = widest.charge(u64::MAX, "all").unwrap();
    assert!(widest.charge(1, "one more").is_err());
    drop(all);
    assert_eq!(widest.used_bytes(), 0);
}

#[test]
fn an_empty_charge_holds_nothing() {
    let budget = MemoryBudget::new(0, "nothing");
    let mut charge = budget.charge(0, "empty").unwrap();
    assert_eq!(budget.holders(8), []);
    assert_eq!(charge.resize(1).unwrap_err().free_bytes, 0);
    charge.resize(0).unwrap();
    assert_eq!(budget.used_bytes(), 0);
}

#[test]
fn a_resize_moves_only_the_difference() {
    let budget = MemoryBudget::new(100, "all");
    let mut charge = budget.charge(60, "model").unwrap();
    charge.resize(100).unwrap();
    assert_eq!(budget.free_bytes(), 0);
    assert_eq!(charge.resize(101).unwrap_err().requested_bytes, 1);
    assert_eq!(charge.bytes(), 100);
    charge.resize(5).unwrap();
    assert_eq!((budget.used_bytes(), budget.peak_bytes()), (5, 100));
    drop(charge);
    assert_eq!(budget.used_bytes(), 0);
}

#[test]
fn a_child_reserves_its_capacity_in_the_parent() {
    let parent = MemoryBudget::new(100, "parent");
    let child = parent.child(70, "tenant").unwrap();
    assert_eq!(parent.used_bytes(), 70);
    assert_eq!(parent.holders(8)[0].label.as_ref(), "tenant");
    let refusal = child.charge(71, "too much").unwrap_err();
    assert_eq!(refusal.free_bytes, 70);
    let charge = child.charge(70, "all of it").unwrap();
    assert_eq!(parent.used_bytes(), 70);
    // A charge keeps its budget, so the parent's bytes outlive the handles.
    drop(child);
    assert_eq!(parent.used_bytes(), 70);
    drop(charge);
    assert_eq!(parent.used_bytes(), 0);
}

#[test]
fn listeners_run_outside_the_lock() {
    let budget = MemoryBudget::new(100, "all");
    let (told, hears) = mpsc::channel();
    let handle = budget.clone();
    budget.on_release(move |used| {
        // Would never return if the lock were still held.
        let _ = told.send((used, handle.used_bytes()));
    });
    let mut charge = budget.charge(60, "table").unwrap();
    std::thread::spawn(move || {
        charge.resize(80).unwrap();
        charge.resize(30).unwrap();
        drop(charge);
    });
    let patience = Duration::from_secs(20);
    assert_eq!(hears.recv_timeout(patience), Ok((30, 30)));
    assert_eq!(hears.recv_timeout(patience), Ok((0, 0)));
}

#[test]
fn a_panicking_listener_stops_nobody() {
    let budget = MemoryBudget::new(100, "all");
    let heard = Arc::new(AtomicU64::new(0));
    budget.on_release(|_| panic!("from a listener"));
    let counter = heard.clone();
    budget.on_release(move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
    });
    drop(budget.charge(60, "table").unwrap());
    assert_eq!(heard.load(Ordering::Relaxed), 1);
    assert_eq!(budget.used_bytes(), 0);
}

#[test]
fn handles_know_their_budget() {
    let budget = MemoryBudget::new(1, "same");
    assert!(budget.is_same(&budget.clone()));
    assert!(!budget.is_same(&MemoryBudget::new(1, "same")));
    let charge = budget.charge(1, "x").unwrap();
    assert!(charge.budget().is_same(&budget));
    assert_eq!((charge.label(), budget.label()), ("x", "same"));
    assert_eq!(budget.capacity_bytes(), 1);
}
