//! A fence that cannot drain.

use std::panic::panic_any;
use std::task::{Context, Wake, Waker};

use native_session::NativeSession;
use runtime_core::lane::DrainScope;
use runtime_core::quarantine::OwnerKind;
use runtime_core::{Cause, Error, ErrorKind, MemoryBudget, QuarantineId, Result, Runtime};

use crate::probe::{
    Bench, LONG, Notes, Probe, Session, bench, run, run_leased, run_within, session, try_run,
    unwound,
};

/// Ways for a session to end in quarantine.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    FenceFails,
    FencePanics,
    BothPanic,
}

const WAYS: [Way; 3] = [Way::FenceFails, Way::FencePanics, Way::BothPanic];

impl Way {
    fn fence(self) -> Result<()> {
        match self {
            Self::FenceFails => Err(Error::Cancelled),
            Self::FencePanics | Self::BothPanic => panic_any("fence"),
        }
    }

    fn cause_fits(self, cause: &Cause) -> bool {
        match (self, cause) {
            (Self::FenceFails, Cause::Fence(error)) => matches!(**error, Error::Cancelled),
            (Self::FencePanics | Self::BothPanic, Cause::FencePanicked) => true,
            _ => false,
        }
    }
}

/// A session with 100 bytes that has gone this way.
fn lost(bench: &Bench, budget: &MemoryBudget, way: Way) -> (Session, Notes) {
    let probe = Probe::new(move || way.fence());
    let notes = probe.notes.clone();
    let builder = NativeSession::builder(&bench.runtime)
        .label("fragile")
        .charge(budget.charge(60, "weights").unwrap())
        .charge(budget.charge(40, "cache").unwrap());
    let mut session = session(builder, probe);
    match way {
        Way::FenceFails => {
            let answer = run(&mut session, |_| 1);
            assert!(matches!(answer, Err(Error::Cancelled)), "{answer:?}");
        }
        Way::FencePanics => assert_eq!(unwound(|| run(&mut session, |_| 1)), "fence"),
        Way::BothPanic => {
            let text = unwound(|| run(&mut session, |_| panic_any("stage")));
            assert_eq!(text, "stage");
        }
    }
    assert_eq!(notes.all(), ["fence"]);
    (session, notes)
}

/// The id in an answer of kind `DeviceLost`.
fn lost_as<R>(way: Way, answer: Result<R>) -> QuarantineId {
    let Err(error) = answer else {
        panic!("{way:?}: it should be lost");
    };
    assert_eq!(error.kind(), ErrorKind::DeviceLost);
    match error {
        Error::DeviceLost {
            quarantine: Some(id),
            cause,
        } if way.cause_fits(&cause) => id,
        other => panic!("{way:?}: {other:?}"),
    }
}

// N03
#[test]
fn the_charges_of_the_lost_stay() {
    for way in WAYS {
        let bench = bench();
        let budget = MemoryBudget::new(100, "budget");
        let (session, notes) = lost(&bench, &budget, way);
        drop(session);
        assert_eq!(notes.all(), ["fence"], "{way:?}");
        assert_eq!(budget.used_bytes(), 100, "{way:?}");
        let listed = bench.runtime.quarantine();
        assert_eq!(listed.len(), 1, "{way:?}");
        assert_eq!((&*listed[0].label, listed[0].bytes), ("fragile", 100));
        assert_eq!(listed[0].owner, OwnerKind::Native);
        assert!(way.cause_fits(&listed[0].cause), "{way:?}");
        assert_eq!(bench.statistics().quarantined, 1);
    }
}

// N03
#[test]
fn a_quarantined_session_says_so() {
    for way in WAYS {
        let bench = bench();
        let budget = MemoryBudget::new(100, "budget");
        let (mut session, notes) = lost(&bench, &budget, way);
        let id = bench.runtime.quarantine()[0].id;
        let before = bench.statistics();
        assert_eq!(lost_as(way, session.state()), id);
        assert_eq!(lost_as(way, run(&mut session, stage)), id);
        assert_eq!(lost_as(way, try_run(&mut session, stage)), id);
        assert_eq!(lost_as(way, run_within(&mut session, LONG, stage)), id);
        let lease = bench.lease();
        assert_eq!(lost_as(way, run_leased(&mut session, lease, stage)), id);
        assert_eq!(notes.all(), ["fence"], "{way:?}");
        let after = bench.statistics();
        // The one lease was asked for here.
        assert_eq!(after.stages_admitted - before.stages_admitted, 1);
        assert_eq!(after.stages_ended, after.stages_admitted);
    }
}

fn stage(probe: &mut Probe) {
    probe.notes.add("stage");
}

// N03
#[test]
fn being_lost_comes_before_reentry() {
    let bench = bench();
    let budget = MemoryBudget::new(100, "budget");
    let (mut lost, _) = lost(&bench, &budget, Way::FenceFails);
    let (mut other, _) = bench.healthy();
    let answer = run(&mut other, |_| run(&mut lost, stage)).unwrap();
    lost_as(Way::FenceFails, answer);
}

/// Looks at the quarantine in the moment in which the lane becomes free.
struct Observer {
    runtime: Runtime,
    notes: Notes,
}

impl Wake for Observer {
    fn wake(self: std::sync::Arc<Self>) {
        let quarantined = !self.runtime.quarantine().is_empty();
        self.notes.add(if quarantined { "kept" } else { "early" });
    }
}

// N03
#[test]
fn the_owner_is_kept_before_the_lane() {
    for way in WAYS {
        let bench = bench();
        let (mut session, _) = bench.fenced_by(move || way.fence());
        let lease = bench.lease();
        let notes = Notes::default();
        let waker = Waker::from(std::sync::Arc::new(Observer {
            runtime: bench.runtime.clone(),
            notes: notes.clone(),
        }));
        let mut next = Box::pin(bench.runtime.lease_async(DrainScope::default()));
        let pending = next.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(pending.is_pending());
        match way {
            Way::FenceFails => assert!(run_leased(&mut session, lease, |_| ()).is_err()),
            _ => assert_eq!(unwound(|| run_leased(&mut session, lease, |_| ())), "fence"),
        }
        assert_eq!(notes.all(), ["kept"], "{way:?}");
    }
}

/// A stage's value that looks around when it is dropped.
struct Value {
    runtime: Runtime,
    notes: Notes,
}

impl Drop for Value {
    fn drop(&mut self) {
        assert_eq!(self.runtime.quarantine().len(), 1);
        assert!(!self.runtime.in_stage());
        drop(self.runtime.try_lease(DrainScope::default()).unwrap());
        self.notes.add("dropped");
    }
}

// N03
#[test]
fn a_lost_value_drops_after_the_lane() {
    for way in [Way::FenceFails, Way::FencePanics] {
        let bench = bench();
        let (mut session, _) = bench.fenced_by(move || way.fence());
        let notes = Notes::default();
        let value = Value {
            runtime: bench.runtime.clone(),
            notes: notes.clone(),
        };
        match way {
            Way::FenceFails => assert!(run(&mut session, |_| value).is_err()),
            _ => assert_eq!(unwound(|| run(&mut session, |_| value)), "fence"),
        }
        assert_eq!(notes.all(), ["dropped"], "{way:?}");
    }
}
