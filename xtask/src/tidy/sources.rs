//! What the libraries' sources may name.
//!
//! Tests, models, properties, examples and benchmarks are free to use what
//! they like; so are programs.

use super::Violation;
use super::code::{self, Named};
use super::tree::Tree;

#[cfg(test)]
mod tests;

/// Where the crate `ash` may be named, and why.
const ASH_PLACES: [(&str, &str); 1] = [(
    "crates/runtime-core/src/device/vulkan/",
    "the one place that talks to drivers",
)];

/// What of `std::sync` and `std::thread` no model needs to see.
const UNMODELLED: [&[&str]; 4] = [
    &["std", "sync", "mpsc"],
    &["std", "sync", "LazyLock"],
    &["std", "sync", "OnceLock"],
    &["std", "thread", "Result"],
];

/// The crates that are libraries.
const LIBRARIES: [&str; 5] = [
    "runtime-sync",
    "runtime-core",
    "native-session",
    "backend-metrics",
    "backend-session",
];

/// The crates that must forbid unsafe code altogether.
const SAFE: [&str; 2] = ["backend-metrics", "backend-session"];

/// Checks every shipped source of every library.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, text) in tree.files() {
        let Some(library) = library_of(path).filter(|_| !is_test_only(tree, path)) else {
            continue;
        };
        let bare = code::bare(text);
        for named in code::paths(&bare) {
            if let Some(words) = refused(library, path, &named) {
                found.push(Violation::at(path, named.line, words));
            }
        }
    }
    for library in SAFE {
        let path = format!("crates/{library}/src/lib.rs");
        let forbidden = tree.text(&path).is_some_and(|text| {
            code::bare(text)
                .lines()
                .any(|line| line.trim() == "#![forbid(unsafe_code)]")
        });
        if !forbidden {
            found.push(Violation::whole(
                &path,
                "`#![forbid(unsafe_code)]` is missing",
            ));
        }
    }
    found
}

/// The library that ships `path`.
fn library_of(path: &str) -> Option<&'static str> {
    let (name, inside) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let test = inside.split('/').any(|part| {
        let part = part.trim_end_matches(".rs");
        matches!(part, "tests" | "models" | "props" | "bin")
    });
    let source = inside.ends_with(".rs") && !test;
    LIBRARIES
        .into_iter()
        .find(|library| source && *library == name)
}

/// The module is declared for tests alone, or one that it lies in is.
fn is_test_only(tree: &Tree, path: &str) -> bool {
    let Some((dir, file)) = path.trim_end_matches("/mod.rs").rsplit_once('/') else {
        return false;
    };
    if dir.ends_with("/src") && matches!(file, "lib.rs" | "main.rs") {
        return false;
    }
    let parents = if dir.ends_with("/src") {
        [format!("{dir}/lib.rs"), format!("{dir}/main.rs")]
    } else {
        [format!("{dir}.rs"), format!("{dir}/mod.rs")]
    };
    let name = file.trim_end_matches(".rs");
    parents.iter().any(|parent| {
        tree.text(parent).is_some_and(|text| {
            code::is_test_module(&code::bare(text), name) || is_test_only(tree, parent)
        })
    })
}

/// Why `named` may not stand there.
fn refused(library: &str, path: &str, named: &Named) -> Option<String> {
    let first = named.segments.first()?.as_str();
    let whole = || named.segments.join("::");
    if library != "runtime-sync" && is_std_sync(named) {
        return Some(format!(
            "`{}` is invisible to the model checker; use `runtime_sync`",
            whole()
        ));
    }
    let fenced = ASH_PLACES.iter().any(|(place, _)| path.starts_with(place));
    if matches!(first, "ash" | "gpu_allocator") && !fenced {
        return Some(format!(
            "`{first}` belongs to runtime-core's device/vulkan/ alone"
        ));
    }
    if first == "tokio" && library != "backend-session" {
        return Some("`tokio` belongs to backend-session's feature, tests and programs".into());
    }
    if first == "tracing_subscriber" {
        return Some("`tracing_subscriber` belongs to programs".into());
    }
    match library {
        "native-session" => queue(named).map(|name| {
            format!("native-session owns no queue, and `{name}` is one: the line is runtime-core's")
        }),
        "backend-session" => vulkan_name(named)
            .map(|name| format!("backend-session names no Vulkan type, and `{name}` is one")),
        "backend-metrics" => gpu_crate(named)
            .map(|name| format!("backend-metrics knows no GPU, and `{name}` leads to one")),
        _ => None,
    }
}

fn is_std_sync(named: &Named) -> bool {
    let std = [
        &["std", "sync"] as &[&str],
        &["std", "thread"],
        &["std", "thread_local"],
        &["core", "sync"],
        &["alloc", "sync"],
    ];
    std.iter().any(|path| named.is_below(path))
        && !UNMODELLED.iter().any(|path| named.is_below(path))
}

fn queue(named: &Named) -> Option<&str> {
    any_segment(named, |name| {
        matches!(
            name,
            "VecDeque" | "BinaryHeap" | "LinkedList" | "mpsc" | "Queue" | "crossbeam"
        )
    })
}

fn vulkan_name(named: &Named) -> Option<&str> {
    any_segment(named, |name| {
        matches!(name, "ash" | "vk" | "vulkan")
            || name.starts_with("Vulkan")
            || name.starts_with("VK_")
    })
}

fn gpu_crate(named: &Named) -> Option<&str> {
    any_segment(named, |name| {
        matches!(
            name,
            "runtime_core" | "native_session" | "vk" | "vulkan" | "wgpu" | "naga"
        )
    })
}

fn any_segment(named: &Named, judge: impl Fn(&str) -> bool) -> Option<&str> {
    named
        .segments
        .iter()
        .map(String::as_str)
        .find(|name| judge(name))
}
