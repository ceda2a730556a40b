#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use super::{Account, DeviceIndex, DeviceSet, Ledger};
use crate::error::Error;
use proptest::prelude::*;

fn all(ledger: &Ledger) -> DeviceSet {
    ledger.select(|_, _| true)
}

fn first(ledger: &Ledger) -> DeviceIndex {
    ledger.find(0).unwrap()
}

#[test]
fn the_first_device_that_fits_is_taken() {
    let mut ledger = Ledger::new(vec![Account::new(0, 10, 9), Account::new(1, 20, 9)]);
    let devices = all(&ledger);
    let zero = ledger.placement(5, devices, DeviceSet::default()).unwrap();
    assert_eq!(zero, first(&ledger));
    ledger.grant(zero, 8);
    let one = ledger.placement(5, devices, DeviceSet::default()).unwrap();
    assert_eq!(ledger.account(one).ordinal, 1);
}

#[test]
fn places_are_bounded_beside_bytes() {
    let mut ledger = Ledger::new(vec![Account::new(0, 100, 1)]);
    let (devices, none) = (all(&ledger), DeviceSet::default());
    let device = first(&ledger);
    ledger.grant(device, 1);
    assert_eq!(ledger.placement(1, devices, none), None);
    ledger.give_back(device, 1, 0);
    assert_eq!(ledger.placement(1, devices, none), Some(device));
}

#[test]
fn refusals_come_in_their_order() {
    let mut ledger = Ledger::new(vec![Account::new(0, 10, 9), Account::new(1, 20, 9)]);
    let devices = all(&ledger);
    assert!(matches!(
        ledger.refusal(99, DeviceSet::default()),
        Some(Error::NoCapableDevice { devices: 2 })
    ));
    assert!(matches!(
        ledger.refusal(21, devices),
        Some(Error::NeverFits {
            requested_bytes: 21,
            largest_bytes: 20
        })
    ));
    let large = ledger.find(1).unwrap();
    ledger.set_open(large, false);
    assert!(matches!(
        ledger.refusal(15, devices),
        Some(Error::NoHealthyDevice { capable: 1 })
    ));
    assert!(ledger.refusal(10, devices).is_none());
}

#[test]
fn a_shrunk_capacity_takes_nothing_away() {
    let mut ledger = Ledger::new(vec![Account::new(0, 10, 9)]);
    let device = first(&ledger);
    ledger.grant(device, 8);
    ledger.resize(device, 4);
    assert_eq!(ledger.account(device).free_bytes(), -4);
    assert_eq!(ledger.account(device).granted_bytes, 8);
    assert!(ledger.reserve(device, 1).is_err());
}

proptest! {
    #[test]
    fn every_byte_is_in_one_place(steps in prop::collection::vec((0u8..7, 1u64..40), 0..60)) {
        let mut ledger = Ledger::new(vec![Account::new(0, 100, 9)]);
        let device = first(&ledger);
        let (mut granted, mut resident) = (Vec::new(), Vec::new());
        let (mut retained, mut quarantined) = (Vec::new(), Vec::new());
        for (step, bytes) in steps {
            match step {
                0 => if ledger.placement(bytes, all(&ledger), DeviceSet::default()).is_some() {
                    ledger.grant(device, bytes);
                    granted.push(bytes);
                },
                1 => if let Some(bytes) = granted.pop() {
                    ledger.give_back(device, bytes, bytes / 2);
                    retained.push(bytes / 2);
                },
                2 => if let Some(bytes) = granted.pop() {
                    ledger.quarantine(device, bytes);
                    quarantined.push(bytes);
                },
                3 => if ledger.reserve(device, bytes).is_ok() { resident.push(bytes) },
                4 => if let Some(bytes) = resident.pop() { ledger.release(device, bytes, 0) },
                5 => if let Some(bytes) = retained.pop() { ledger.give_back_retained(device, bytes) },
                _ => if let Some(bytes) = quarantined.pop() { ledger.give_back_quarantined(device, bytes, 0) },
            }
            let account = ledger.account(device);
            let sums = [&granted, &resident, &retained, &quarantined].map(|held| held.iter().sum::<u64>());
            prop_assert_eq!(sums, [account.granted_bytes, account.resident_bytes, account.retained_bytes, account.quarantined_bytes]);
            prop_assert!(account.free_bytes() >= 0);
            prop_assert_eq!(u64::try_from(account.free_bytes()).unwrap() + sums.iter().sum::<u64>(), 100);
        }
    }
}
