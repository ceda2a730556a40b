//! The line that stages wait in.

use std::panic::panic_any;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use runtime_core::lane::DrainScope;
use runtime_core::{Busy, Error, Runtime, RuntimeOptions, TraceKind};

use crate::fixture::*;

fn is_full<R>(answer: &runtime_core::Result<R>) -> bool {
    matches!(answer, Err(Error::Busy(Busy::Capacity { .. })))
}

#[test]
fn stages_run_in_the_order_asked() {
    let runtime = runtime();
    let running = AtomicU32::new(0);
    let (log, order) = mpsc::channel();
    let lease = runtime.lease(DrainScope::All).unwrap();
    thread::scope(|scope| {
        for place in 0..4 {
            let (log, running) = (log.clone(), &running);
            let (mut session, _) = session(&runtime);
            scope.spawn(move || {
                run(&mut session, |_| {
                    assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0);
                    log.send(place).unwrap();
                    thread::yield_now();
                    running.fetch_sub(1, Ordering::SeqCst);
                })
                .unwrap();
            });
            await_waiting(&runtime, place + 1);
        }
        drop(lease);
    });
    drop(log);
    assert_eq!(order.iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
}

/// With one place: a stage may wait beside the active one, a second may not.
fn assert_one_place(runtime: &Runtime) {
    let lease = runtime.lease(DrainScope::All).unwrap();
    let (mut waiting, _) = session(runtime);
    let (mut refused, _) = session(runtime);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| run(&mut waiting, |_| ()));
        await_waiting(runtime, 1);
        assert!(is_full(&run(&mut refused, |_| ())));
        drop(lease);
        waiter.join().unwrap().unwrap();
    });
}

#[test]
fn every_exit_gives_its_place_back() {
    let runtime = runtime_with(RuntimeOptions::default().max_submissions(1));
    let (mut one, _) = session(&runtime);
    assert_one_place(&runtime);
    run(&mut one, |_| ()).unwrap();
    assert_one_place(&runtime);
    run(&mut one, |_| Err::<(), _>("client"))
        .unwrap()
        .unwrap_err();
    assert_one_place(&runtime);
    payload(|| run(&mut one, |_| panic_any("stage")));
    assert_one_place(&runtime);
    run(&mut one, |model| model.fence = Fence::Fails).unwrap_err();
    assert_one_place(&runtime);
    let (mut two, _) = session(&runtime);
    payload(|| run(&mut two, |model| model.fence = Fence::Panics));
    assert_one_place(&runtime);
}

#[test]
fn a_bounded_run_waits_for_a_place() {
    let runtime = runtime_with(RuntimeOptions::default().max_submissions(1));
    let (log, order) = mpsc::channel();
    let (mut first, _) = session(&runtime);
    let (mut second, _) = session(&runtime);
    let (mut refused, tally) = session(&runtime);
    let lease = runtime.lease(DrainScope::All).unwrap();
    thread::scope(|scope| {
        let first_log = log.clone();
        let one = scope.spawn(move || run(&mut first, |_| first_log.send(1).unwrap()));
        await_waiting(&runtime, 1);
        assert!(is_full(&run(&mut refused, |_| ())));
        let two = scope.spawn(move || run_within(&mut second, PATIENCE, |_| log.send(2).unwrap()));
        drop(lease);
        one.join().unwrap().unwrap();
        two.join().unwrap().unwrap();
    });
    assert_eq!(order.iter().collect::<Vec<_>>(), [1, 2]);
    assert_eq!(tally.fences(), 0);
}

#[test]
fn an_expired_run_leaves_nothing_behind() {
    let runtime = runtime_with(RuntimeOptions::default().max_submissions(1));
    let (mut session, tally) = session(&runtime);
    let mut lease = runtime.lease(DrainScope::All).unwrap();
    lease.name("holder");
    let mut ran = false;
    let expired = run_within(&mut session, Duration::from_millis(5), |_| ran = true);
    let Err(Error::TimedOut { lane_held_by, .. }) = expired else {
        panic!("the lane was held");
    };
    assert_eq!(lane_held_by.as_deref(), Some("holder"));
    assert_eq!((ran, tally.fences()), (false, 0));
    assert_eq!(runtime.statistics().stages_waiting, 0);
    drop(lease);
    let stages = |record: &runtime_core::TraceRecord| record.kind == TraceKind::Stage;
    assert!(!runtime.trace().records.iter().any(stages));
    assert_one_place(&runtime);
    assert_eq!(try_run(&mut session, |_| 5).unwrap(), 5);
}

#[test]
fn a_held_lane_is_busy_at_once() {
    let runtime = runtime();
    let (mut session, tally) = session(&runtime);
    let lease = runtime.lease(DrainScope::All).unwrap();
    let refused = try_run(&mut session, |_| ());
    assert!(matches!(refused, Err(Error::Busy(Busy::Lane))));
    assert_eq!(tally.fences(), 0);
    drop(lease);
    try_run(&mut session, |_| ()).unwrap();
}
