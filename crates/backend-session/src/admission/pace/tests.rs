use super::{Pace, advice};
use std::time::Duration;

const SECOND_NS: u64 = 1_000_000_000;

fn steady(returns: u64) -> Pace {
    let mut pace = Pace::default();
    for second in 0..returns {
        pace.note(second * SECOND_NS, 100);
    }
    pace
}

#[test]
fn few_returns_give_no_rate() {
    assert_eq!(steady(7).bytes_per_second(6 * SECOND_NS), None);
    assert_eq!(steady(8).bytes_per_second(7 * SECOND_NS), Some(100));
}

#[test]
fn a_silent_device_gives_no_rate() {
    let pace = steady(8);
    assert_eq!(pace.bytes_per_second(11 * SECOND_NS), Some(100));
    assert_eq!(pace.bytes_per_second(11 * SECOND_NS + 1), None);
}

#[test]
fn old_returns_leave_the_window() {
    let mut pace = steady(40);
    for second in 40..72 {
        pace.note(second * SECOND_NS, 300);
    }
    assert_eq!(pace.bytes_per_second(71 * SECOND_NS), Some(300));
}

#[test]
fn advice_stays_within_its_limits() {
    assert_eq!(advice(500, 100), Duration::from_secs(5));
    assert_eq!(advice(1, 100_000), Duration::from_millis(10));
    assert_eq!(advice(u64::MAX, 1), Duration::from_secs(60));
}
