//! The devices that the suite runs on.

use std::fmt;

use crate::doctor::{self, DRIVERS_VARIABLE, Device};
use crate::failure::Failure;
use crate::program::Program;
use crate::vulkan::Found;

use super::DEVICE_VARIABLE;

/// The name of the device that needs no driver.
pub(super) const SCRIPTED: &str = "scripted";

/// A device to run on, or one that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// The device without a driver.
    Scripted,
    /// A device of a driver.
    Vulkan {
        /// Its name, for people.
        name: String,
        /// What tells it from every other: its UUID, or its name.
        key: String,
        /// The drivers to load, where they are not the usual ones.
        drivers: Option<String>,
    },
    /// A device that lacks something.
    Unusable {
        /// Its name.
        name: String,
        /// What it lacks.
        missing: String,
    },
}

impl Target {
    /// Its name, for people.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Scripted => SCRIPTED,
            Self::Vulkan { name, .. } | Self::Unusable { name, .. } => name,
        }
    }

    /// The program with the variables that lead it to this device.
    pub(super) fn apply(&self, program: Program) -> Program {
        match self {
            Self::Vulkan { key, drivers, .. } => {
                let program = program.env(DEVICE_VARIABLE, key);
                match drivers {
                    Some(drivers) => program.env(DRIVERS_VARIABLE, drivers),
                    None => program,
                }
            }
            Self::Scripted | Self::Unusable { .. } => program.env(DEVICE_VARIABLE, SCRIPTED),
        }
    }

    fn is_called(&self, wanted: &str) -> bool {
        let wanted = wanted.to_lowercase();
        match self {
            Self::Scripted => wanted == SCRIPTED,
            Self::Vulkan { name, key, .. } => {
                name.to_lowercase().contains(&wanted) || key.to_lowercase() == wanted
            }
            Self::Unusable { name, .. } => name.to_lowercase().contains(&wanted),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scripted => f.write_str("scripted (needs no driver)"),
            Self::Vulkan { name, key, .. } => write!(f, "{name} ({key})"),
            Self::Unusable { name, missing } => write!(f, "{name}: left out, it lacks {missing}"),
        }
    }
}

/// The scripted device and every Vulkan device, or those that match `wanted`.
pub(super) fn chosen(wanted: Option<&str>) -> Result<Vec<Target>, Failure> {
    let mut all = vec![Target::Scripted];
    if wanted != Some(SCRIPTED) {
        let drivers = Found::here()
            .drivers_with_swiftshader()
            .map(|text| text.to_string_lossy().into_owned());
        all.extend(of_devices(
            &doctor::ask(drivers.as_deref())?.devices,
            &drivers,
        ));
        let usable = |target: &Target| matches!(target, Target::Vulkan { .. });
        if !all.iter().any(usable) {
            return Err(Failure::checks("finding a usable Vulkan device"));
        }
    }
    select(all, wanted)
}

/// Those that match `wanted`; all when nothing is wanted.
pub(super) fn select(all: Vec<Target>, wanted: Option<&str>) -> Result<Vec<Target>, Failure> {
    let Some(wanted) = wanted else {
        return Ok(all);
    };
    let known: Vec<String> = all.iter().map(|target| target.name().to_owned()).collect();
    let matching: Vec<Target> = all
        .into_iter()
        .filter(|target| target.is_called(wanted))
        .collect();
    if matching.is_empty() {
        return Err(Failure::Unknown {
            what: "device",
            wanted: wanted.to_owned(),
            known,
        });
    }
    Ok(matching)
}

/// Drivers may have devices that share a UUID; those are told by their names.
pub(super) fn of_devices(devices: &[Device], drivers: &Option<String>) -> Vec<Target> {
    devices
        .iter()
        .map(|device| {
            if !device.missing.is_empty() {
                return Target::Unusable {
                    name: device.name.clone(),
                    missing: device.missing.join(", "),
                };
            }
            let alike = devices.iter().filter(|other| other.uuid == device.uuid);
            let key = if alike.count() == 1 {
                &device.uuid
            } else {
                &device.name
            };
            Target::Vulkan {
                name: device.name.clone(),
                key: key.clone(),
                drivers: drivers.clone(),
            }
        })
        .collect()
}
