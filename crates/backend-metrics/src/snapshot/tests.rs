use crate::fixture;
use crate::label::{DeviceHealth, GateState, QuarantineCause};

use super::*;

const OLD: &str = include_str!("schema_1.json");

#[test]
fn json_gives_back_the_snapshot() {
    let snapshot = fixture::snapshot();
    let json = serde_json::to_string(&snapshot).unwrap();
    let read: BackendMetricsSnapshot = serde_json::from_str(&json).unwrap();
    assert_eq!(read, snapshot);
}

#[test]
fn the_json_form_is_stable() {
    insta::assert_json_snapshot!(fixture::snapshot());
}

#[test]
fn a_snapshot_carries_its_facts() {
    let facts = fixture::facts();
    let snapshot = fixture::recorder().snapshot(facts.clone());
    assert_eq!(snapshot.facts, facts);
    assert_eq!(snapshot.generation(), 42);
    assert_eq!(snapshot.bands, 2);
    snapshot.check().unwrap();
}

#[test]
fn json_of_an_older_version_decodes() {
    let old: BackendMetricsSnapshot = serde_json::from_str(OLD).unwrap();
    old.check().unwrap();
    assert_eq!(old.generation(), 7);
    assert_eq!(old.facts.gate, GateState::Closing);
    assert_eq!(old.facts.tickets.quarantined, 1);
    assert_eq!(old.facts.devices[0].free_bytes, -256);
    assert_eq!(old.facts.devices[0].health, DeviceHealth::ClosedDeviceLocal);
    assert_eq!(
        old.facts.devices[0].quarantined_attempts[0].cause,
        QuarantineCause::FenceError
    );
    assert_eq!(old.requests_total(Outcome::Succeeded, Band(1)), 2);
    assert_eq!(old.admission_wait[0].waits.count(), 3);
    assert_eq!(old.admission_wait[0].waits.sum_ns, 6_000_000);
}

#[test]
fn fields_an_older_version_lacked_are_defaulted() {
    let old: BackendMetricsSnapshot = serde_json::from_str(OLD).unwrap();
    assert_eq!(old.unlabelled_events, 0);
    assert_eq!(old.lane_wait, []);
    assert_eq!(old.close, HistogramSnapshot::default());
    assert_eq!(old.facts.head_bypass_total, 0);
}

#[test]
fn unknown_fields_are_ignored() {
    let mut json = serde_json::to_value(fixture::snapshot()).unwrap();
    json["invented_tomorrow"] = serde_json::json!({"a": [1]});
    json["facts"]["invented_tomorrow"] = serde_json::json!("b");
    json["facts"]["devices"][0]["invented_tomorrow"] = serde_json::json!(3);
    json["requests"][0]["invented_tomorrow"] = serde_json::json!(null);
    let read: BackendMetricsSnapshot = serde_json::from_value(json).unwrap();
    assert_eq!(read, fixture::snapshot());
}

#[test]
fn a_newer_schema_is_refused() {
    let mut json = serde_json::to_value(fixture::snapshot()).unwrap();
    json["schema"] = serde_json::json!(SCHEMA + 1);
    let refused = serde_json::from_value::<BackendMetricsSnapshot>(json).unwrap_err();
    assert_eq!(refused.to_string(), "snapshot schema 2 is newer than 1");
}

#[test]
fn a_snapshot_without_schema_is_refused() {
    let mut json = serde_json::to_value(fixture::snapshot()).unwrap();
    json.as_object_mut().unwrap().remove("schema");
    assert!(serde_json::from_value::<BackendMetricsSnapshot>(json).is_err());
}
