//! Installing with apt.

use std::thread;
use std::time::Duration;

use super::Part;
use crate::failure::Failure;
use crate::platform::Platform;
use crate::program::Program;

/// How often a step is tried: a mirror can be slow, another apt can be at work.
const TRIES: u32 = 3;

/// The pause between tries.
const PAUSE: Duration = Duration::from_secs(5);

/// How apt waits for the lock of another one, and retries its downloads.
const PATIENCE: [&str; 4] = ["-o", "DPkg::Lock::Timeout=120", "-o", "Acquire::Retries=3"];

/// The packages that bring those parts, each once.
pub(super) fn packages(parts: &[Part]) -> Vec<&'static str> {
    let mut names: Vec<&str> = parts
        .iter()
        .map(|part| match part {
            Part::Loader => "libvulkan1",
            Part::Driver | Part::SoftwareDriver => "mesa-vulkan-drivers",
            Part::Layer => "vulkan-validationlayers",
            Part::SwiftShader => "chromium-common",
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Installs what brings `parts`, as root or through sudo.
pub(super) fn install(parts: &[Part]) -> Result<(), Failure> {
    let names = packages(parts);
    let Some(rights) = rights() else {
        eprintln!("Installing needs root or sudo, and neither is here. As root, please run:");
        eprintln!("    {}", Platform::Debian.install_words());
        return Err(Failure::Missing {
            parts: parts.to_vec(),
        });
    };
    eprintln!("Installing {} with apt.", names.join(", "));
    // Old lists may still do: what decides is whether the packages arrive.
    if let Err(failure) = often(|| apt(rights, &["update"]).aside().run()) {
        eprintln!("The package lists could not be renewed ({failure}); trying with the old ones.");
    }
    let mut words = vec!["install", "-y", "--no-install-recommends"];
    words.extend(names);
    often(|| apt(rights, &words).aside().run()).map_err(|failure| {
        eprintln!("{failure}");
        Failure::Missing {
            parts: parts.to_vec(),
        }
    })
}

#[derive(Debug, Clone, Copy)]
enum Rights {
    Root,
    Sudo,
}

fn rights() -> Option<Rights> {
    let own = Program::new("id").args(["-u"]).output_quietly();
    if own.is_some_and(|id| id.trim() == "0") {
        return Some(Rights::Root);
    }
    Program::new("sudo")
        .args(["--version"])
        .works()
        .then_some(Rights::Sudo)
}

fn apt(rights: Rights, words: &[&str]) -> Program {
    // `env` carries the variable through sudo, which drops its own.
    let program = match rights {
        Rights::Root => Program::new("env"),
        Rights::Sudo => Program::new("sudo").args(["env"]),
    };
    program
        .args(["DEBIAN_FRONTEND=noninteractive", "apt-get"])
        .args(PATIENCE)
        .args(words)
}

fn often(mut step: impl FnMut() -> Result<(), Failure>) -> Result<(), Failure> {
    let mut outcome = step();
    for _ in 1..TRIES {
        if outcome.is_ok() {
            break;
        }
        eprintln!("Trying again in {} s.", PAUSE.as_secs());
        thread::sleep(PAUSE);
        outcome = step();
    }
    outcome
}
