//! Everything at once, on real threads and the real clock.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use backend_session::{
    Attempt, BeginAttemptRequest, Ending, GpuBackend, GpuBackendSession, QueryAdmissionRequest,
    QueryAttemptReport,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use support::{LONG, wait};

const WORKERS: u64 = 6;
const ROUNDS: u64 = 400;

/// A small generator, so that every run takes the same paths.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// One attempt, ended in one of many ways; true if it began.
fn one_attempt(session: &GpuBackendSession, dice: &mut Dice) -> bool {
    let Ok(begun) = session.begin_attempt(BeginAttemptRequest::new()) else {
        return false;
    };
    let attempt = begun.attempt;
    if dice.roll(4) == 0 {
        drop(begun.receiver);
    }
    if dice.roll(6) == 0 {
        let _ = attempt.finish(Ending::Succeeded);
        return true;
    }
    let limit = Duration::from_micros(dice.roll(400));
    let request = attempt.request(1 + dice.roll(110)).unwrap();
    let request = request.queue_deadline(limit).execution_deadline(4 * limit);
    admit_and_end(session, attempt, request, dice);
    true
}

fn admit_and_end(
    session: &GpuBackendSession,
    attempt: Attempt,
    request: QueryAdmissionRequest,
    dice: &mut Dice,
) {
    let mut admission = Box::pin(session.admit_async_with_request(request));
    let canceller = attempt.canceller();
    match dice.roll(5) {
        0 => {
            let _ = support::poll_with(admission.as_mut(), std::task::Waker::noop());
        }
        1 => {
            let other = std::thread::spawn(move || canceller.cancel());
            let _ = wait(admission);
            let _ = other.join().unwrap();
        }
        2 => drop(attempt),
        _ => {
            let handle = wait(admission);
            std::thread::yield_now();
            drop(handle);
            let _ = attempt.finish(Ending::Succeeded);
        }
    }
}

#[test]
fn every_begun_attempt_is_reported() {
    let delivered = Arc::new(AtomicU64::new(0));
    let count = delivered.clone();
    let backend = GpuBackend::builder()
        .ledger_device(0, 100)
        .ledger_device(1, 50)
        .max_queued(8)
        .completion_queue(16)
        .max_sink_reports(100_000)
        .sink(move |_: &Arc<QueryAttemptReport>| {
            count.fetch_add(1, Ordering::Relaxed);
        })
        .build()
        .unwrap();
    let workers: Vec<_> = (1..=WORKERS)
        .map(|seed| {
            let session = backend.session();
            std::thread::spawn(move || {
                let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                let rounds = (0..ROUNDS).filter(|_| one_attempt(&session, &mut dice));
                u64::try_from(rounds.count()).unwrap()
            })
        })
        .collect();
    let session = backend.session();
    // Close comes while the last rounds run.
    let is_busy = || workers.iter().any(|worker| !worker.is_finished());
    let most = WORKERS * ROUNDS * 3 / 4;
    while is_busy() && session.attempt_counters_snapshot().attempts_begun < most {
        let snapshot = session.backend_metrics_snapshot();
        snapshot.check().unwrap();
    }
    backend.close();
    let begun: u64 = workers.into_iter().map(|one| one.join().unwrap()).sum();
    let closed = backend.close_and_wait(LONG).unwrap();
    assert!(closed.is_clean());
    let counts = session.attempt_counters_snapshot();
    assert_eq!(
        (counts.attempts_begun, counts.reports_ready),
        (begun, begun)
    );
    assert_eq!(closed.attempts_begun, begun);
    assert_eq!(delivered.load(Ordering::Relaxed), begun);
    let facts = session.backend_metrics_snapshot().facts;
    assert_eq!(facts.tickets.submitted, facts.tickets.ended);
    for device in facts.devices {
        assert_eq!(
            u64::try_from(device.free_bytes).unwrap(),
            device.capacity_bytes
        );
    }
}
