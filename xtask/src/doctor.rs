//! `doctor`: what this machine offers the runtime, and what is wrong with it.

mod report;
mod show;

use std::time::Duration;

use clap::Args;
use runtime_core::device::SelectionError;
use runtime_core::device::vulkan;

use crate::failure::Failure;
use crate::program::Program;
use crate::setup::{self, Need, Part};
use crate::vulkan::Found;

pub(crate) use report::{Device, Problem, Report};

#[cfg(test)]
mod tests;

/// How long the drivers may take to tell their devices.
const LIST_LIMIT: Duration = Duration::from_secs(60);

/// Names the drivers, for every loader there is.
pub(crate) const DRIVERS_VARIABLE: &str = "VK_ICD_FILENAMES";

/// What doctor is told.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Examines the machine and prints the report; fails when no device is usable.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let report = examine();
    if options.json {
        let text = serde_json::to_string_pretty(&report)
            .map_err(|source| Failure::CargoAnswer { source })?;
        println!("{text}");
    } else {
        show::show(&report);
    }
    if report.has_usable_device() {
        return Ok(());
    }
    Err(Failure::checks(""))
}

/// Asks doctor in a process of its own: the drivers' list is fixed by the
/// environment, and a driver that crashes must not take this program along.
pub(crate) fn ask(drivers: Option<&str>) -> Result<Report, Failure> {
    let own = std::env::current_exe().map_err(|source| Failure::Start {
        program: "doctor".into(),
        source,
    })?;
    let mut program = Program::new(own).args(["doctor", "--json"]);
    if let Some(drivers) = drivers {
        program = program.env(DRIVERS_VARIABLE, drivers);
    }
    let said = program.capture(LIST_LIMIT)?;
    // Drivers may print before and after; the report starts and ends its lines.
    let lines = said.lines.iter().map(String::as_str);
    let text: Vec<&str> = lines.skip_while(|line| *line != "{").collect();
    let end = text.iter().position(|line| *line == "}");
    let text = text[..end.map_or(text.len(), |end| end + 1)].join("\n");
    serde_json::from_str(&text).map_err(|source| Failure::CargoAnswer { source })
}

fn examine() -> Report {
    let found = Found::here();
    let linker = !cfg!(unix) || Program::new("cc").args(["--version"]).works();
    let devices = vulkan::enumerate(None);
    let problems = problems(&found, linker, devices.as_ref().map(Vec::as_slice));
    Report {
        loader: found.loader,
        drivers: found.drivers,
        dangling_drivers: found.dangling,
        validation_layer: found.layer,
        swiftshader: found.swiftshader,
        linker,
        devices: devices
            .unwrap_or_default()
            .iter()
            .map(Device::from)
            .collect(),
        problems,
    }
}

/// What is wrong, in plain words, each with what to do about it.
fn problems(
    found: &Found,
    linker: bool,
    devices: Result<&[runtime_core::device::DeviceInfo], &SelectionError>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    if !linker {
        problems.push(Problem::new(
            "there is no C compiler (`cc`), which Rust needs to link programs",
            "install one: on Debian and Ubuntu `apt-get install gcc libc6-dev`",
        ));
    }
    let missing = setup::missing(found, Need::Test);
    if !missing.is_empty() {
        problems.push(Problem::new(
            format!("missing: {}", Part::list(&missing)),
            "run `cargo xtask setup`",
        ));
    }
    for manifest in &found.dangling {
        problems.push(Problem::new(
            format!(
                "the driver manifest {} names a library that does not exist",
                manifest.display()
            ),
            "reinstall that driver's package, or remove the manifest",
        ));
    }
    match devices {
        Err(error) => problems.push(Problem::new(error.to_string(), remedy(error))),
        Ok([]) => problems.push(Problem::new(
            "the drivers offer no device",
            "run `cargo xtask setup` for a driver that needs no GPU",
        )),
        Ok(devices) => problems.extend(
            devices
                .iter()
                .filter(|device| !device.missing.is_empty())
                .map(|device| {
                    Problem::new(
                        format!(
                            "{} cannot be used: it lacks {}",
                            device.name,
                            device.missing.join(", ")
                        ),
                        "a newer driver may offer it; other devices are not affected",
                    )
                }),
        ),
    }
    problems
}

fn remedy(error: &SelectionError) -> &'static str {
    match error {
        SelectionError::NoLoader => "run `cargo xtask setup`, which installs a loader",
        SelectionError::NoDriver | SelectionError::NoDevice => {
            "run `cargo xtask setup` for a driver that needs no GPU; \
             look at VK_DRIVER_FILES and VK_ICD_FILENAMES if they are set"
        }
        _ => "run it again with VK_LOADER_DEBUG=all, which makes the loader tell what it does",
    }
}
