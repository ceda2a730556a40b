#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use super::{Outcome, QueryAttemptReport};
use crate::attempt::{AttemptFacts, CleanupFacts, Event, Verdict};
use crate::error::{EndedBy, Error};
use crate::identity::{AttemptId, GpuBackendCoreIdentity};
use crate::report::{CapacityDisposition, CleanupDisposition, Priority};
use std::time::Duration;

fn report() -> QueryAttemptReport {
    let name = |text: &str| Some(text.to_owned());
    let mut facts = AttemptFacts::begun(
        AttemptId::new(7),
        name("q6"),
        name("reports"),
        Priority::Interactive,
        10,
    );
    facts.advance(Event::Plan, 20);
    facts.advance(Event::Claim, 30);
    facts.admission.requested_bytes = Some(4_096);
    facts.admission.sequence = Some(3);
    facts.at.queued_at_ns = Some(30);
    let error = Error::QueueWaitElapsed {
        waited: Duration::from_nanos(70),
        limit: Duration::from_nanos(70),
        retry_after: Some(Duration::from_millis(10)),
    };
    facts.end(&Verdict::failed(EndedBy::QueueDeadline, error), 100);
    // The identity of every report of a test run differs, so one is decoded.
    let backend: GpuBackendCoreIdentity = serde_json::from_str("1").unwrap();
    facts.seal(
        backend,
        CleanupDisposition::NotNeeded,
        CapacityDisposition::NotGranted,
        CleanupFacts::default(),
        0,
        110,
    )
}

#[test]
fn the_json_form_is_stable() {
    insta::assert_snapshot!(report().to_json().unwrap());
}

#[test]
fn a_report_survives_its_json_form() {
    let report = report();
    let read = QueryAttemptReport::from_json(&report.to_json().unwrap()).unwrap();
    assert_eq!(read, report);
    assert_eq!(read.admission_wait_ns(), Some(70));
}

#[test]
fn later_fields_and_words_are_no_error() {
    let json = report().to_json().unwrap();
    let later = json
        .replacen('{', "{\"from_the_future\": [1, 2],", 1)
        .replace("\"expired\"", "\"evaporated\"")
        .replace("\"queue_wait_elapsed\"", "\"queue_wait_vanished\"");
    let read = QueryAttemptReport::from_json(&later).unwrap();
    assert_eq!(read.outcome, Outcome::Unknown);
    assert_eq!(read.first_failure.unwrap().code.as_str(), "unknown");
}

#[test]
fn the_least_report_decodes() {
    let least = r#"{"schema_version": 1, "backend": 1, "attempt": 1,
        "disposition": "native", "outcome": "succeeded",
        "timestamps": {"begun_at_ns": 0}, "cleanup": "proven", "capacity": "returned"}"#;
    let read = QueryAttemptReport::from_json(least).unwrap();
    assert_eq!(read.outcome, Outcome::Succeeded);
    assert_eq!(read.admission.sequence, None);
}
