//! Stages inside stages, and those who wait beside one.

use std::panic::panic_any;
use std::sync::mpsc;
use std::thread;

use native_session::NativeSession;
use runtime_core::lane::DrainScope;
use runtime_core::{Error, RuntimeOptions};

use crate::probe::{
    LONG, Probe, SHORT, bench, bench_with, is_reentry, run, run_leased, run_within, session,
    try_run, unwound,
};

// N04
#[test]
fn reentry_comes_before_a_ticket() {
    let bench = bench_with(RuntimeOptions::default().max_submissions(1));
    let graph = bench.compute();
    let (mut outer, _) = bench.healthy();
    let (mut inner, _) = bench.healthy();
    let refused = run(&mut outer, |_| {
        // It waits for the lane, and takes the only place.
        let held = graph.run().submit().unwrap();
        let before = bench.statistics();
        let refused = run(&mut inner, |_| ());
        let after = bench.statistics();
        assert_eq!(after.busy_capacity, before.busy_capacity);
        assert_eq!(after.stages_waiting, 0);
        (is_reentry(&refused), held)
    });
    let (was_reentry, held) = refused.unwrap();
    assert!(was_reentry);
    held.wait_timeout(LONG).unwrap();
    assert_eq!(bench.free_places(), 1);
}

// N04
#[test]
fn a_fence_sees_the_mark() {
    let bench = bench();
    let runtime = bench.runtime.clone();
    let (mut session, notes) = bench.fenced_by(move || {
        assert!(runtime.in_stage());
        runtime.try_lease(DrainScope::default()).map(drop)
    });
    assert!(is_reentry(&run(&mut session, |_| ())));
    assert_eq!(notes.all(), ["fence"]);
    assert!(!bench.runtime.in_stage());
}

// N04
#[test]
fn marks_of_two_runtimes_add_up() {
    let (bench, elsewhere) = (bench(), bench());
    let (mut outer, _) = bench.healthy();
    let (mut other, _) = elsewhere.healthy();
    let (mut third, _) = bench.healthy();
    let nested = run(&mut outer, |_| {
        run(&mut other, |_| is_reentry(&try_run(&mut third, |_| ())))
    });
    assert!(nested.unwrap().unwrap());
}

// N05
#[test]
fn a_helper_in_scope_gets_no_lease() {
    let bench = bench();
    let graph = bench.compute();
    let (mut session, _) = bench.healthy();
    let lease = bench.lease();
    let scope = lease.scope();
    let held = run_leased(&mut session, lease, |_| {
        let held = graph.run().submit().unwrap();
        thread::scope(|threads| {
            let helper = threads.spawn(|| {
                let _inside = scope.enter();
                assert!(is_reentry(&held.wait_timeout(LONG)));
                let lease = bench.runtime.lease_timeout(DrainScope::default(), LONG);
                assert!(is_reentry(&lease));
            });
            helper.join().unwrap();
        });
        held
    });
    held.unwrap().wait_timeout(LONG).unwrap();
}

// N05
#[test]
fn every_expired_wait_names_the_stage() {
    let bench = bench();
    let graph = bench.compute();
    let builder = NativeSession::builder(&bench.runtime).label("the holder");
    let mut holder = session(builder, Probe::new(|| Ok(())));
    let (mut waiting, _) = bench.healthy();
    let names = run(&mut holder, |_| {
        thread::scope(|threads| {
            let elsewhere = threads.spawn(|| {
                let held = graph.run().submit().unwrap();
                let by_graph = held.wait_timeout(SHORT);
                let by_session = run_within(&mut waiting, SHORT, |_| ());
                [by_graph, by_session].map(|answer| match answer {
                    Err(Error::TimedOut { lane_held_by, .. }) => lane_held_by,
                    other => panic!("{other:?}"),
                })
            });
            elsewhere.join().unwrap()
        })
    });
    for name in names.unwrap() {
        assert_eq!(name.as_deref(), Some("the holder"));
    }
}

// N05
#[test]
fn other_waiters_are_served_after_it() {
    let bench = bench();
    let graph = bench.compute();
    let (mut session, _) = bench.healthy();
    let (begun, waits) = mpsc::channel();
    thread::scope(|threads| {
        run(&mut session, |_| {
            let held = graph.run().submit().unwrap();
            threads.spawn(move || {
                assert!(!held.is_complete());
                begun.send(()).unwrap();
                held.wait_timeout(LONG).unwrap();
            });
            waits.recv().unwrap();
        })
        .unwrap();
    });
}

// N02
#[test]
fn an_unwinding_caller_finds_the_lane_free() {
    let bench = bench();
    let (mut session, notes) = bench.healthy();
    let runtime = &bench.runtime;
    let mut seen = None;
    let text = unwound(|| {
        // It drops while the panic passes the caller, where a failed assertion
        // would end the process.
        let _look = OnDrop(|| {
            let free = runtime.try_lease(DrainScope::default()).is_ok();
            seen = Some((notes.all(), runtime.in_stage(), free));
        });
        run(&mut session, |_| panic_any("stage"))
    });
    assert_eq!(text, "stage");
    assert_eq!(seen, Some((vec!["fence"], false, true)));
}

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
