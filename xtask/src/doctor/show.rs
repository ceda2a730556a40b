//! The report for people.

use std::path::Path;

use super::report::{Device, Report};
use crate::table;

const MIB: u64 = 1 << 20;

/// Prints the report.
pub(super) fn show(report: &Report) {
    let place = |path: &Option<std::path::PathBuf>| {
        path.as_deref()
            .map_or("missing".to_owned(), |path| path.display().to_string())
    };
    let mut parts = table::with_head(["part", "found"]);
    parts.add_row(["Vulkan loader".to_owned(), place(&report.loader)]);
    parts.add_row(["drivers".to_owned(), names(&report.drivers)]);
    parts.add_row([
        "validation layer".to_owned(),
        place(&report.validation_layer),
    ]);
    parts.add_row([
        "SwiftShader (optional)".to_owned(),
        place(&report.swiftshader),
    ]);
    let linker = if report.linker { "cc" } else { "missing" };
    parts.add_row(["linker", linker]);
    println!("{parts}");
    for device in &report.devices {
        println!("{}", device_table(device));
    }
    if report.problems.is_empty() {
        println!("Nothing is wrong.");
    }
    for problem in &report.problems {
        println!("problem: {}\n    fix: {}", problem.what, problem.fix);
    }
}

fn names(manifests: &[std::path::PathBuf]) -> String {
    let names: Vec<String> = manifests
        .iter()
        .filter_map(|path| Path::file_stem(path))
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    if names.is_empty() {
        return "missing".into();
    }
    names.join(", ")
}

fn device_table(device: &Device) -> comfy_table::Table {
    let usable = if device.missing.is_empty() {
        "yes".to_owned()
    } else {
        format!("no, it lacks {}", device.missing.join(", "))
    };
    let limits = &device.limits;
    let mut lines = table::with_head(["device", &device.name]);
    for (name, value) in [
        ("usable", usable),
        ("kind", device.kind.clone()),
        ("UUID", device.uuid.clone()),
        ("driver", device.driver.clone()),
        ("Vulkan", device.api_version.clone()),
        ("queue families", families(device)),
        ("lanes", lanes(device)),
        ("heaps", heaps(device)),
        ("workgroups per axis", axes(limits.groups)),
        (
            "workgroup",
            format!(
                "{}, {} invocations, {} KiB",
                axes(limits.workgroup),
                limits.workgroup_invocations,
                limits.workgroup_bytes / 1024
            ),
        ),
        (
            "largest buffer, binding",
            format!(
                "{} MiB, {} MiB",
                limits.buffer_bytes / MIB,
                limits.storage_range_bytes / MIB
            ),
        ),
        (
            "alignment, atom",
            format!(
                "{} bytes, {} bytes",
                limits.storage_align_bytes, limits.atom_bytes
            ),
        ),
        ("allocations", limits.allocations.to_string()),
    ] {
        lines.add_row([name.to_owned(), value]);
    }
    lines
}

fn axes(values: [u32; 3]) -> String {
    let [x, y, z] = values;
    format!("{x} x {y} x {z}")
}

fn families(device: &Device) -> String {
    let lines: Vec<String> = device
        .families
        .iter()
        .map(|family| {
            format!(
                "{}: {} queues, {}, {} timestamp bits",
                family.index,
                family.queues,
                family.roles.join("+"),
                family.timestamp_bits
            )
        })
        .collect();
    lines.join("\n")
}

fn lanes(device: &Device) -> String {
    let lines: Vec<String> = device
        .lanes
        .iter()
        .map(|place| match place.family {
            Some(family) => format!("{} on queue {} (family {family})", place.lane, place.queue),
            None => format!("{} on queue {}", place.lane, place.queue),
        })
        .collect();
    lines.join("\n")
}

fn heaps(device: &Device) -> String {
    let lines: Vec<String> = device
        .heaps
        .iter()
        .map(|heap| {
            let local = if heap.device_local {
                ", device-local"
            } else {
                ""
            };
            let visible = if heap.host_visible {
                ", host-visible"
            } else {
                ""
            };
            format!("{} MiB{local}{visible}", heap.bytes / MIB)
        })
        .collect();
    lines.join("\n")
}
