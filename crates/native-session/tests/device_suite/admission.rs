//! The line to the lane: its order, its bound, and who leaves it.

use std::panic::panic_any;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use runtime_core::lane::DrainScope;
use runtime_core::{Busy, Error, Lease, RuntimeOptions};
use runtime_sync::block_on;

use crate::probe::{
    Bench, LONG, Notes, SHORT, bench, bench_with, is_reentry, look, run, run_leased, run_within,
    try_run, unwound,
};

fn lease(look: Poll<runtime_core::Result<Lease>>) -> Lease {
    match look {
        Poll::Ready(lease) => lease.unwrap(),
        Poll::Pending => panic!("it should have the lane"),
    }
}

// N06
#[test]
fn futures_are_served_in_order() {
    let bench = bench();
    let ask = || Box::pin(bench.runtime.lease_async(DrainScope::default()));
    let first = bench.lease();
    let [mut second, mut third, mut fourth] = [ask(), ask(), ask()];
    assert!(look(&mut second).is_pending());
    assert!(look(&mut third).is_pending());
    assert!(look(&mut fourth).is_pending());
    assert_eq!(bench.statistics().stages_waiting, 3);

    drop(first);
    assert!(look(&mut fourth).is_pending());
    assert!(look(&mut third).is_pending());
    let held = lease(look(&mut second));
    assert!(look(&mut fourth).is_pending());
    assert!(look(&mut third).is_pending());
    drop(held);
    assert!(look(&mut fourth).is_pending());
    let held = lease(look(&mut third));
    assert!(look(&mut fourth).is_pending());
    drop(held);
    drop(lease(look(&mut fourth)));
}

// N06
#[test]
fn a_newcomer_passes_no_ticket() {
    let bench = bench();
    let (mut session, _) = bench.healthy();
    let held = bench.lease();
    let mut waiting = Box::pin(bench.runtime.lease_async(DrainScope::default()));
    assert!(look(&mut waiting).is_pending());
    drop(held);
    let answer = try_run(&mut session, |_| ());
    assert!(matches!(answer, Err(Error::Busy(Busy::Lane))), "{answer:?}");
    drop(lease(look(&mut waiting)));
    try_run(&mut session, |_| ()).unwrap();
}

