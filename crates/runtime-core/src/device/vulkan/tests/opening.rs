//! Opening, and every way in which it is refused.

use ash::vk;

use super::interposer::{self, Faults, inject};
use super::*;
use crate::device::Candidate;

fn open() -> Result<VulkanDevice, SelectionError> {
    let options = VulkanOptions::default()
        .entry(interposer::entry())
        .allow_software(true);
    VulkanDevice::open(options)
}

/// Opens once with the fault and once without: whatever was refused, a retry
/// succeeds.
fn refusal(change: impl FnOnce(&mut Faults)) -> SelectionError {
    inject(change);
    let refusal = open().expect_err("the fault is noticed");
    inject(|faults| *faults = Faults::default());
    open().expect("a retry succeeds");
    refusal
}

#[test]
fn a_machine_without_drivers_says_so() {
    let refusal = refusal(|faults| {
        faults.create_instance = Some(vk::Result::ERROR_INCOMPATIBLE_DRIVER);
    });
    assert_eq!(refusal, SelectionError::NoDriver);
}

#[test]
fn a_refused_instance_keeps_its_code() {
    let refusal = refusal(|faults| {
        faults.create_instance = Some(vk::Result::ERROR_LAYER_NOT_PRESENT);
    });
    assert_eq!(
        refusal,
        SelectionError::Instance {
            call: "vkCreateInstance",
            code: vk::Result::ERROR_LAYER_NOT_PRESENT.as_raw(),
        }
    );
}

#[test]
fn an_old_loader_is_told_apart() {
    let refusal = refusal(|faults| faults.instance_version = Some(vk::API_VERSION_1_1));
    assert_eq!(refusal, SelectionError::LoaderTooOld { major: 1, minor: 1 });
}

#[test]
fn drivers_without_devices_are_told_apart() {
    let refusal = refusal(|faults| faults.no_devices = true);
    assert_eq!(refusal, SelectionError::NoDevice);
}

#[test]
fn a_device_without_timelines_is_refused() {
    let refusal = refusal(|faults| faults.no_timelines = true);
    let SelectionError::MissingFeature { candidates, .. } = refusal else {
        panic!("{refusal}");
    };
    assert!(!candidates.is_empty());
    for candidate in candidates {
        assert_eq!(candidate.info.missing, ["timelineSemaphore"]);
    }
}

#[test]
fn a_refused_device_keeps_its_code() {
    let refusal = refusal(|faults| {
        faults.create_device = Some(vk::Result::ERROR_INITIALIZATION_FAILED);
    });
    let SelectionError::Open { call, code, .. } = refusal else {
        panic!("{refusal}");
    };
    assert_eq!(call, "vkCreateDevice");
    assert_eq!(code, vk::Result::ERROR_INITIALIZATION_FAILED.as_raw());
}

#[test]
fn an_unknown_device_lists_the_known_ones() {
    let known = enumerate(None).expect("a loader");
    let options = VulkanOptions::default().selector(DeviceSelector::Named("no such device".into()));
    let Err(SelectionError::NoMatch { candidates, .. }) = VulkanDevice::open(options) else {
        panic!("no device has that name");
    };
    let names = |one: &Candidate| one.info.name.clone();
    let listed: Vec<String> = candidates.iter().map(names).collect();
    let known: Vec<String> = known.iter().map(|info| info.name.clone()).collect();
    assert_eq!(listed, known);
}

#[test]
fn a_device_is_opened_by_its_uuid() {
    let first = Rig::new();
    let uuid = first.device.info().uuid;
    let options = VulkanOptions::default().selector(DeviceSelector::Uuid(uuid));
    let second = VulkanDevice::open(options).expect("the device exists");
    assert_eq!(second.info(), first.device.info());
}

#[test]
fn an_unknown_extension_is_named() {
    let options = VulkanOptions::default()
        .allow_software(true)
        .extension(c"VK_LANEKEEPER_none".to_owned());
    let Err(SelectionError::MissingExtension { extension, .. }) = VulkanDevice::open(options)
    else {
        panic!("no device has that extension");
    };
    assert_eq!(extension, "VK_LANEKEEPER_none");
}

#[test]
fn a_reserved_queue_exists_or_is_refused() {
    let options = VulkanOptions::default()
        .allow_software(true)
        .reserve_queue(true);
    let queues: u32 = {
        let rig = Rig::new();
        let families = &rig.device.info().families;
        let computing = families.iter().filter(|family| family.role.compute);
        computing.map(|family| family.queues).sum()
    };
    match VulkanDevice::open(options) {
        Ok(_) => assert!(queues > 1),
        Err(SelectionError::NoReservedQueue { .. }) => assert_eq!(queues, 1),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn an_open_device_says_what_it_is() {
    let rig = Rig::new();
    let info = rig.device.info();
    assert!(info.missing.is_empty());
    assert!(!info.name.is_empty() && !info.driver.is_empty());
    assert_eq!(info.queue_families.len(), info.lanes.queue_count());
    assert!(info.heaps.iter().any(|heap| heap.device_local));
    assert!(info.limits.buffer_bytes >= 1 << 27);
    assert!(info.limits.storage_align_bytes.is_power_of_two());
    assert!(info.timestamp_period_ns > 0.0);
}
