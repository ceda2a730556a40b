use super::{Gate, ObservationPermit};
use runtime_sync::atomic::{AtomicU64, Ordering};
use runtime_sync::{Arc, model, thread};

/// What the model counts; relaxed, since the joins order every read.
struct Tally {
    begun: AtomicU64,
    reports: AtomicU64,
}

fn tally() -> Arc<Tally> {
    Arc::new(Tally {
        begun: AtomicU64::new(0),
        reports: AtomicU64::new(0),
    })
}

#[test]
fn an_attempt_racing_close_is_reported_or_never_begun() {
    model("gate: attempts racing close", || {
        let gate = Arc::new(Gate::new(8));
        let tally = tally();
        let (waiting, seen) = (gate.clone(), tally.clone());
        let closer = thread::spawn_named("closer", move || {
            while !waiting.park_unless_gpu_quiescent() {}
            assert_eq!(waiting.snapshot().gpu_permits, 0);
            waiting.wait_observation_quiescent();
            // Close is over here, so every begun attempt has its report.
            let reports = seen.reports.load(Ordering::Relaxed);
            assert_eq!(seen.begun.load(Ordering::Relaxed), reports);
            reports
        })
        .unwrap();
        gate.set_closer(closer.thread().clone());
        let attempts: Vec<_> = (0..2)
            .map(|_| {
                let (gate, tally) = (gate.clone(), tally.clone());
                thread::spawn_named("attempt", move || {
                    let Ok(observation) = ObservationPermit::begin(&gate) else {
                        return 0;
                    };
                    tally.begun.fetch_add(1, Ordering::Relaxed);
                    let gpu = observation.enter_gpu();
                    drop(gpu);
                    tally.reports.fetch_add(1, Ordering::Relaxed);
                    drop(observation);
                    1
                })
                .unwrap()
            })
            .collect();
        assert!(gate.close());
        let begun: u64 = attempts
            .into_iter()
            .map(|attempt| attempt.join().unwrap())
            .sum();
        // The close thread saw all of them: quiescence is reached once, for good.
        assert_eq!(closer.join().unwrap(), begun);
        assert!(ObservationPermit::begin(&gate).is_err());
    });
}

#[test]
fn one_of_several_closers_wins() {
    model("gate: several closers", || {
        let gate = Arc::new(Gate::new(8));
        let waiting = gate.clone();
        let closer = thread::spawn_named("closer", move || waiting.wait_observation_quiescent());
        let closer = closer.unwrap();
        gate.set_closer(closer.thread().clone());
        let other = gate.clone();
        let rival = thread::spawn_named("rival", move || other.close()).unwrap();
        let mine = gate.close();
        assert!(mine != rival.join().unwrap());
        closer.join().unwrap();
    });
}
