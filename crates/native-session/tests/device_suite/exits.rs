//! How stages end, and what stays behind.

use std::future::Future as _;
use std::panic::panic_any;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use native_session::NativeSession;
use runtime_core::lane::DrainScope;
use runtime_core::{Cause, Error, ErrorKind, Lane, QuarantineId, Runtime, TraceKind};

use crate::fixture::session as session_of;
use crate::fixture::*;

/// The quarantine id that the session's refusal carries.
fn refused(session: &mut NativeSession<Model>) -> (QuarantineId, Cause) {
    let by_state = session.state().map(|_| ()).unwrap_err();
    assert_eq!(by_state.kind(), ErrorKind::DeviceLost);
    let by_run = run(session, |_| panic_any("no stage may run")).unwrap_err();
    match (by_state, by_run) {
        (
            Error::DeviceLost {
                quarantine: Some(id),
                cause,
            },
            Error::DeviceLost {
                quarantine: Some(same),
                ..
            },
        ) => {
            assert_eq!(id, same);
            (id, cause)
        }
        other => panic!("{other:?}"),
    }
}

/// Everything that holds for a session whose fence did not drain it.
fn assert_kept(runtime: &Runtime, mut session: NativeSession<Model>, tally: &Tally) -> Cause {
    let (id, cause) = refused(&mut session);
    let entries = runtime.quarantine();
    assert_eq!(entries.len(), 1);
    assert_eq!((entries[0].id, &*entries[0].label), (id, "model"));
    assert_eq!(tally.fences(), 1);

    let (mut other, _) = session_of(runtime);
    run(&mut other, |model| model.enqueued = Some(9)).unwrap();
    assert_eq!(other.state().unwrap().values, [9; 4]);

    drop(session);
    assert_eq!((tally.fences(), tally.drops()), (1, 0));
    assert_eq!(runtime.quarantine().len(), 1);
    cause
}

#[test]
fn borrowed_values_work_in_a_stage() {
    let runtime = runtime();
    let (mut session, tally) = session_of(&runtime);
    let input = [3, 4];
    let mut output = Vec::new();
    let mut steps = 0;
    let mut progress = || steps += 1;
    let sum = run(&mut session, |model| {
        for value in &input {
            output.push(value * 2);
            progress();
        }
        model.enqueued = Some(7);
        assert_eq!(model.values, [0; 4]);
        input.iter().sum::<i32>()
    });
    assert_eq!(sum.unwrap(), 7);
    assert_eq!((output.as_slice(), steps), ([6, 8].as_slice(), 2));
    assert_eq!(session.state().unwrap().values, [7; 4]);
    assert_eq!(tally.fences(), 1);
}

#[test]
fn a_client_error_is_a_value() {
    let runtime = runtime();
    let (mut session, tally) = session_of(&runtime);
    let answer = run(&mut session, |_| Err::<(), _>("not today")).unwrap();
    assert_eq!(answer, Err("not today"));
    assert_eq!(tally.fences(), 1);
    assert!(runtime.quarantine().is_empty());
    assert_eq!(run(&mut session, |_| 5).unwrap(), 5);
}

#[test]
fn a_stage_panic_resumes_after_the_fence() {
    let runtime = runtime();
    let (mut session, tally) = session_of(&runtime);
    let carried = payload(|| {
        run(&mut session, |model| {
            model.enqueued = Some(3);
            panic_any("stage")
        })
    });
    assert_eq!((carried, tally.fences()), ("stage", 1));
    assert_eq!(session.state().unwrap().values, [3; 4]);
    assert_eq!(try_run(&mut session, |_| 5).unwrap(), 5);
}

#[test]
fn a_failed_fence_keeps_its_owner() {
    let runtime = runtime();
    let (mut session, tally) = session_of(&runtime);
    let error = run(&mut session, |model| model.fence = Fence::Fails).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Foreign);
    let cause = assert_kept(&runtime, session, &tally);
    assert!(matches!(cause, Cause::Fence(error) if error.kind() == ErrorKind::Foreign));
}

#[test]
fn a_panicking_fence_keeps_its_owner() {
    let runtime = runtime();
    let (mut session, tally) = session_of(&runtime);
    let carried = payload(|| run(&mut session, |model| model.fence = Fence::Panics));
    assert_eq!(carried, "fence");
    let cause = assert_kept(&runtime, session, &tally);
    assert!(matches!(cause, Cause::FencePanicked));
}

#[test]
fn of_two_panics_the_stage_resumes() {
    let runtime = runtime();
    let (mut session, tally) = session_of(&runtime);
    let carried = payload(|| {
        run(&mut session, |model| {
            model.fence = Fence::Panics;
            panic_any("stage")
        })
    });
    assert_eq!(carried, "stage");
    let cause = assert_kept(&runtime, session, &tally);
    assert!(matches!(cause, Cause::FencePanicked));
}

/// Looks at the quarantine when it is woken, which is on the very thread that
/// frees the lane.
struct Sees {
    runtime: Runtime,
    entries: AtomicUsize,
}

