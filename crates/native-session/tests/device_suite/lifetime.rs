//! The ends of a session.

use native_session::NativeSession;
use runtime_core::{Error, MemoryBudget};

use crate::probe::{Bench, Notes, Probe, Session, bench, reclaim, run, session};

/// A session with 100 bytes of `budget`, and its notes.
fn charged(bench: &Bench, budget: &MemoryBudget, probe: Probe) -> (Session, Notes) {
    let notes = probe.notes.clone();
    let builder = NativeSession::builder(&bench.runtime)
        .charge(budget.charge(60, "state").unwrap())
        .charge(budget.charge(40, "state").unwrap());
    (session(builder, probe), notes)
}

// N11
#[test]
fn a_healthy_drop_ends_the_state_once() {
    let bench = bench();
    let budget = MemoryBudget::new(100, "budget");
    let mut probe = Probe::new(|| Ok(()));
    let (seen, notes) = (budget.clone(), probe.notes.clone());
    probe.at_end = Some(Box::new(move || {
        if seen.used_bytes() == 100 {
            notes.add("still charged");
        }
    }));
    let (mut session, notes) = charged(&bench, &budget, probe);
    run(&mut session, |_| ()).unwrap();
    drop(session);
    assert_eq!(notes.all(), ["fence", "end", "still charged"]);
    assert_eq!(budget.used_bytes(), 0);
}

// N11
#[test]
fn a_reclaimed_state_leaves_the_quarantine() {
    let bench = bench();
    let budget = MemoryBudget::new(150, "budget");
    let _others = budget.charge(50, "state").unwrap();
    let fails = || Probe::new(|| Err(Error::Cancelled));
    let (mut session, notes) = charged(&bench, &budget, fails());
    assert!(run(&mut session, |probe| probe.number = 7).is_err());

    // Nothing but a proof brings it back.
    let Err(session) = session.into_state() else {
        panic!("it is in quarantine");
    };
    assert_eq!(
        (bench.runtime.quarantine().len(), budget.used_bytes()),
        (1, 150)
    );

    let state = reclaim(session);
    assert_eq!(state.number, 7);
    assert_eq!(notes.all(), ["fence"]);
    assert!(bench.runtime.quarantine().is_empty());
    assert_eq!(budget.used_bytes(), 50);
    drop(state);
    assert_eq!(notes.all(), ["fence", "end"]);
    assert_eq!(budget.used_bytes(), 50);
}

// N11
#[test]
fn a_healthy_session_can_be_reclaimed() {
    let bench = bench();
    let budget = MemoryBudget::new(100, "budget");
    let (session, notes) = charged(&bench, &budget, Probe::new(|| Ok(())));
    let state = reclaim(session);
    assert_eq!(budget.used_bytes(), 0);
    assert_eq!(notes.all(), [""; 0]);
    drop(state);
    assert_eq!(notes.all(), ["end"]);
}
