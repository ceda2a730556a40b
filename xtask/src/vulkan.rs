//! What of Vulkan is installed, judged by the files that a loader reads.
//!
//! Nothing is loaded here: a loader, its drivers and its layers are files in
//! known directories, and a missing or dangling one is a fact that can be told
//! before any of them crashes.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::program::Program;

#[cfg(test)]
mod tests;

/// The name of the Khronos validation layer's manifest.
const LAYER_MANIFEST: &str = "VkLayer_khronos_validation.json";

/// Where Debian's `chromium-common` keeps SwiftShader's manifest.
const SWIFTSHADER_DIRS: [&str; 2] = ["/usr/lib/chromium", "/usr/lib/chromium-browser"];

/// The directories and files that a loader would look at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// Directories of libraries.
    pub(crate) libraries: Vec<PathBuf>,
    /// Directories (or files, when a variable names them) of driver manifests.
    pub(crate) drivers: Vec<PathBuf>,
    /// Directories of explicit layers' manifests.
    pub(crate) layers: Vec<PathBuf>,
    /// Directories that may hold SwiftShader, which loaders do not look at.
    pub(crate) swiftshader: Vec<PathBuf>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// The loader's library.
    pub(crate) loader: Option<PathBuf>,
    /// Driver manifests whose library is there.
    pub(crate) drivers: Vec<PathBuf>,
    /// Driver manifests whose library is gone.
    pub(crate) dangling: Vec<PathBuf>,
    /// The validation layer's manifest.
    pub(crate) layer: Option<PathBuf>,
    /// SwiftShader's manifest.
    pub(crate) swiftshader: Option<PathBuf>,
}

impl Found {
    /// Looks at this machine.
    pub(crate) fn here() -> Self {
        let mut found = look(&places(&|name| env::var_os(name)));
        if found.loader.is_none() {
            found.loader = loader_of_ldconfig();
        }
        found
    }

    /// The manifest of a driver that needs no GPU and that loaders find.
    pub(crate) fn software_driver(&self) -> Option<&Path> {
        self.drivers
            .iter()
            .find(|path| is_software(path))
            .map(PathBuf::as_path)
    }

    /// The value for `VK_ICD_FILENAMES` that adds SwiftShader to the drivers
    /// that are found anyway; `None` when it is not there.
    pub(crate) fn drivers_with_swiftshader(&self) -> Option<OsString> {
        let swiftshader = self.swiftshader.as_ref()?;
        let all = self.drivers.iter().filter(|path| *path != swiftshader);
        env::join_paths(all.chain([swiftshader])).ok()
    }
}

/// Where a loader looks, under an environment.
pub(crate) fn places(variable: &dyn Fn(&str) -> Option<OsString>) -> Places {
    let list = |name: &str| -> Vec<PathBuf> {
        variable(name)
            .map(|text| env::split_paths(&text).collect())
            .unwrap_or_default()
    };
    let list_or = |name: &str, usual: &[&str]| -> Vec<PathBuf> {
        Some(list(name))
            .filter(|paths| !paths.is_empty())
            .unwrap_or_else(|| usual.iter().map(PathBuf::from).collect())
    };
    let home = variable("HOME").map(PathBuf::from);
    let in_home = |name: &str, usual: &str| {
        variable(name)
            .map(PathBuf::from)
            .or_else(|| home.as_ref().map(|home| home.join(usual)))
    };
    let mut roots: Vec<PathBuf> = Vec::new();
    roots.extend(in_home("XDG_CONFIG_HOME", ".config"));
    roots.extend(list_or("XDG_CONFIG_DIRS", &["/etc/xdg"]));
    roots.push("/etc".into());
    roots.extend(in_home("XDG_DATA_HOME", ".local/share"));
    roots.extend(list_or(
        "XDG_DATA_DIRS",
        &["/usr/local/share", "/usr/share"],
    ));
    roots.push("/opt/homebrew/share".into());
    let below = |name: &str| -> Vec<PathBuf> {
        roots
            .iter()
            .map(|root| root.join("vulkan").join(name))
            .collect()
    };

    // The newer variable wins, as it does for the loader itself.
    let named = [list("VK_DRIVER_FILES"), list("VK_ICD_FILENAMES")];
    let drivers = named
        .into_iter()
        .find(|paths| !paths.is_empty())
        .unwrap_or_else(|| below("icd.d"));
    let layers = Some(list("VK_LAYER_PATH"))
        .filter(|paths| !paths.is_empty())
        .unwrap_or_else(|| below("explicit_layer.d"));
    Places {
        libraries: libraries(list("LD_LIBRARY_PATH")),
        drivers: [list("VK_ADD_DRIVER_FILES"), drivers].concat(),
        layers: [list("VK_ADD_LAYER_PATH"), layers].concat(),
        swiftshader: SWIFTSHADER_DIRS.iter().map(PathBuf::from).collect(),
    }
}

