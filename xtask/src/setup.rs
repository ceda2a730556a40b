//! `setup`: what Vulkan needs on this machine, found or installed.
//!
//! Only systems with apt are changed. Elsewhere the command is printed for the
//! user to run, because guessing at a foreign package manager can do harm.

mod apt;

use clap::Args;

use crate::doctor;
use crate::failure::Failure;
use crate::platform::Platform;
use crate::program::Program;
use crate::table;
use crate::vulkan::Found;

#[cfg(test)]
mod tests;

/// What setup is told.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only report what is there; exit code 1 when something is missing.
    #[arg(long)]
    check: bool,
    /// Also want SwiftShader, a second software driver (Debian's chromium-common, 31 MB).
    #[arg(long)]
    swiftshader: bool,
}

/// A part of the machine that the project needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The library through which programs reach drivers.
    Loader,
    /// Any Vulkan driver.
    Driver,
    /// A driver that needs no GPU.
    SoftwareDriver,
    /// The Khronos validation layer.
    Layer,
    /// The second software driver.
    SwiftShader,
}

/// What the machine is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Running programs on whatever device is there.
    Run,
    /// Running programs where no driver offers a usable device.
    RunAnywhere,
    /// Testing, under validation, also where there is no GPU.
    Test,
    /// Testing on two independent drivers.
    TestTwice,
}

impl Part {
    /// Its name for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Loader => "Vulkan loader",
            Self::Driver => "Vulkan driver",
            Self::SoftwareDriver => "software driver (lavapipe)",
            Self::Layer => "validation layer",
            Self::SwiftShader => "SwiftShader",
        }
    }

    /// Several names in a row.
    pub(crate) fn list(parts: &[Self]) -> String {
        let names: Vec<&str> = parts.iter().map(|part| part.name()).collect();
        names.join(", ")
    }

    fn place(self, found: &Found) -> Option<String> {
        let path = match self {
            Self::Loader => found.loader.as_deref(),
            Self::Driver => found.drivers.first().map(std::path::PathBuf::as_path),
            Self::SoftwareDriver => found.software_driver(),
            Self::Layer => found.layer.as_deref(),
            Self::SwiftShader => found.swiftshader.as_deref(),
        };
        path.map(|path| path.display().to_string())
    }
}

impl Need {
    /// The parts that it takes. Drivers are looked for on Linux only:
    /// elsewhere loaders know them from places that are no files.
    fn parts(self) -> &'static [Part] {
        match self {
            Self::Run if cfg!(target_os = "linux") => &[Part::Loader, Part::Driver],
            Self::Run => &[Part::Loader],
            Self::RunAnywhere => &[Part::Loader, Part::SoftwareDriver],
            Self::Test => &[Part::Loader, Part::SoftwareDriver, Part::Layer],
            Self::TestTwice => &[
                Part::Loader,
                Part::SoftwareDriver,
                Part::Layer,
                Part::SwiftShader,
            ],
        }
    }
}

/// Reports, and installs what is missing unless only a report was asked for.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let need = if options.swiftshader {
        Need::TestTwice
    } else {
        Need::Test
    };
    let found = Found::here();
    report(&found, need);
    check_linker();
    let parts = missing(&found, need);
    if parts.is_empty() {
        eprintln!("Nothing is missing.");
        return Ok(());
    }
    if options.check {
        eprintln!(
            "Missing: {}. `cargo xtask setup` installs it, where it can.",
            Part::list(&parts)
        );
        return Err(Failure::checks(""));
    }
    install(&parts)?;
    confirm(need)
}

/// Makes sure of what `need` takes, silently when it is all there. Whatever is
/// said goes to standard error: another command's output may be for a program.
pub(crate) fn ensure(need: Need) -> Result<(), Failure> {
    let found = Found::here();
    let parts = missing(&found, need);
    if !parts.is_empty() {
        return add(&parts, need);
    }
    // Files elsewhere prove nothing, and nothing could be installed.
    if need != Need::Run || !cfg!(target_os = "linux") || has_usable_device() {
        return Ok(());
    }
    eprintln!("The installed drivers offer no usable device; `cargo xtask doctor` tells more.");
    let parts = missing(&found, Need::RunAnywhere);
    if parts.is_empty() {
        // Nothing is left to install; the program itself says what it lacks.
        return Ok(());
    }
    add(&parts, Need::RunAnywhere)
}

fn add(parts: &[Part], need: Need) -> Result<(), Failure> {
    eprintln!("Missing on this machine: {}.", Part::list(parts));
    install(parts)?;
    confirm(need)
}

/// A manifest is not a device yet: its driver may find no hardware.
fn has_usable_device() -> bool {
    doctor::ask(None).is_ok_and(|report| report.has_usable_device())
}

/// What of `need` was not found, in order.
pub(crate) fn missing(found: &Found, need: Need) -> Vec<Part> {
    need.parts()
        .iter()
        .copied()
        .filter(|part| part.place(found).is_none())
        .collect()
}

fn report(found: &Found, need: Need) {
    let mut lines = table::with_head(["part", "found"]);
    for part in need.parts() {
        let place = part.place(found).unwrap_or_else(|| "missing".into());
        lines.add_row([part.name().to_owned(), place]);
    }
    eprintln!("{lines}");
    for manifest in &found.dangling {
        eprintln!(
            "note: {} names a driver library that does not exist",
            manifest.display()
        );
    }
}

/// Rust calls the C compiler to link; who runs this has linked before, so a
/// missing one is worth a line and no more.
fn check_linker() {
    if cfg!(unix) && !Program::new("cc").args(["--version"]).works() {
        eprintln!("note: no C compiler (`cc`) was found; Rust needs it to link");
    }
}

fn install(parts: &[Part]) -> Result<(), Failure> {
    let platform = Platform::here();
    if platform == Platform::Debian {
        return apt::install(parts);
    }
    eprintln!("This system's packages are not ours to change. Please run:");
    eprintln!("    {}", platform.install_words());
    if parts.contains(&Part::SwiftShader) {
        eprintln!("SwiftShader is packaged by Debian only (chromium-common).");
    }
    Err(Failure::Missing {
        parts: parts.to_vec(),
    })
}

fn confirm(need: Need) -> Result<(), Failure> {
    let found = Found::here();
    report(&found, need);
    let parts = missing(&found, need);
    if parts.is_empty() {
        return Ok(());
    }
    eprintln!("The packages were installed, but not everything can be found.");
    Err(Failure::Missing { parts })
}
