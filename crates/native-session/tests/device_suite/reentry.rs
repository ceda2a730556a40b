//! Stages that ask for the lane which they hold.

use std::panic::panic_any;
use std::thread;
use std::time::Duration;

use runtime_core::device::MemoryPlacement;
use runtime_core::lane::DrainScope;
use runtime_core::{Busy, Completion, Error, Runtime};

use crate::fixture::*;

fn is_reentry<R>(answer: &runtime_core::Result<R>) -> bool {
    matches!(answer, Err(Error::Busy(Busy::Reentry)))
}

#[test]
fn a_nested_session_is_refused_unticketed() {
    let runtime = runtime();
    let (mut outer, _) = session(&runtime);
    let (mut inner, tally) = session(&runtime.clone());
    run(&mut outer, |_| {
        assert!(is_reentry(&run(&mut inner, |_| ())));
        assert!(is_reentry(&run_within(&mut inner, PATIENCE, |_| ())));
        assert!(is_reentry(&try_run(&mut inner, |_| ())));
    })
    .unwrap();
    assert_eq!(tally.fences(), 0);
    assert_eq!(runtime.statistics().stages_admitted, 1);
    run(&mut inner, |_| ()).unwrap();
    run(&mut outer, |_| ()).unwrap();
}

#[test]
fn an_unwind_clears_the_mark() {
    let runtime = runtime();
    let (mut outer, _) = session(&runtime);
    let (mut inner, _) = session(&runtime);
    payload(|| {
        run(&mut outer, |_| {
            assert!(is_reentry(&run(&mut inner, |_| ())));
            panic_any("stage")
        })
    });
    assert!(!runtime.in_stage());
    run(&mut inner, |_| ()).unwrap();
    run(&mut outer, |_| ()).unwrap();
}

#[test]
fn a_fence_is_inside_its_stage() {
    fn refused(runtime: &mut Runtime) -> runtime_core::Result<()> {
        assert!(is_reentry(&runtime.lease(DrainScope::All)));
        Ok(())
    }
    let runtime = runtime();
    // SAFETY: the state has no stream.
    let mut session =
        unsafe { native_session::NativeSession::new(&runtime, runtime.clone(), refused) };
    // SAFETY: the stage does nothing.
    unsafe { session.run(|_| ()) }.unwrap();
}

#[test]
fn another_runtimes_session_is_allowed() {
    let (first, second) = (runtime(), runtime());
    let (mut outer, _) = session(&first);
    let (mut inner, tally) = session(&second);
    run(&mut outer, |_| run(&mut inner, |_| ()).unwrap()).unwrap();
    assert_eq!(tally.fences(), 1);
}

/// Compute work that cannot start while a stage holds the lane.
fn coordinated(runtime: &Runtime) -> impl Fn() -> Completion + use<> {
    let buffer = runtime.allocate(64, MemoryPlacement::Device).unwrap();
    let mut graph = runtime.graph();
    graph.fill(&buffer.view(), 7).unwrap();
    let prepared = graph.prepare().unwrap();
    move || prepared.run().submit().unwrap()
}

#[test]
fn waiting_for_compute_inside_is_refused() {
    let runtime = runtime();
    let submit = coordinated(&runtime);
    let (mut session, _) = session(&runtime);
    let completion = run(&mut session, |_| {
        let completion = submit();
        assert!(is_reentry(&completion.wait()));
        completion
    })
    .unwrap();
    completion.wait().unwrap();
}

#[test]
fn a_helper_in_the_scope_is_refused() {
    let runtime = runtime();
    let submit = coordinated(&runtime);
    let (mut session, _) = session(&runtime);
    let lease = runtime.lease(DrainScope::All).unwrap();
    let scope = lease.scope();
    let stage = |_: &mut Model| {
        let completion = submit();
        let waiting = completion.clone();
        let helper = thread::spawn(move || {
            let _inside = scope.enter();
            waiting.wait()
        });
        assert!(is_reentry(&helper.join().unwrap()));
        completion
    };
    // SAFETY: the model has no stream, and the stage's waits are refused.
    let completion = unsafe { session.run_leased(lease, stage) }.unwrap();
    completion.wait().unwrap();
}

#[test]
fn an_expired_wait_names_the_stage() {
    let runtime = runtime();
    let submit = coordinated(&runtime);
    let (mut session, _) = named_session(&runtime, "long one");
    let completion = run(&mut session, |_| {
        let completion = submit();
        let waiting = completion.clone();
        let elsewhere = thread::spawn(move || waiting.wait_timeout(Duration::from_millis(5)));
        let Err(Error::TimedOut { lane_held_by, .. }) = elsewhere.join().unwrap() else {
            panic!("the work cannot have started");
        };
        assert_eq!(lane_held_by.as_deref(), Some("long one"));
        completion
    })
    .unwrap();
    completion.wait().unwrap();
}

#[test]
fn a_foreign_lease_is_refused() {
    let (first, second) = (runtime(), runtime());
    let (mut session, tally) = session(&first);
    let lease = second.lease(DrainScope::All).unwrap();
    // SAFETY: the stage does nothing.
    let refused = unsafe { session.run_leased(lease, |_| ()) };
    assert!(matches!(refused, Err(Error::Invalid(_))));
    assert_eq!(tally.fences(), 0);
    second.try_lease(DrainScope::All).unwrap();
}
