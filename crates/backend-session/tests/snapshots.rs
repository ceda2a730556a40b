//! Snapshots and counters, while everything moves.

mod support;

use backend_session::{Ending, QueryAdmissionRequest};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::{report, stage, stage_with, wait};

#[test]
fn every_snapshot_is_one_instant() {
    let stage = stage_with(|builder| builder.ledger_device(0, 100).max_queued(3));
    let is_over = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = (1..=4u64)
        .map(|worker| {
            let (session, is_over) = (stage.session.clone(), is_over.clone());
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let request = QueryAdmissionRequest::new(worker * 20);
                    let admission = session.admit_async_with_request(request);
                    if let Ok(handle) = wait(admission) {
                        let owner = handle.take_attempt().unwrap();
                        owner.finish(Ending::Succeeded).unwrap();
                    }
                }
            })
        })
        .collect();
    let mut last = 0;
    for round in 0..500 {
        let snapshot = stage.session.backend_metrics_snapshot();
        assert!(snapshot.generation() > last);
        last = snapshot.generation();
        snapshot.check().unwrap();
        if round % 100 == 0 {
            let resident = stage.backend.reserve_resident(0, 1, "probe");
            drop(resident);
        }
    }
    is_over.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.join().unwrap();
    }
    let snapshot = stage.session.backend_metrics_snapshot();
    let tickets = snapshot.facts.tickets;
    assert_eq!(tickets.submitted, tickets.ended);
    assert!(tickets.ended > 0);
    assert_eq!(stage.free_bytes(), 100);
}

#[test]
fn waits_and_outcomes_are_recorded() {
    let stage = stage();
    let (owner, receiver, _handle) = stage.submit(100).granted();
    let waiting = stage.submit_with(1, |request| request.queue_deadline(Duration::from_secs(1)));
    stage.clock.advance(Duration::from_secs(1));
    drop(report(waiting.receiver));
    owner.finish(Ending::Succeeded).unwrap();
    drop(report(receiver));
    let snapshot = stage.session.backend_metrics_snapshot();
    let mut text = String::new();
    snapshot.to_openmetrics(&mut text).unwrap();
    for line in [
        "backend_session_requests_total{outcome=\"queue_wait_elapsed\",priority=\"1\"} 1",
        "backend_session_requests_total{outcome=\"succeeded\",priority=\"1\"} 1",
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
}

#[test]
fn abandoned_reports_are_kept_up_to_the_bound() {
    let stage = stage_with(|builder| builder.ledger_device(0, 1).completion_queue(1));
    for _ in 0..2 {
        let begun = stage.begin();
        drop(begun.receiver);
        drop(begun.attempt);
    }
    let counts = stage.session.attempt_counters_snapshot();
    assert_eq!((counts.attempts_begun, counts.reports_ready), (2, 2));
    assert_eq!(counts.completion_queue_pushed, 1);
    assert_eq!(counts.completion_queue_overflowed, 1);
    let kept = stage.session.take_abandoned_attempt_reports(9);
    assert_eq!(kept.len(), 1);
    // The newest was rejected, so the first one is left.
    assert_eq!(kept[0].attempt.number(), 1);
    assert!(stage.session.take_abandoned_attempt_reports(9).is_empty());
}

#[test]
fn without_a_queue_no_report_is_kept() {
    let stage = stage();
    let begun = stage.begin();
    drop(begun.receiver);
    drop(begun.attempt);
    assert!(stage.session.take_abandoned_attempt_reports(9).is_empty());
    let counts = stage.session.attempt_counters_snapshot();
    assert_eq!(counts.reports_ready, 1);
    assert_eq!(counts.completion_queue_pushed, 0);
}

#[test]
fn services_report_what_they_serve() {
    let stage = stage();
    let (_owner, _receiver, _handle) = stage.submit(40).granted();
    let diagnostics = stage.session.diagnostics().unwrap();
    assert_eq!(diagnostics.identity, stage.session.identity());
    assert_eq!(diagnostics.facts.tickets.running, 1);
    // The attempt's permits and those of the read itself.
    assert_eq!(diagnostics.gate.observation_permits, 2);
    assert_eq!(diagnostics.gate.gpu_permits, 2);
    let devices = stage.session.device_telemetry_snapshots().unwrap();
    assert_eq!(devices, diagnostics.devices);
    assert_eq!(
        (devices[0].free_bytes, devices[0].running_attempts),
        (60, 1)
    );
    assert_eq!(stage.backend.gate().observation_permits, 1);
}
