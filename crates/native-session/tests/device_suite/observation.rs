//! What trace and statistics say of stages.

use std::panic::panic_any;
use std::time::{Duration, Instant};

use native_session::NativeSession;
use runtime_core::lane::DrainScope;
use runtime_core::{Error, Lane, TraceKind, TraceRecord};
use runtime_sync::Mutex;
use runtime_sync::unmodelled::Arc;

use crate::probe::{Bench, Probe, SHORT, bench, look, run, run_leased, session, spend, unwound};

fn stages(bench: &Bench) -> Vec<TraceRecord> {
    let records = bench.runtime.trace().records;
    let stages = records.into_iter();
    stages
        .filter(|record| record.kind == TraceKind::Stage)
        .collect()
}

// N09
#[test]
fn every_exit_leaves_one_record() {
    let bench = bench();
    let (mut healthy, _) = bench.healthy();
    let (mut fails, _) = bench.fenced_by(|| Err(Error::Cancelled));
    let (mut panics, _) = bench.fenced_by(|| panic_any("fence"));
    let before = bench.statistics();

    run(&mut healthy, |_| ()).unwrap();
    assert_eq!(run(&mut healthy, |_| Err::<(), _>(5)).unwrap(), Err(5));
    unwound(|| run(&mut healthy, |_| panic_any("stage")));
    assert!(run(&mut fails, |_| ()).is_err());
    unwound(|| run(&mut panics, |_| ()));
    // It is in quarantine, so this is no stage.
    assert!(run(&mut fails, |_| ()).is_err());

    let records = stages(&bench);
    let failed: Vec<bool> = records.iter().map(|record| record.failed).collect();
    assert_eq!(failed, [false, false, true, true, true]);
    for pair in records.windows(2) {
        assert!(pair[0].id < pair[1].id);
        assert!(pair[0].ended_at <= pair[1].started_at);
    }
    let after = bench.statistics();
    assert_eq!(after.stages_admitted - before.stages_admitted, 5);
    assert_eq!(after.stages_ended - before.stages_ended, 5);
    assert_eq!(after.stages_failed - before.stages_failed, 3);
}

// N09
#[test]
fn a_record_spans_stage_and_fence() {
    let bench = bench();
    let ended = Arc::new(Mutex::new(None));
    let (runtime, note) = (bench.runtime.clone(), ended.clone());
    let probe = Probe::new(move || {
        spend(SHORT);
        assert!(
            runtime
                .trace()
                .records
                .iter()
                .all(|record| &*record.label != "timed")
        );
        *note.lock() = Some(Instant::now());
        Ok(())
    });
    let builder = NativeSession::builder(&bench.runtime).label("timed");
    let mut session = session(builder, probe);
    let before = bench.statistics();

    let held = bench.lease();
    let mut asked = Box::pin(bench.runtime.lease_async(DrainScope::default()));
    assert!(look(&mut asked).is_pending());
    spend(SHORT);
    drop(held);
    let lease = runtime_sync::block_on(asked).unwrap();
    let began = run_leased(&mut session, lease, |_| {
        let began = Instant::now();
        spend(SHORT);
        began
    });

    let inside = ended.lock().unwrap().duration_since(began.unwrap());
    let records = stages(&bench);
    let [record] = &records[..] else {
        panic!("{records:?}");
    };
    assert_eq!((&*record.label, record.lane), ("timed", Lane::Compute));
    assert!(record.started_at - record.asked_at >= SHORT);
    assert!(record.ended_at - record.started_at >= inside);
    let after = bench.statistics();
    let nanoseconds = Duration::from_nanos;
    assert!(nanoseconds(after.stages_waited_ns - before.stages_waited_ns) >= SHORT);
    assert!(nanoseconds(after.stages_ran_ns - before.stages_ran_ns) >= SHORT);
    assert!(nanoseconds(after.stages_fenced_ns - before.stages_fenced_ns) >= SHORT);
}
