use super::{Need, Part, apt, missing};
use crate::vulkan::Found;

fn complete() -> Found {
    Found {
        loader: Some("/usr/lib/libvulkan.so.1".into()),
        drivers: vec!["/usr/share/vulkan/icd.d/lvp_icd.x86_64.json".into()],
        layer: Some("/usr/share/vulkan/explicit_layer.d/layer.json".into()),
        ..Found::default()
    }
}

#[test]
fn a_complete_machine_misses_nothing() {
    assert!(missing(&complete(), Need::Test).is_empty());
    assert!(missing(&complete(), Need::Run).is_empty());
}

#[test]
fn a_gpu_driver_runs_but_does_not_test() {
    let mut found = complete();
    found.drivers = vec!["/usr/share/vulkan/icd.d/radeon_icd.x86_64.json".into()];
    assert!(missing(&found, Need::Run).is_empty());
    assert_eq!(missing(&found, Need::Test), [Part::SoftwareDriver]);
}

#[test]
fn a_manifest_without_device_wants_software() {
    let mut found = complete();
    assert!(missing(&found, Need::RunAnywhere).is_empty());
    found.drivers = vec!["/usr/share/vulkan/icd.d/radeon_icd.x86_64.json".into()];
    // Loaders do not look where this one lies.
    found.swiftshader = Some("/usr/lib/chromium/vk_swiftshader_icd.json".into());
    assert_eq!(missing(&found, Need::RunAnywhere), [Part::SoftwareDriver]);
}

#[test]
fn a_second_driver_is_wanted_on_request_only() {
    assert_eq!(missing(&complete(), Need::TestTwice), [Part::SwiftShader]);
}

#[test]
fn an_empty_machine_misses_every_part() {
    assert_eq!(
        missing(&Found::default(), Need::Test),
        [Part::Loader, Part::SoftwareDriver, Part::Layer]
    );
}

#[test]
fn each_package_is_named_once() {
    assert_eq!(
        apt::packages(&[Part::Driver, Part::SoftwareDriver, Part::Loader]),
        ["libvulkan1", "mesa-vulkan-drivers"]
    );
}