// N06
#[test]
fn at_most_one_stage_runs() {
    let bench = bench_with(RuntimeOptions::default().max_submissions(3));
    let (inside, ran) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|threads| {
        for thread in 0..6 {
            let (bench, inside, ran) = (&bench, &inside, &ran);
            threads.spawn(move || {
                let (mut session, _) = bench.healthy();
                for round in 0..40 {
                    let stage = || {
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        ran.fetch_add(1, Ordering::SeqCst);
                    };
                    if (thread + round) % 3 == 0 {
                        let lease = bench.runtime.lease_async(DrainScope::default());
                        let lease = block_on(lease).unwrap();
                        run_leased(&mut session, lease, |_| stage()).unwrap();
                    } else {
                        run_within(&mut session, LONG, |_| stage()).unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(ran.into_inner(), 240);
    assert_eq!(bench.free_places(), 3);
}

/// A stage or a wait that ended in one of the ways there are.
fn end(bench: &Bench, way: &str) {
    let (mut session, _) = match way {
        "fence error" => bench.fenced_by(|| Err(Error::Cancelled)),
        "fence panic" | "both panic" => bench.fenced_by(|| panic_any("fence")),
        _ => bench.healthy(),
    };
    match way {
        "value" | "client error" => {
            let value = if way == "value" { Ok(()) } else { Err(()) };
            assert_eq!(run(&mut session, |_| value).unwrap(), value);
        }
        "fence error" => assert!(run(&mut session, |_| ()).is_err()),
        "fence panic" => assert_eq!(unwound(|| run(&mut session, |_| ())), "fence"),
        "stage panic" | "both panic" => {
            let text = unwound(|| run(&mut session, |_| panic_any("stage")));
            assert_eq!(text, "stage");
        }
        "reentry" => {
            let (mut outer, _) = bench.healthy();
            let answer = run(&mut outer, |_| run(&mut session, |_| ())).unwrap();
            assert!(is_reentry(&answer));
        }
        "lane" => {
            let _held = bench.lease();
            let answer = try_run(&mut session, |_| ());
            assert!(matches!(answer, Err(Error::Busy(Busy::Lane))));
        }
        "expired" => {
            let _held = bench.lease();
            let answer = run_within(&mut session, Duration::ZERO, |_| ());
            assert!(matches!(answer, Err(Error::TimedOut { .. })));
        }
        "future" => {
            let _held = bench.lease();
            let mut future = Box::pin(bench.runtime.lease_async(DrainScope::default()));
            assert!(look(&mut future).is_pending());
        }
        "future with the lane" => {
            let held = bench.lease();
            let mut future = Box::pin(bench.runtime.lease_async(DrainScope::default()));
            assert!(look(&mut future).is_pending());
            drop(held);
        }
        other => panic!("{other}"),
    }
}

// N06
#[test]
fn no_exit_keeps_a_place() {
    let bench = bench_with(RuntimeOptions::default().max_submissions(2));
    let ways = [
        "value",
        "client error",
        "fence error",
        "fence panic",
        "stage panic",
        "both panic",
        "reentry",
        "lane",
        "expired",
        "future",
        "future with the lane",
    ];
    for way in ways {
        end(&bench, way);
        drop(bench.runtime.try_lease(DrainScope::default()).expect(way));
        assert_eq!(bench.statistics().stages_waiting, 0, "{way}");
        assert_eq!(bench.free_places(), 2, "{way}");
    }
    let statistics = bench.statistics();
    assert_eq!(statistics.stages_failed, 4);
}

// N10
#[test]
fn a_full_line_refuses_at_once() {
    let bench = bench_with(RuntimeOptions::default().max_submissions(1));
    let graph = bench.compute();
    let (mut session, notes) = bench.healthy();
    let held = bench.lease();
    let submitted = graph.run().submit().unwrap();
    let answer = run(&mut session, |_| ());
    let Err(Error::Busy(Busy::Capacity { limit })) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(limit, 1);
    drop(held);
    submitted.wait_timeout(LONG).unwrap();
    assert_eq!(notes.all(), [""; 0]);
    run(&mut session, |_| ()).unwrap();
}

// N10
#[test]
fn only_waiting_stages_count_as_entered() {
    let bench = bench_with(RuntimeOptions::default().max_submissions(1));
    let (mut session, _) = bench.healthy();
    let held = bench.lease();
    let mut waiting = Box::pin(bench.runtime.lease_async(DrainScope::default()));
    assert!(look(&mut waiting).is_pending());
    let answer = run(&mut session, |_| ());
    let full = matches!(answer, Err(Error::Busy(Busy::Capacity { limit: 1 })));
    assert!(full, "{answer:?}");
    drop(held);

    // An active stage holds no place, so that the next one may wait.
    let active = lease(look(&mut waiting));
    let answer = run_within(&mut session, Duration::ZERO, |_| ());
    assert!(matches!(answer, Err(Error::TimedOut { .. })), "{answer:?}");
    let answer = try_run(&mut session, |_| ());
    assert!(matches!(answer, Err(Error::Busy(Busy::Lane))), "{answer:?}");
    drop(active);
    run(&mut session, |_| ()).unwrap();
}

// N10
#[test]
fn a_bounded_wait_waits_for_a_place() {
    let bench = bench_with(RuntimeOptions::default().max_submissions(1));
    let graph = bench.compute();
    let (mut session, _) = bench.healthy();
    let held = bench.lease();
    let submitted = graph.run().submit().unwrap();
    let answer = run_within(&mut session, SHORT, |_| ());
    assert!(matches!(answer, Err(Error::TimedOut { .. })), "{answer:?}");

    // In turn, too: the future asked for the place first.
    let mut first = Box::pin(bench.runtime.lease_async(DrainScope::default()));
    assert!(look(&mut first).is_pending());
    let order = Notes::default();
    thread::scope(|threads| {
        threads.spawn(|| {
            run_within(&mut session, LONG, |_| order.add("second")).unwrap();
        });
        drop(held);
        let active = block_on(first).unwrap();
        assert!(submitted.is_complete());
        order.add("first");
        drop(active);
    });
    assert_eq!(order.all(), ["first", "second"]);
}
