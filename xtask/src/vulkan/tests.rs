use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Found, Places, look, places};

fn environment(pairs: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<OsString> {
    move |name| {
        pairs
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| OsString::from(value))
    }
}

/// A directory that is gone when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("xtask-{}-{name}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn manifest(library: &str) -> String {
    format!(r#"{{"file_format_version":"1.0.0","ICD":{{"library_path":"{library}"}}}}"#)
}

#[test]
fn the_usual_directories_are_searched() {
    let places = places(&environment(&[("HOME", "/home/me")]));
    for dir in [
        "/etc/vulkan/icd.d",
        "/usr/share/vulkan/icd.d",
        "/home/me/.local/share/vulkan/icd.d",
    ] {
        assert!(places.drivers.contains(&PathBuf::from(dir)), "{dir}");
    }
    let layers = PathBuf::from("/usr/share/vulkan/explicit_layer.d");
    assert!(places.layers.contains(&layers));
}

#[test]
fn named_drivers_replace_the_usual_ones() {
    let old = places(&environment(&[("VK_ICD_FILENAMES", "/a.json:/b.json")]));
    assert_eq!(
        old.drivers,
        [PathBuf::from("/a.json"), PathBuf::from("/b.json")]
    );
    let both = places(&environment(&[
        ("VK_ICD_FILENAMES", "/a.json"),
        ("VK_DRIVER_FILES", "/c.json"),
    ]));
    assert_eq!(both.drivers, [PathBuf::from("/c.json")]);
}

#[test]
fn added_drivers_stand_beside_the_usual_ones() {
    let places = places(&environment(&[("VK_ADD_DRIVER_FILES", "/a.json")]));
    assert_eq!(places.drivers[0], Path::new("/a.json"));
    assert!(
        places
            .drivers
            .contains(&PathBuf::from("/usr/share/vulkan/icd.d"))
    );
}

#[test]
fn an_empty_machine_has_nothing() {
    assert_eq!(look(&Places::default()), Found::default());
}

#[test]
fn a_manifest_without_its_library_dangles() {
    let scratch = Scratch::new("dangling");
    let gone = scratch.file("lvp_icd.x86_64.json", &manifest("/nowhere/lib.so"));
    let found = look(&Places {
        drivers: vec![scratch.0.clone()],
        ..Places::default()
    });
    assert_eq!(found.dangling, [gone]);
    assert_eq!(found.software_driver(), None);
}

#[test]
fn a_library_beside_its_manifest_counts() {
    let scratch = Scratch::new("beside");
    scratch.file("driver.so", "");
    let hardware = scratch.file("a_icd.json", &manifest("./driver.so"));
    let software = scratch.file("lvp_icd.x86_64.json", &manifest("./driver.so"));
    let found = look(&Places {
        drivers: vec![scratch.0.clone()],
        ..Places::default()
    });
    assert_eq!(found.drivers, [hardware, software.clone()]);
    assert_eq!(found.software_driver(), Some(software.as_path()));
}

#[test]
fn swiftshader_is_added_to_the_others() {
    let scratch = Scratch::new("swiftshader");
    scratch.file("libvk_swiftshader.so", "");
    let second = scratch.file(
        "vk_swiftshader_icd.json",
        &manifest("./libvk_swiftshader.so"),
    );
    let mut found = look(&Places {
        swiftshader: vec![scratch.0.clone()],
        ..Places::default()
    });
    found.drivers = vec!["/first.json".into()];
    let joined = found.drivers_with_swiftshader().unwrap();
    let paths: Vec<PathBuf> = std::env::split_paths(&joined).collect();
    assert_eq!(paths, [PathBuf::from("/first.json"), second]);
}

#[test]
fn the_validation_layer_is_found_by_manifest() {
    let scratch = Scratch::new("layer");
    let wanted = Places {
        layers: vec![scratch.0.clone()],
        ..Places::default()
    };
    assert_eq!(look(&wanted).layer, None);
    let layer = scratch.file("VkLayer_khronos_validation.json", "{}");
    assert_eq!(look(&wanted).layer, Some(layer));
}
