use std::collections::{BTreeMap, BTreeSet};

use crate::fixture;
use crate::{HistogramSnapshot, Outcome, Recorder, SessionFacts};

use super::*;

/// The names, types and labels that are kept under semver.
const TABLE: [(&str, &str, &[&str]); 16] = [
    ("requests_total", "counter", &["outcome", "priority"]),
    (
        "admission_wait_duration_seconds",
        "histogram",
        &["outcome", "priority"],
    ),
    ("queued_requests", "gauge", &["priority", "reason"]),
    ("queued_bytes", "gauge", &[]),
    ("oldest_queued_age_seconds", "gauge", &[]),
    ("running_attempts", "gauge", &["device"]),
    ("capacity_bytes", "gauge", &["device"]),
    ("reserved_bytes", "gauge", &["device", "state"]),
    (
        "execution_duration_seconds",
        "histogram",
        &["device", "outcome"],
    ),
    (
        "lane_wait_duration_seconds",
        "histogram",
        &["device", "lane"],
    ),
    ("compute_lease_hold_duration_seconds", "histogram", &[]),
    ("quarantined_attempts", "gauge", &["device", "cause"]),
    ("head_bypass_total", "counter", &[]),
    ("gate_state", "gauge", &[]),
    ("device_health", "gauge", &["device"]),
    ("close_duration_seconds", "histogram", &[]),
];

fn text_of(snapshot: &BackendMetricsSnapshot) -> String {
    let mut text = String::new();
    snapshot.to_openmetrics(&mut text).unwrap();
    text
}

/// One sample line: name, labels in order, value.
type Sample = (String, Vec<(String, String)>, f64);

/// What a scraper makes of the text, read without the encoder's help.
#[derive(Debug, Default)]
struct Scraped {
    helps: BTreeSet<String>,
    types: BTreeMap<String, String>,
    units: BTreeMap<String, String>,
    samples: Vec<Sample>,
}

impl Scraped {
    fn read(text: &str) -> Self {
        let body = text.strip_suffix("# EOF\n").expect("ends with # EOF");
        let mut scraped = Self::default();
        for line in body.lines() {
            if let Some(comment) = line.strip_prefix("# ") {
                scraped.comment(comment);
            } else {
                scraped.samples.push(sample(line));
            }
        }
        scraped
    }

    fn comment(&mut self, comment: &str) {
        let (kind, rest) = comment.split_once(' ').unwrap();
        let (family, value) = rest.split_once(' ').unwrap();
        assert!(!value.is_empty());
        let fresh = match kind {
            "HELP" => self.helps.insert(family.into()),
            "TYPE" => self.types.insert(family.into(), value.into()).is_none(),
            "UNIT" => self.units.insert(family.into(), value.into()).is_none(),
            _ => panic!("unknown comment {comment}"),
        };
        assert!(fresh, "{comment} twice");
    }

    /// The value of one series, whatever the order of its labels.
    fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let wanted: BTreeSet<_> = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        let mut found = self.samples.iter().filter(|(known, labels, _)| {
            known == name && labels.iter().cloned().collect::<BTreeSet<_>>() == wanted
        });
        let value = found.next().map(|(_, _, value)| *value);
        assert!(found.next().is_none(), "{name} {labels:?} twice");
        value
    }
}

fn sample(line: &str) -> Sample {
    let (series, value) = line.rsplit_once(' ').unwrap();
    let value: f64 = value.parse().unwrap();
    let Some((name, labels)) = series.split_once('{') else {
        return (series.into(), Vec::new(), value);
    };
    let labels = labels.strip_suffix('}').unwrap();
    let labels = labels.split(',').map(|label| {
        let (key, value) = label.split_once('=').unwrap();
        let value = value.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        (key.to_owned(), value.unwrap().to_owned())
    });
    (name.into(), labels.collect(), value)
}

/// The family that a sample belongs to, and the suffix that its type gives it.
fn family_of<'a>(scraped: &'a Scraped, name: &str) -> (&'a str, String) {
    for suffix in ["", "_total", "_sum", "_count", "_bucket"] {
        let family = name.strip_suffix(suffix).unwrap_or("");
        if let Some((family, kind)) = scraped.types.get_key_value(family) {
            let allowed: &[&str] = match kind.as_str() {
                "counter" => &["_total"],
                "gauge" => &[""],
                "histogram" => &["_sum", "_count", "_bucket"],
                _ => &[],
            };
            assert!(allowed.contains(&suffix), "{name} in a {kind}");
            return (family, suffix.to_owned());
        }
    }
    panic!("{name} belongs to no family");
}

#[test]
fn the_text_is_stable() {
    insta::assert_snapshot!(text_of(&fixture::snapshot()));
}

#[test]
fn names_types_and_labels_are_the_promised() {
    let scraped = Scraped::read(&text_of(&fixture::snapshot()));
    let mut promised = BTreeMap::new();
    for (name, kind, labels) in TABLE {
        let family = name.strip_suffix("_total").unwrap_or(name);
        let labels: BTreeSet<_> = labels.iter().map(|label| (*label).to_owned()).collect();
        promised.insert(format!("{PREFIX}_{family}"), (kind.to_owned(), labels));
    }
    let mut written = BTreeMap::new();
    for (name, labels, _) in &scraped.samples {
        let (family, suffix) = family_of(&scraped, name);
        let labels: BTreeSet<_> = labels
            .iter()
            .map(|(key, _)| key.clone())
            .filter(|key| suffix != "_bucket" || key != "le")
            .collect();
        let shape = (scraped.types[family].clone(), labels);
        let known = written.entry(family.to_owned()).or_insert(shape.clone());
        assert_eq!(*known, shape, "{family} changes its labels");
    }
    assert_eq!(written, promised);
}

