use crate::fixture::{FIRST, SECOND, facts, snapshot};

use super::*;

fn broken(change: impl FnOnce(&mut SessionFacts)) -> Incoherent {
    let mut facts = facts();
    facts.check().unwrap();
    change(&mut facts);
    facts.check().unwrap_err()
}

#[test]
fn a_ticket_in_no_place_is_found() {
    let lost = Incoherent::Tickets {
        submitted: 17,
        placed: 16,
    };
    assert_eq!(broken(|facts| facts.tickets.submitted += 1), lost);
    let twice = Incoherent::Tickets {
        submitted: 16,
        placed: 17,
    };
    assert_eq!(broken(|facts| facts.tickets.granted += 1), twice);
    assert_eq!(broken(|facts| facts.tickets.running += 1), twice);
    assert_eq!(broken(|facts| facts.tickets.quarantined += 1), twice);
    assert_eq!(broken(|facts| facts.tickets.ended += 1), twice);
    assert_eq!(broken(|facts| facts.tickets.queued += 1), twice);
}

#[test]
fn queue_rows_add_up_to_queued_tickets() {
    let expected = Incoherent::QueuedRows {
        queued: 3,
        listed: 4,
    };
    let found = broken(|facts| facts.queue.requests[0].count += 1);
    assert_eq!(found, expected);
}

#[test]
fn a_byte_in_no_account_is_found() {
    let expected = |device, capacity_bytes: u64| Incoherent::Capacity {
        device,
        capacity_bytes,
        held_bytes: i128::from(capacity_bytes) + 1,
    };
    let accounts: [fn(&mut DeviceFacts); 5] = [
        |device| device.free_bytes += 1,
        |device| device.granted_bytes += 1,
        |device| device.resident_bytes += 1,
        |device| device.retained_bytes += 1,
        |device| device.quarantined_bytes += 1,
    ];
    for account in accounts {
        let found = broken(|facts| account(&mut facts.devices[0]));
        assert_eq!(found, expected(FIRST, 10_000));
        let found = broken(|facts| account(&mut facts.devices[1]));
        assert_eq!(found, expected(SECOND, 2_000));
    }
}

#[test]
fn a_report_needs_its_attempt() {
    let expected = Incoherent::Reports {
        ready: 21,
        begun: 20,
    };
    let found = broken(|facts| facts.attempts.reports_ready = 21);
    assert_eq!(found, expected);
    // Every attempt's report ready is the limit, and coherent.
    let mut facts = facts();
    facts.attempts.reports_ready = 20;
    facts.check().unwrap();
}

#[test]
fn an_abandoned_report_was_ready() {
    let expected = Incoherent::Abandoned {
        abandoned: 13,
        ready: 12,
    };
    let found = broken(|facts| facts.attempts.completion_queue_pushed = 12);
    assert_eq!(found, expected);
    let found = broken(|facts| facts.attempts.completion_queue_overflowed = 9);
    assert_eq!(found, expected);
}

#[test]
fn sums_beyond_the_width_still_compare() {
    let found = broken(|facts| {
        facts.tickets.running = u64::MAX;
        facts.tickets.ended = u64::MAX;
    });
    let placed = 2 * u128::from(u64::MAX) + 5;
    assert_eq!(
        found,
        Incoherent::Tickets {
            submitted: 16,
            placed
        }
    );
}

#[test]
fn a_misshapen_histogram_is_found() {
    let mut snapshot = snapshot();
    snapshot.check().unwrap();
    snapshot.lane_wait[0].waits.buckets.pop();
    let expected = Incoherent::Buckets {
        buckets: 16,
        bounds: 16,
    };
    assert_eq!(snapshot.check().unwrap_err(), expected);
}

#[test]
fn bounds_that_fall_are_found() {
    let mut snapshot = snapshot();
    snapshot.bucket_bounds_ns.swap(3, 4);
    let expected = Incoherent::Bounds {
        earlier_ns: 4_000_000,
        later_ns: 1_500_000,
    };
    assert_eq!(snapshot.check().unwrap_err(), expected);
}
