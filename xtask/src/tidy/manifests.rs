//! What each crate's manifest may name.

use toml::{Table, Value};

use super::Violation;
use super::tree::Tree;

#[cfg(test)]
mod tests;

/// Crates that reach a GPU.
const GPU: [&str; 8] = [
    "ash",
    "gpu-allocator",
    "naga",
    "wgpu",
    "vulkano",
    "vk-mem",
    "erupt",
    "cudarc",
];

/// Executors and what belongs to them.
const TOKIO: [&str; 4] = ["tokio", "tokio-util", "tokio-stream", "async-std"];

/// A library, the other crates of this workspace that it may know, and what it
/// must not depend on.
struct Library {
    name: &'static str,
    knows: &'static [&'static str],
    never: &'static [&'static [&'static str]],
}

const LIBRARIES: [Library; 5] = [
    Library {
        name: "runtime-sync",
        knows: &[],
        never: &[&GPU, &TOKIO],
    },
    // Its own use of `ash` is fenced by the rule about sources.
    Library {
        name: "runtime-core",
        knows: &["runtime-sync"],
        never: &[&TOKIO],
    },
    Library {
        name: "native-session",
        knows: &["runtime-sync", "runtime-core"],
        never: &[&GPU, &TOKIO],
    },
    Library {
        name: "backend-metrics",
        knows: &["runtime-sync"],
        never: &[&GPU, &TOKIO],
    },
    Library {
        name: "backend-session",
        knows: &[
            "runtime-sync",
            "runtime-core",
            "native-session",
            "backend-metrics",
        ],
        never: &[&GPU],
    },
];

/// Checks every library's manifest.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for library in &LIBRARIES {
        let path = format!("crates/{}/Cargo.toml", library.name);
        let Some(text) = tree.text(&path) else {
            found.push(Violation::whole(&path, "the manifest is missing"));
            continue;
        };
        match text.parse::<Table>() {
            Ok(manifest) => check_library(library, &path, &manifest, &mut found),
            Err(fault) => found.push(Violation::whole(&path, format!("no TOML: {fault}"))),
        }
    }
    found
}

fn check_library(library: &Library, path: &str, manifest: &Table, found: &mut Vec<Violation>) {
    let mut say = |words: String| found.push(Violation::whole(path, words));
    for (dependency, _) in dependencies(manifest) {
        let ours = LIBRARIES.iter().any(|other| other.name == dependency);
        if ours && !library.knows.contains(&dependency) {
            say(format!("`{}` must not know `{dependency}`", library.name));
        }
        if library.never.iter().any(|list| list.contains(&dependency)) {
            say(format!(
                "`{}` must not depend on `{dependency}`",
                library.name
            ));
        }
        if dependency == "tracing-subscriber" {
            say("`tracing-subscriber` belongs to programs, not to libraries".into());
        }
    }
    if library.name == "backend-session" {
        for words in unfenced_tokio(manifest) {
            say(words);
        }
    }
}

/// What is wrong with the fence around tokio: an optional dependency that only
/// the feature `tokio` turns on, and that feature among the default ones.
fn unfenced_tokio(manifest: &Table) -> Vec<String> {
    let mut found = Vec::new();
    for (name, entry) in dependencies(manifest) {
        let optional = entry.get("optional").and_then(Value::as_bool) == Some(true);
        if TOKIO.contains(&name) && !optional {
            found.push(format!(
                "`{name}` must be optional, behind the feature `tokio`"
            ));
        }
    }
    let features = manifest.get("features").and_then(Value::as_table);
    for (feature, parts) in features.into_iter().flatten() {
        for part in strings(parts) {
            let name = part.trim_start_matches("dep:");
            let name = name.split(['/', '?']).next().unwrap_or_default();
            let turned_on = part.starts_with("dep:") || part.contains('/');
            if turned_on && TOKIO.contains(&name) && feature != "tokio" {
                found.push(format!(
                    "the feature `{feature}` turns on `{name}`; only `tokio` may"
                ));
            }
        }
    }
    let default = features.and_then(|features| features.get("default"));
    if !default.is_some_and(|parts| strings(parts).any(|part| part == "tokio")) {
        found.push("the feature `tokio` must be a default one".into());
    }
    found
}

/// All dependencies that ship (no dev-dependencies), also those of one target.
fn dependencies(manifest: &Table) -> Vec<(&str, &Value)> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let tables = std::iter::once(manifest).chain(
        targets
            .into_iter()
            .flat_map(Table::values)
            .filter_map(Value::as_table),
    );
    tables
        .flat_map(|table| {
            ["dependencies", "build-dependencies"]
                .into_iter()
                .filter_map(|name| table.get(name).and_then(Value::as_table))
        })
        .flatten()
        .map(|(name, entry)| {
            // A renamed dependency counts under its real name.
            let real = entry.get("package").and_then(Value::as_str);
            (real.unwrap_or(name), entry)
        })
        .collect()
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}
