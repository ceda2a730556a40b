//! A backend in the middle of its life, for the tests of several modules.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::{
    BackendMetricsSnapshot, Band, DeviceFacts, DeviceHealth, DeviceOrdinal, Ending, Lane,
    QuarantineCause, QueueReason, Recorder, Refusal, SessionFacts,
};

pub(crate) const FIRST: DeviceOrdinal = DeviceOrdinal(0);
pub(crate) const SECOND: DeviceOrdinal = DeviceOrdinal(1);

/// Two devices, two bands; one device shrank below what it had granted.
pub(crate) fn facts() -> SessionFacts {
    let mut facts = SessionFacts {
        generation: 42,
        head_bypass_total: 3,
        ..SessionFacts::default()
    };
    facts.tickets.submitted = 16;
    facts.tickets.queued = 3;
    facts.tickets.granted = 1;
    facts.tickets.running = 2;
    facts.tickets.quarantined = 1;
    facts.tickets.ended = 9;
    facts.queue.add(Band(0), QueueReason::Bytes, 1);
    facts.queue.add(Band(1), QueueReason::Turn, 2);
    facts.queue.bytes = 5_000;
    facts.queue.oldest_age_ns = Some(1_500_000_000);

    let mut first = DeviceFacts::new(FIRST, "the large one", 10_000);
    first.free_bytes = 4_000;
    first.granted_bytes = 3_000;
    first.resident_bytes = 1_500;
    first.retained_bytes = 500;
    first.quarantined_bytes = 1_000;
    first.running_attempts = 2;
    first.add_quarantined(QuarantineCause::Watchdog, 1);
    let mut second = DeviceFacts::new(SECOND, "the shrunk one", 2_000);
    second.health = DeviceHealth::Recovering;
    second.generation = 1;
    second.free_bytes = -500;
    second.granted_bytes = 2_500;
    facts.devices = vec![first, second];

    facts.attempts.attempts_begun = 20;
    facts.attempts.reports_ready = 12;
    facts.attempts.completion_queue_pushed = 4;
    facts.attempts.completion_queue_overflowed = 1;
    facts
}

/// At least one event of every kind.
pub(crate) fn recorder() -> Recorder {
    let recorder = Recorder::new([FIRST, SECOND], 2).unwrap();
    recorder.granted(Band(0), Duration::from_micros(80));
    recorder.granted(Band(0), Duration::from_millis(3));
    recorder.refused(Refusal::QueueWaitElapsed, Band(1), Duration::from_secs(90));
    recorder.refused(Refusal::CallerCancelled, Band(0), Duration::from_millis(7));
    recorder.ended(Ending::Succeeded, Band(0), FIRST, Duration::from_millis(12));
    recorder.ended(
        Ending::CallerCancelled,
        Band(0),
        SECOND,
        Duration::from_millis(200),
    );
    recorder.lane_wait(SECOND, Lane::Download, Duration::from_micros(400));
    recorder.compute_lease_hold(Duration::from_millis(20));
    recorder.closed(Duration::from_secs(2));
    recorder
}

pub(crate) fn snapshot() -> BackendMetricsSnapshot {
    recorder().snapshot(facts())
}

pub(crate) const THREADS: u64 = 4;
/// Long enough that threads overlap even where they share one processor.
pub(crate) const ROUNDS: u64 = 500_000;

/// Runs `event` [`ROUNDS`] times on each of [`THREADS`] threads that start
/// together.
pub(crate) fn hammer(event: impl Fn() + Sync) {
    let started = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                started.fetch_add(1, Ordering::SeqCst);
                while started.load(Ordering::SeqCst) as u64 != THREADS {
                    thread::yield_now();
                }
                for _ in 0..ROUNDS {
                    event();
                }
            });
        }
    });
}
