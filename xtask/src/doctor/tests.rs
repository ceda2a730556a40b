use runtime_core::device::{DeviceInfo, DeviceKind, LaneMap, Limits, SelectionError};

use super::{Device, problems};
use crate::vulkan::Found;

fn complete() -> Found {
    Found {
        loader: Some("/usr/lib/libvulkan.so.1".into()),
        drivers: vec!["/usr/share/vulkan/icd.d/lvp_icd.x86_64.json".into()],
        layer: Some("/usr/share/vulkan/explicit_layer.d/layer.json".into()),
        ..Found::default()
    }
}

fn device() -> DeviceInfo {
    let limits = Limits {
        groups: [65_535; 3],
        workgroup: [1024; 3],
        workgroup_invocations: 1024,
        workgroup_bytes: 32_768,
        storage_range_bytes: 1 << 27,
        uniform_range_bytes: 65_536,
        storage_align_bytes: 16,
        uniform_align_bytes: 16,
        atom_bytes: 64,
        buffer_bytes: 1 << 30,
        allocations: 4096,
        storage_bindings: 16,
    };
    DeviceInfo::new("a device", DeviceKind::Software, LaneMap::shared(), limits)
}

#[test]
fn a_healthy_machine_has_no_problem() {
    assert!(problems(&complete(), true, Ok(&[device()])).is_empty());
}

#[test]
fn every_missing_part_leads_to_setup() {
    let found = problems(&Found::default(), true, Ok(&[device()]));
    assert_eq!(found.len(), 1);
    assert!(found[0].what.contains("validation layer"));
    assert!(found[0].fix.contains("cargo xtask setup"));
}

#[test]
fn a_missing_linker_is_named() {
    let found = problems(&complete(), false, Ok(&[device()]));
    assert_eq!(found.len(), 1);
    assert!(found[0].what.contains("`cc`"));
}

#[test]
fn no_device_is_a_problem() {
    assert_eq!(problems(&complete(), true, Ok(&[])).len(), 1);
    let error = SelectionError::NoDriver;
    let found = problems(&complete(), true, Err(&error));
    assert_eq!(found[0].what, error.to_string());
}

#[test]
fn a_lacking_device_names_what_it_lacks() {
    let mut lacking = device();
    lacking.missing = vec!["timelineSemaphore"];
    let found = problems(&complete(), true, Ok(&[device(), lacking]));
    assert_eq!(found.len(), 1);
    assert!(found[0].what.contains("timelineSemaphore"));
}

#[test]
fn a_dangling_manifest_is_named() {
    let mut found = complete();
    found.dangling = vec!["/etc/vulkan/icd.d/old.json".into()];
    let found = problems(&found, true, Ok(&[device()]));
    assert!(found[0].what.contains("/etc/vulkan/icd.d/old.json"));
}

#[test]
fn a_device_survives_its_json() {
    let device = Device::from(&device());
    let text = serde_json::to_string(&device).unwrap();
    assert_eq!(serde_json::from_str::<Device>(&text).unwrap(), device);
    assert_eq!(device.lanes.len(), 4);
}