#[test]
fn every_family_is_described() {
    // Also before the first event.
    let empty = Recorder::new([], 1).unwrap();
    for snapshot in [fixture::snapshot(), empty.snapshot(SessionFacts::default())] {
        let scraped = Scraped::read(&text_of(&snapshot));
        let families: BTreeSet<_> = scraped.types.keys().cloned().collect();
        assert_eq!(families.len(), TABLE.len());
        assert_eq!(scraped.helps, families);
        for (family, unit) in &scraped.units {
            assert!(family.ends_with(&format!("_{unit}")));
        }
        for family in families {
            let has_unit = family.ends_with("_seconds") || family.ends_with("_bytes");
            assert_eq!(scraped.units.contains_key(&family), has_unit, "{family}");
        }
    }
}

#[test]
fn buckets_cumulate_up_to_the_count() {
    let scraped = Scraped::read(&text_of(&fixture::snapshot()));
    let mut series = BTreeMap::<(String, Vec<(String, String)>), Vec<(f64, f64)>>::new();
    for (name, labels, value) in &scraped.samples {
        let Some(family) = name.strip_suffix("_bucket") else {
            continue;
        };
        let mut labels = labels.clone();
        let at = labels.iter().position(|(key, _)| key == "le").unwrap();
        let bound: f64 = labels.remove(at).1.parse().unwrap();
        let buckets = series.entry((family.to_owned(), labels)).or_default();
        buckets.push((bound, *value));
    }
    assert_eq!(series.len(), 3 + 2 + 1 + 1 + 1);
    for ((family, labels), buckets) in series {
        assert_eq!(buckets.len(), 17);
        for pair in buckets.windows(2) {
            assert!(pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        }
        let (last_bound, last) = buckets[16];
        assert!(last_bound.is_infinite());
        let labels: Vec<_> = labels
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            scraped.value(&format!("{family}_count"), &labels),
            Some(last)
        );
        assert!(scraped.value(&format!("{family}_sum"), &labels).unwrap() > 0.0);
    }
}

#[test]
fn the_text_says_what_the_facts_say() {
    let scraped = Scraped::read(&text_of(&fixture::snapshot()));
    let value = |name: &str, labels: &[(&str, &str)]| {
        scraped.value(&format!("{PREFIX}_{name}"), labels).unwrap()
    };
    let device = |ordinal| ("device", ordinal);
    assert_eq!(
        value("queued_requests", &[("priority", "1"), ("reason", "turn")]),
        2.0
    );
    assert_eq!(
        value("queued_requests", &[("priority", "0"), ("reason", "turn")]),
        0.0
    );
    assert_eq!(value("queued_bytes", &[]), 5_000.0);
    assert_eq!(value("oldest_queued_age_seconds", &[]), 1.5);
    assert_eq!(value("capacity_bytes", &[device("0")]), 10_000.0);
    for (state, bytes) in [
        ("granted", 3_000.0),
        ("resident", 1_500.0),
        ("retained", 500.0),
        ("quarantined", 1_000.0),
    ] {
        let labels = [device("0"), ("state", state)];
        assert_eq!(value("reserved_bytes", &labels), bytes);
    }
    assert_eq!(value("running_attempts", &[device("0")]), 2.0);
    let watchdog = [device("0"), ("cause", "watchdog")];
    assert_eq!(value("quarantined_attempts", &watchdog), 1.0);
    let lost = [device("1"), ("cause", "device_lost")];
    assert_eq!(value("quarantined_attempts", &lost), 0.0);
    assert_eq!(value("device_health", &[device("1")]), 1.0);
    assert_eq!(value("head_bypass_total", &[]), 3.0);
}

#[test]
fn states_have_distinct_numbers() {
    let numbers: BTreeSet<_> = GateState::ALL.iter().copied().map(gate_number).collect();
    assert_eq!(numbers.len(), GateState::ALL.len());
    let numbers = DeviceHealth::ALL.iter().copied().map(health_number);
    assert_eq!(
        numbers.collect::<BTreeSet<_>>().len(),
        DeviceHealth::ALL.len()
    );
}

#[test]
fn values_that_read_alike_are_added_up() {
    let mut snapshot = fixture::snapshot();
    for row in &mut snapshot.requests {
        (row.outcome, row.band) = (Outcome::Other, Band(0));
    }
    for row in &mut snapshot.admission_wait {
        (row.outcome, row.band) = (Outcome::Other, Band(0));
    }
    let scraped = Scraped::read(&text_of(&snapshot));
    let labels = [("outcome", "other"), ("priority", "0")];
    assert_eq!(
        scraped.value("backend_session_requests_total", &labels),
        Some(4.0)
    );
    let count = "backend_session_admission_wait_duration_seconds_count";
    assert_eq!(scraped.value(count, &labels), Some(4.0));
}

#[test]
fn a_hostile_snapshot_overflows_nothing() {
    let mut snapshot = fixture::snapshot();
    snapshot.facts.queue.bytes = u64::MAX;
    snapshot.compute_lease_hold.buckets = vec![u64::MAX; 40];
    snapshot.close = HistogramSnapshot::default();
    let twice = snapshot.requests[0];
    snapshot.requests[0].count = u64::MAX;
    snapshot.requests.push(twice);
    let scraped = Scraped::read(&text_of(&snapshot));
    let count = "backend_session_compute_lease_hold_duration_seconds_count";
    assert_eq!(scraped.value(count, &[]), Some(u64::MAX as f64));
    let count = "backend_session_close_duration_seconds_count";
    assert_eq!(scraped.value(count, &[]), Some(0.0));
}
