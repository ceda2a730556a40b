use crate::fixture::{ROUNDS, THREADS, hammer};

use super::*;

fn recorded(durations: &[Duration]) -> HistogramSnapshot {
    let histogram = Histogram::default();
    for duration in durations {
        histogram.record(*duration);
    }
    let mut total = HistogramSnapshot::zero();
    histogram.add_to(&mut total);
    total
}

#[test]
fn bounds_span_the_range_without_wide_gaps() {
    assert_eq!(BUCKET_BOUNDS_NS[0], 100_000);
    assert_eq!(BUCKET_BOUNDS_NS[BUCKET_BOUNDS_NS.len() - 1], 60_000_000_000);
    for pair in BUCKET_BOUNDS_NS.windows(2) {
        // Twice to 2.7 times the bound before.
        assert!(pair[1] >= pair[0] * 2 && pair[1] * 10 <= pair[0] * 27);
    }
}

#[test]
fn a_bound_belongs_to_its_bucket() {
    for (index, bound_ns) in BUCKET_BOUNDS_NS.iter().enumerate() {
        let at = recorded(&[Duration::from_nanos(*bound_ns)]);
        assert_eq!(at.buckets[index], 1);
        let above = recorded(&[Duration::from_nanos(*bound_ns + 1)]);
        assert_eq!(above.buckets[index + 1], 1);
    }
}

#[test]
fn zero_counts_in_the_first_bucket() {
    let snapshot = recorded(&[Duration::ZERO]);
    assert_eq!((snapshot.buckets[0], snapshot.sum_ns), (1, 0));
}

#[test]
fn an_absurd_duration_leaves_the_sum_usable() {
    let century = LONGEST_RECORDED * 100;
    let snapshot = recorded(&[Duration::MAX, century, Duration::from_secs(1)]);
    let second_ns = 1_000_000_000;
    let year_ns = u64::try_from(LONGEST_RECORDED.as_nanos()).unwrap();
    assert_eq!(snapshot.sum_ns, 2 * year_ns + second_ns);
    assert_eq!(snapshot.count(), 3);
    assert_eq!(snapshot.buckets[BUCKETS - 1], 2);
}

#[test]
fn threads_of_one_histogram_lose_nothing() {
    let histogram = Histogram::default();
    hammer(|| histogram.record(Duration::from_nanos(3)));
    let mut snapshot = HistogramSnapshot::zero();
    histogram.add_to(&mut snapshot);
    assert_eq!(snapshot.count(), THREADS * ROUNDS);
    assert_eq!(snapshot.sum_ns, 3 * THREADS * ROUNDS);
}
