use super::{Line, Waiting};
use crate::admission::ledger::{Account, DeviceSet, Ledger};
use crate::identity::AttemptId;

fn set(ledger: &Ledger, ordinals: &[u32]) -> DeviceSet {
    ledger.select(|_, account| ordinals.contains(&account.ordinal))
}

fn waiting(bytes: u64, devices: DeviceSet) -> Waiting {
    Waiting {
        attempt: AttemptId::new(1),
        bytes,
        devices,
        since_ns: 0,
    }
}

fn next(line: &Line, ledger: &Ledger) -> Option<(u64, u32)> {
    line.next_grant(ledger)
        .map(|(sequence, _, device)| (sequence, ledger.account(device).ordinal))
}

#[test]
fn a_blocked_head_is_not_passed() {
    let mut ledger = Ledger::new(vec![Account::new(0, 10, 9)]);
    let devices = set(&ledger, &[0]);
    let device = ledger.find(0).unwrap();
    ledger.grant(device, 5);
    let mut line = Line::default();
    line.push(1, waiting(8, devices));
    line.push(2, waiting(1, devices));
    assert_eq!(next(&line, &ledger), None);
    ledger.give_back(device, 5, 0);
    assert_eq!(next(&line, &ledger), Some((1, 0)));
}

#[test]
fn younger_ones_use_other_devices() {
    let mut ledger = Ledger::new(vec![Account::new(0, 10, 9), Account::new(1, 4, 9)]);
    let device = ledger.find(0).unwrap();
    ledger.grant(device, 5);
    let both = set(&ledger, &[0, 1]);
    let mut line = Line::default();
    // The head fits device 0 alone, and has to wait there.
    line.push(1, waiting(8, both));
    line.push(2, waiting(4, both));
    assert_eq!(next(&line, &ledger), Some((2, 1)));
}

#[test]
fn a_hopeless_ticket_blocks_nobody() {
    let mut ledger = Ledger::new(vec![Account::new(0, 10, 9)]);
    let devices = set(&ledger, &[0]);
    let device = ledger.find(0).unwrap();
    ledger.grant(device, 5);
    ledger.quarantine(device, 5);
    let mut line = Line::default();
    line.push(1, waiting(8, devices));
    line.push(2, waiting(3, devices));
    assert_eq!(next(&line, &ledger), Some((2, 0)));
}

#[test]
fn files_are_merged_by_sequence() {
    let ledger = Ledger::new(vec![Account::new(0, 10, 9), Account::new(1, 10, 9)]);
    let mut line = Line::default();
    line.push(2, waiting(1, set(&ledger, &[0])));
    line.push(1, waiting(1, set(&ledger, &[1])));
    assert_eq!(next(&line, &ledger), Some((1, 1)));
}

#[test]
fn depth_and_bytes_follow_the_line() {
    let ledger = Ledger::new(vec![Account::new(0, 10, 9)]);
    let devices = set(&ledger, &[0]);
    let mut line = Line::default();
    line.push(1, waiting(8, devices));
    line.push(2, waiting(3, devices));
    assert_eq!((line.depth(), line.queued_bytes()), (2, 11));
    assert!(line.remove(1, devices).is_some());
    assert!(line.remove(1, devices).is_none());
    assert_eq!((line.depth(), line.queued_bytes()), (1, 3));
    assert_eq!(line.iter().count(), 1);
}