impl Wake for Sees {
    fn wake(self: Arc<Self>) {
        let entries = self.runtime.quarantine().len();
        self.entries.store(entries, Ordering::SeqCst);
    }
}

#[test]
fn the_owner_is_kept_before_others_run() {
    let runtime = runtime();
    let (mut session, _) = session_of(&runtime);
    let sees = Arc::new(Sees {
        runtime: runtime.clone(),
        entries: AtomicUsize::new(usize::MAX),
    });
    let waker = Waker::from(sees.clone());
    let mut waiting = pin!(runtime.lease_async(DrainScope::All));
    run(&mut session, |model| {
        let poll = || {
            let mut context = Context::from_waker(&waker);
            waiting.as_mut().poll(&mut context).is_pending()
        };
        // A thread of its own, since this one is inside the stage.
        assert!(thread::scope(|scope| scope.spawn(poll).join()).unwrap());
        model.fence = Fence::Fails;
    })
    .unwrap_err();
    assert_eq!(sees.entries.load(Ordering::SeqCst), 1);
}

#[test]
fn a_healthy_session_drops_unfenced() {
    let (mut session, tally) = session_of(&runtime());
    run(&mut session, |_| ()).unwrap();
    drop(session);
    assert_eq!((tally.fences(), tally.drops()), (1, 1));
}

fn charged(runtime: &Runtime, fence: Fence) -> (NativeSession<Model>, Arc<Tally>) {
    let (mut model, tally) = Model::new();
    model.fence = fence;
    let charge = runtime.budget().charge(4096, "model").unwrap();
    let builder = NativeSession::builder(runtime).charge(charge);
    // SAFETY: the model has no stream, so there is nothing to drain.
    (unsafe { builder.build(model, drain) }, tally)
}

#[test]
fn an_idle_state_comes_back() {
    let runtime = runtime();
    let (session, tally) = charged(&runtime, Fence::Drains);
    assert_eq!(runtime.budget().used_bytes(), 4096);
    let model = session.into_state().unwrap();
    assert_eq!(runtime.budget().used_bytes(), 0);
    assert_eq!((tally.fences(), tally.drops()), (0, 0));
    drop(model);
    assert_eq!(tally.drops(), 1);
}

#[test]
fn a_quarantined_charge_stays() {
    let runtime = runtime();
    let (mut session, tally) = charged(&runtime, Fence::Fails);
    run(&mut session, |_| ()).unwrap_err();
    assert_eq!(runtime.quarantine()[0].bytes, 4096);
    let session = session.into_state().unwrap_err();
    drop(session);
    assert_eq!((runtime.budget().used_bytes(), tally.drops()), (4096, 0));
}

#[test]
fn a_reclaimed_state_releases_its_charge() {
    let runtime = runtime();
    let (mut session, tally) = charged(&runtime, Fence::Panics);
    payload(|| run(&mut session, |_| ()));
    // SAFETY: the model has no stream that could still run.
    let model = unsafe { session.reclaim() };
    assert!(runtime.quarantine().is_empty());
    assert_eq!(runtime.budget().used_bytes(), 0);
    assert_eq!((tally.fences(), tally.drops()), (1, 0));
    drop(model);
    assert_eq!(tally.drops(), 1);
}

#[test]
fn each_stage_leaves_one_record() {
    const FENCE: Duration = Duration::from_millis(5);
    let runtime = runtime();
    let (mut session, _) = session_of(&runtime);
    run(&mut session, |model| model.fence_takes = FENCE).unwrap();
    run(&mut session, |_| Err::<(), _>("client"))
        .unwrap()
        .unwrap_err();
    payload(|| run(&mut session, |_| panic_any("stage")));
    run(&mut session, |model| model.fence = Fence::Fails).unwrap_err();

    let records = runtime.trace().records;
    let failed: Vec<bool> = records.iter().map(|record| record.failed).collect();
    assert_eq!(failed, [false, false, true, true]);
    for record in &records {
        assert_eq!(
            (record.kind, record.lane),
            (TraceKind::Stage, Lane::Compute)
        );
        assert_eq!(&*record.label, "model");
        assert!(record.ended_at - record.started_at >= FENCE);
    }
    let statistics = runtime.statistics();
    assert_eq!(
        (statistics.stages_admitted, statistics.stages_ended),
        (4, 4)
    );
    assert_eq!(statistics.stages_failed, 2);
    assert!(statistics.stages_fenced_ns >= 4 * 5_000_000);
}

#[test]
fn a_record_starts_after_admission() {
    const WAIT: Duration = Duration::from_millis(5);
    let runtime = runtime();
    let (mut session, _) = session_of(&runtime);
    let lease = runtime.lease(DrainScope::All).unwrap();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| run(&mut session, |_| ()));
        await_waiting(&runtime, 1);
        thread::sleep(WAIT);
        drop(lease);
        waiter.join().unwrap().unwrap();
    });
    let record = &runtime.trace().records[0];
    assert!(record.started_at - record.asked_at >= WAIT);
    assert!(runtime.statistics().stages_waited_ns >= 5_000_000);
}
