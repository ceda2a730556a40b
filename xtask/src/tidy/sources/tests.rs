use super::check;
use crate::tidy::tree::Tree;

const SAFE: &str = "//! Safe.\n#![forbid(unsafe_code)]\n";

/// What the rules say about one source in an otherwise orderly workspace.
fn said(path: &str, text: &str) -> Vec<String> {
    let mut files = vec![
        ("crates/backend-metrics/src/lib.rs", SAFE),
        ("crates/backend-session/src/lib.rs", SAFE),
    ];
    files.retain(|(other, _)| *other != path);
    files.push((path, text));
    check(&Tree::of(&files))
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn refuses(path: &str, text: &str) {
    let said = said(path, text);
    assert_eq!(said.len(), 1, "{said:?}");
}

fn allows(path: &str, text: &str) {
    let said = said(path, text);
    assert!(said.is_empty(), "{said:?}");
}

#[test]
fn std_sync_stays_in_runtime_sync() {
    let text = "fn a() {}\nuse std::{fmt, sync::Arc};";
    assert_eq!(
        said("crates/runtime-core/src/lane.rs", text),
        [
            "crates/runtime-core/src/lane.rs:2: `std::sync::Arc` is invisible to the model \
             checker; use `runtime_sync`"
        ]
    );
    refuses(
        "crates/backend-session/src/gate.rs",
        "fn a() { std::thread::spawn(f); }",
    );
    refuses(
        "crates/backend-session/src/gate.rs",
        "use core::sync::atomic::AtomicU8;",
    );
    allows("crates/runtime-sync/src/lock.rs", text);
}

#[test]
fn unmodelled_parts_of_std_are_free() {
    allows(
        "crates/runtime-core/src/lane.rs",
        "use std::sync::{LazyLock, OnceLock, mpsc};",
    );
}

#[test]
fn comments_and_strings_are_free() {
    allows(
        "crates/runtime-core/src/lane.rs",
        "// std::sync::Mutex\nconst A: &str = \"std::sync::Mutex ash::vk\";",
    );
}

#[test]
fn tests_and_programs_are_free() {
    let text = "use std::sync::Arc; use ash::vk; use tokio::spawn;";
    allows("crates/runtime-core/src/lane/tests.rs", text);
    allows("crates/runtime-core/tests/device_suite.rs", text);
    allows("crates/native-session/examples/digits/main.rs", text);
    allows("crates/tpch-demo/src/main.rs", text);
}

#[test]
fn ash_stays_under_the_vulkan_device() {
    refuses("crates/runtime-core/src/graph.rs", "use ash::vk;");
    refuses("crates/native-session/src/lib.rs", "pub use ash;");
    refuses(
        "crates/runtime-core/src/memory.rs",
        "fn f(a: &gpu_allocator::vulkan::Allocator) {}",
    );
    allows(
        "crates/runtime-core/src/device/vulkan/queue.rs",
        "use ash::vk;",
    );
}

#[test]
fn runtime_core_names_no_tokio() {
    refuses(
        "crates/runtime-core/src/completion.rs",
        "fn f() { tokio::spawn(g); }",
    );
    allows("crates/backend-session/src/tokio.rs", "use tokio::signal;");
}

#[test]
fn libraries_name_no_subscriber() {
    refuses(
        "crates/backend-session/src/report.rs",
        "use tracing_subscriber::fmt;",
    );
}

#[test]
fn native_session_owns_no_queue() {
    refuses(
        "crates/native-session/src/session.rs",
        "use std::collections::VecDeque;",
    );
    allows(
        "crates/runtime-core/src/lane/line.rs",
        "use std::collections::VecDeque;",
    );
}

#[test]
fn backend_session_names_no_vulkan_type() {
    refuses(
        "crates/backend-session/src/backend.rs",
        "use runtime_core::{Runtime, VulkanOptions};",
    );
    refuses(
        "crates/backend-session/src/backend.rs",
        "fn f(a: vk::Queue) {}",
    );
    allows(
        "crates/backend-session/src/backend.rs",
        "#[cfg(feature = \"vulkan\")]\nfn f(a: Runtime) {}",
    );
}

#[test]
fn backend_metrics_knows_no_gpu() {
    refuses(
        "crates/backend-metrics/src/recorder.rs",
        "use runtime_core::Lane;",
    );
    allows(
        "crates/backend-metrics/src/recorder.rs",
        "struct GpuPermits;",
    );
}

#[test]
fn safe_crates_forbid_unsafe_code() {
    refuses(
        "crates/backend-metrics/src/lib.rs",
        "// #![forbid(unsafe_code)]\n#![deny(unsafe_code)]",
    );
    refuses("crates/backend-session/src/lib.rs", "//! Nothing.");
}

#[test]
fn a_module_for_tests_is_free() {
    let text = "use std::sync::Arc;";
    let fixture = "crates/runtime-core/src/memory/fixture.rs";
    let declared = |parent: &str| {
        check(&Tree::of(&[
            ("crates/backend-metrics/src/lib.rs", SAFE),
            ("crates/backend-session/src/lib.rs", SAFE),
            ("crates/runtime-core/src/memory.rs", parent),
            (fixture, text),
        ]))
        .len()
    };
    assert_eq!(declared("#[cfg(test)]\npub(crate) mod fixture;"), 0);
    assert_eq!(declared("#[cfg(test)]\nmod other;\nmod fixture;"), 1);
}