/// Looks at those places.
pub(crate) fn look(places: &Places) -> Found {
    let names = if cfg!(target_os = "windows") {
        ["vulkan-1.dll", "vulkan-1.dll"]
    } else if cfg!(target_os = "macos") {
        ["libvulkan.1.dylib", "libvulkan.dylib"]
    } else {
        ["libvulkan.so.1", "libvulkan.so"]
    };
    let loader = names
        .iter()
        .flat_map(|name| places.libraries.iter().map(move |dir| dir.join(name)))
        .find(|path| path.is_file());
    let manifests = places.drivers.iter().flat_map(|place| manifests(place));
    let (drivers, dangling) = manifests.partition(|path| library_is_there(path));
    Found {
        loader,
        drivers,
        dangling,
        layer: places
            .layers
            .iter()
            .map(|dir| dir.join(LAYER_MANIFEST))
            .find(|path| path.is_file()),
        swiftshader: places
            .swiftshader
            .iter()
            .map(|dir| dir.join("vk_swiftshader_icd.json"))
            .find(|path| library_is_there(path)),
    }
}

fn libraries(mut first: Vec<PathBuf>) -> Vec<PathBuf> {
    let machine = format!("{}-linux-gnu", env::consts::ARCH);
    first.extend(
        [
            "/usr/lib",
            "/usr/lib64",
            "/lib",
            "/lib64",
            "/usr/local/lib",
            "/opt/homebrew/lib",
            "C:\\Windows\\System32",
        ]
        .map(PathBuf::from),
    );
    first.push(Path::new("/usr/lib").join(&machine));
    first.push(Path::new("/lib").join(machine));
    first
}

/// Asks the dynamic linker's cache, for systems with directories of their own.
fn loader_of_ldconfig() -> Option<PathBuf> {
    let limit = std::time::Duration::from_secs(10);
    let answer = ["ldconfig", "/sbin/ldconfig"]
        .iter()
        .find_map(|name| Program::new(name).args(["-p"]).capture(limit).ok())?;
    answer.lines.iter().find_map(|line| {
        let (name, path) = line.split_once("=>")?;
        let path = PathBuf::from(path.trim());
        (name.trim_start().starts_with("libvulkan.so") && path.is_file()).then_some(path)
    })
}

/// The manifests at a place: itself when it is a file, else those inside, by name.
fn manifests(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.to_path_buf()];
    }
    let mut inside: Vec<PathBuf> = fs::read_dir(place)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    inside.sort();
    inside
}

fn is_software(manifest: &Path) -> bool {
    manifest
        .file_name()
        .map(|name| name.to_string_lossy())
        .is_some_and(|name| name.starts_with("lvp_icd") || name.contains("swiftshader"))
}

#[derive(Debug, Deserialize)]
struct Manifest {
    #[serde(rename = "ICD")]
    driver: Driver,
}

#[derive(Debug, Deserialize)]
struct Driver {
    library_path: PathBuf,
}

/// The manifest can be read and its library exists. A bare file name is the
/// dynamic linker's to find, so it is believed.
fn library_is_there(manifest: &Path) -> bool {
    let Ok(text) = fs::read_to_string(manifest) else {
        return false;
    };
    let Ok(Manifest { driver }) = serde_json::from_str(&text) else {
        return false;
    };
    let library = driver.library_path;
    if library.components().count() == 1 {
        return true;
    }
    let beside = manifest.parent().map(|dir| dir.join(&library));
    beside.is_some_and(|path| path.is_file())
}
