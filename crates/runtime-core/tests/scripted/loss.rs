//! The device is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use runtime_core::device::scripted::{Call, ScriptedDevice};
use runtime_core::device::{DeviceFault, MemoryPlacement};
use runtime_core::lane::DrainScope;
use runtime_core::{Cause, Error, ErrorKind, Lane, RuntimeOptions};

use crate::fixture::{Bench, LONG, bench, built, part};

/// A bench that counts the calls of its loss callback.
fn counted() -> (Bench, Arc<AtomicU32>) {
    let calls = Arc::new(AtomicU32::new(0));
    let counter = calls.clone();
    let options = RuntimeOptions::default().on_loss(move |error| {
        assert_eq!(error.kind(), ErrorKind::DeviceLost);
        counter.fetch_add(1, Ordering::Relaxed);
    });
    let bench = built(ScriptedDevice::builder().queue_per_lane(), options);
    (bench, calls)
}

// R25
#[test]
fn a_loss_ends_everything_with_its_cause() {
    let (bench, calls) = counted();
    let (one, two) = (bench.buffer(64), bench.buffer(64));
    let fill = bench.fill("fill", &one.view(), 1);
    let other = bench.copy(Lane::Upload, "copy", &part(&two, 0, 8), &part(&two, 8, 8));
    bench.controls.hold_all();
    let runs = [&fill, &other].map(|graph| graph.run().submit().unwrap());
    std::thread::scope(|scope| {
        let waiters = runs
            .each_ref()
            .map(|run| scope.spawn(|| run.wait_timeout(LONG)));
        bench.controls.lose();
        for waiter in waiters {
            let error = waiter.join().unwrap().unwrap_err();
            assert!(matches!(
                error,
                Error::DeviceLost {
                    quarantine: Some(_),
                    cause: Cause::Device(DeviceFault::Lost { .. })
                }
            ));
        }
    });
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    for error in [
        fill.run().submit().unwrap_err(),
        bench
            .runtime
            .allocate(4, MemoryPlacement::Upload)
            .unwrap_err(),
        bench.runtime.download(&one.view()).unwrap_err(),
        bench.runtime.lease(DrainScope::All).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::DeviceLost, "{error}");
    }
    let statistics = bench.runtime.statistics();
    assert_eq!((statistics.uncertain, statistics.in_flight), (2, 0));
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

// R25
#[test]
fn a_lost_submit_counts_as_submitted() {
    let (bench, calls) = counted();
    let buffer = bench.buffer(64);
    let fill = bench.fill("fill", &buffer.view(), 1);
    let lost = DeviceFault::Lost { call: "submit" };
    bench.controls.fail(Call::Submit, 1, lost);
    let outcome = fill.run().submit().and_then(|run| run.wait_timeout(LONG));
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::DeviceLost);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    assert_eq!(bench.runtime.quarantine().len(), 1);
    drop((fill, buffer));
    // Its memory and its region are kept: the device may still use them.
    assert_eq!(bench.controls.live().buffers, 1);
    bench.assert_no_misuse();
}

// R25
#[test]
fn a_counter_beyond_the_accepted_is_a_loss() {
    let (bench, calls) = counted();
    let buffer = bench.buffer(64);
    let fill = bench.fill("fill", &buffer.view(), 1);
    bench.controls.hold(Lane::Compute);
    let run = fill.run().submit().unwrap();
    bench.controls.force_counter(Lane::Compute, Some(u64::MAX));
    let error = run.wait_timeout(LONG).unwrap_err();
    assert!(matches!(
        error,
        Error::DeviceLost {
            cause: Cause::Timeline,
            ..
        }
    ));
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

// R32, D02
#[test]
fn quarantined_bytes_stay_charged_and_refused() {
    let (bench, _) = counted();
    let (touched, apart) = (bench.buffer(64), bench.buffer(32));
    let alias = part(&touched, 60, 4);
    let fill = bench.fill("fill", &part(&touched, 0, 4), 1);
    bench.controls.hold_all();
    let run = fill.run().submit().unwrap();
    bench.controls.lose();
    let Err(Error::DeviceLost {
        quarantine: Some(id),
        ..
    }) = run.wait_timeout(LONG)
    else {
        panic!("the run ended well");
    };
    let entries = bench.runtime.quarantine();
    assert_eq!(entries.len(), 1);
    let entry = (entries[0].id, &*entries[0].label, entries[0].bytes);
    assert_eq!(entry, (id, "fill", 64));
    let budget = bench.runtime.budget().clone();
    drop((run, fill, touched, alias, apart));
    assert_eq!(budget.used_bytes(), 64);
    assert_eq!(bench.controls.live().buffer_bytes, 64);
    let report = bench.runtime.close(LONG);
    assert_eq!((report.quarantined, report.leaked_bytes), (1, 64));

    // The generation is leaked whole: nothing is destroyed.
    let Bench { runtime, controls } = bench;
    drop(runtime);
    assert!(!controls.wait_dropped(std::time::Duration::from_millis(300)));
    assert_eq!((controls.live().buffers, controls.misuses().len()), (1, 0));
}

// D02
#[test]
fn dropping_everything_after_a_loss_is_quick() {
    let bench = bench();
    let buffer = bench.buffer(64);
    let mut graph = bench.runtime.graph();
    let input = graph.upload(&buffer.view()).unwrap();
    let prepared = graph.prepare().unwrap();
    bench.controls.hold_all();
    let run = prepared
        .run()
        .input(input, &[1; 64])
        .unwrap()
        .submit()
        .unwrap();
    bench.controls.lose();
    let Bench { runtime, controls } = bench;
    drop((runtime, buffer, prepared));
    assert_eq!(
        run.wait_timeout(LONG).unwrap_err().kind(),
        ErrorKind::DeviceLost
    );
    drop(run);
    assert_eq!(controls.misuses(), []);
}

#[test]
fn idle_memory_is_freed_after_a_loss() {
    let bench = bench();
    let buffer = bench.buffer(64);
    let fill = bench.fill("fill", &buffer.view(), 1);
    fill.run().submit().unwrap().wait().unwrap();
    bench.controls.lose();
    drop((fill, buffer));
    let Bench { runtime, controls } = bench;
    assert_eq!(
        (controls.live().buffers, runtime.quarantine().len()),
        (0, 0)
    );
    drop(runtime);
    assert!(controls.wait_dropped(LONG));
}
