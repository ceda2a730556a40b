use super::{Abandoned, Slot};
use runtime_sync::Arc;

#[test]
fn a_second_report_changes_nothing() {
    let (slot, abandoned) = (Slot::new(), Abandoned::new(4));
    drop(slot.publish(Arc::new(1), &abandoned));
    drop(slot.publish(Arc::new(2), &abandoned));
    assert_eq!(slot.read().as_deref(), Some(&1));
    assert_eq!(abandoned.counts().reports_ready, 1);
}

#[test]
fn abandoned_reports_leave_in_order() {
    let abandoned = Abandoned::new(3);
    for number in 0..4 {
        drop(Slot::new().publish(Arc::new(number), &abandoned));
    }
    let first: Vec<_> = abandoned.take(2).iter().map(|report| **report).collect();
    let rest: Vec<_> = abandoned.take(9).iter().map(|report| **report).collect();
    assert_eq!((first, rest), (vec![0, 1], vec![2]));
    assert_eq!(abandoned.counts().completion_queue_overflowed, 1);
}

#[test]
fn without_a_queue_nothing_is_kept() {
    let abandoned = Abandoned::new(0);
    drop(Slot::new().publish(Arc::new(1), &abandoned));
    assert!(abandoned.take(9).is_empty());
    let counts = abandoned.counts();
    assert_eq!(counts.completion_queue_overflowed, 0);
    assert_eq!(counts.reports_ready, 1);
}
