use proptest::prelude::*;

use super::*;

/// Durations of every magnitude, bounds and their neighbours among them.
fn durations_ns() -> impl Strategy<Value = u64> {
    let near_a_bound = (0..BUCKET_BOUNDS_NS.len(), 0..3u64)
        .prop_map(|(index, step)| BUCKET_BOUNDS_NS[index] - 1 + step);
    let any_magnitude = (0..46u32, any::<u64>()).prop_map(|(bits, any)| any % (1u64 << bits));
    prop_oneof![near_a_bound, any_magnitude]
}

proptest! {
    #[test]
    fn buckets_agree_with_counting_by_hand(
        durations_ns in prop::collection::vec(durations_ns(), 0..200),
    ) {
        let histogram = Histogram::default();
        for duration_ns in &durations_ns {
            histogram.record(Duration::from_nanos(*duration_ns));
        }
        let mut snapshot = HistogramSnapshot::zero();
        histogram.add_to(&mut snapshot);

        // The oracle counts cumulatively, as the text form will be read.
        let mut cumulated = 0;
        for (bucket, bound_ns) in snapshot.buckets.iter().zip(BUCKET_BOUNDS_NS) {
            cumulated += bucket;
            let at_most = durations_ns.iter().filter(|duration| **duration <= bound_ns).count();
            prop_assert_eq!(cumulated, at_most as u64);
        }
        prop_assert_eq!(snapshot.count(), durations_ns.len() as u64);
        prop_assert_eq!(snapshot.sum_ns, durations_ns.iter().sum::<u64>());
    }
}
