use super::*;

#[test]
fn quantiles_are_within_a_thousandth() {
    let summary: Durations = (1..=1000).map(Duration::from_millis).collect();
    let summary = summary.summary();
    assert_eq!(summary.count, 1000);
    for (value, expected) in [
        (summary.p50_us, 500_000),
        (summary.p99_us, 990_000),
        (summary.max_us, 1_000_000),
    ] {
        assert!(
            value.abs_diff(expected) <= expected / 1000,
            "{value} for {expected}"
        );
    }
}

#[test]
fn an_endless_duration_is_still_counted() {
    let mut durations = Durations::new();
    durations.record(Duration::MAX);
    durations.record(Duration::ZERO);
    assert_eq!(durations.summary().count, 2);
}
