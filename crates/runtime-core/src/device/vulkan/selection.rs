//! Which device is taken.
//!
//! Pure: candidates and a wish in, one candidate or a typed refusal out.

use std::cmp::Reverse;
use std::fmt;

use crate::device::{DeviceInfo, DeviceKind, DeviceUuid};

/// The environment variable that names a device where the program does not.
pub const DEVICE_VARIABLE: &str = "LANEKEEPER_DEVICE";

/// Which device is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceSelector {
    /// The best one: discrete before integrated before virtual, then the one
    /// with the most memory of its own. Never the processor itself. The
    /// variable [`DEVICE_VARIABLE`] overrides this choice: it holds a name as
    /// in [`Named`](Self::Named), or a UUID.
    #[default]
    Best,
    /// As [`Best`](Self::Best), with the processor itself as the last resort.
    BestOrSoftware,
    /// The only one that has this name, or else the only one whose name
    /// contains it; case does not count. Software devices are allowed.
    Named(String),
    /// The one with this UUID. Software devices are allowed.
    Uuid(DeviceUuid),
}

impl DeviceSelector {
    /// Says whether the best device may be the processor itself. A device that
    /// is named by name or UUID may always be, so this changes nothing there.
    #[must_use]
    pub fn allow_software(self, allowed: bool) -> Self {
        match (self, allowed) {
            (Self::Best | Self::BestOrSoftware, true) => Self::BestOrSoftware,
            (Self::Best | Self::BestOrSoftware, false) => Self::Best,
            (named, _) => named,
        }
    }

    /// The wish after the environment had its say: a value of
    /// [`DEVICE_VARIABLE`] that is not blank replaces the best device.
    pub(super) fn or_named_by(self, variable: Option<&str>) -> Self {
        let named = variable.map(str::trim).filter(|value| !value.is_empty());
        match (self, named) {
            (Self::Best | Self::BestOrSoftware, Some(value)) => match parse_uuid(value) {
                Some(uuid) => Self::Uuid(uuid),
                None => Self::Named(value.to_owned()),
            },
            (wish, _) => wish,
        }
    }
}

impl fmt::Display for DeviceSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Best => f.write_str("the best hardware device"),
            Self::BestOrSoftware => f.write_str("the best device"),
            Self::Named(name) => write!(f, "a device named `{name}`"),
            Self::Uuid(uuid) => write!(f, "the device {uuid}"),
        }
    }
}

/// A device that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// The driver's name of it.
    pub name: String,
    /// What kind of hardware it is.
    pub kind: DeviceKind,
    /// The driver's identity of it.
    pub uuid: DeviceUuid,
    /// Bytes of memory of its own.
    pub local_bytes: u64,
    /// What it lacks of what the runtime needs; empty on a usable device.
    pub missing: Vec<&'static str>,
}

impl Candidate {
    /// What of a device matters for the choice.
    pub(super) fn of(info: &DeviceInfo) -> Self {
        let local = info.heaps.iter().filter(|heap| heap.device_local);
        Self {
            name: info.name.clone(),
            kind: info.kind,
            uuid: info.uuid,
            local_bytes: local.map(|heap| heap.bytes).sum(),
            missing: info.missing.clone(),
        }
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.name, self.kind, self.uuid)?;
        if !self.missing.is_empty() {
            write!(f, " without {}", self.missing.join(", "))?;
        }
        Ok(())
    }
}

/// Why no device was opened. Every one of these leaves nothing behind: opening
/// may be tried again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// The machine has no Vulkan loader that can be opened.
    #[error("no Vulkan loader: {reason}")]
    NoLoader {
        /// The system's account of it.
        reason: String,
    },
    /// The loader is older than the Vulkan version that the runtime needs.
    #[error("the Vulkan loader offers {major}.{minor}, and 1.3 is needed")]
    LoaderTooOld {
        /// The loader's major version.
        major: u32,
        /// The loader's minor version.
        minor: u32,
    },
    /// The loader found no driver.
    #[error("no Vulkan driver is installed")]
    NoDriver,
    /// A call that prepares the choice failed.
    #[error("{call} answered code {code}")]
    Refused {
        /// The driver call.
        call: &'static str,
        /// The driver's own result code (`VkResult`).
        code: i32,
    },
    /// There are drivers, and they have no device.
    #[error("no Vulkan device: the installed drivers find none")]
    NoDevice,
    /// No device is the wanted one.
    #[error("{wanted} was asked for, found {}", list(.candidates))]
    NoMatch {
        /// What was asked for.
        wanted: DeviceSelector,
        /// All devices.
        candidates: Vec<Candidate>,
    },
    /// More than one device is the wanted one.
    #[error("{wanted} was asked for, which fits {}", list(.candidates))]
    Ambiguous {
        /// What was asked for.
        wanted: DeviceSelector,
        /// The devices that fit.
        candidates: Vec<Candidate>,
    },
    /// Every device that fits lacks something that the runtime needs.
    #[error("{wanted} was asked for, and not usable is {}", list(.candidates))]
    MissingFeature {
        /// What was asked for.
        wanted: DeviceSelector,
        /// The devices that fit, each with what it lacks.
        candidates: Vec<Candidate>,
    },
    /// The chosen device lacks a device extension that was asked for.
    #[error("{device} has no extension {extension}")]
    MissingExtension {
        /// The chosen device.
        device: Candidate,
        /// The extension's name.
        extension: String,
    },
    /// A queue of one's own was asked for, and the chosen device has none left.
    #[error("{device} has no queue to reserve")]
    NoReservedQueue {
        /// The chosen device.
        device: Candidate,
    },
    /// The driver would not open the chosen device.
    #[error("{device} was refused: {call} answered code {code}")]
    DeviceRefused {
        /// The chosen device.
        device: Candidate,
        /// The driver call.
        call: &'static str,
        /// The driver's own result code (`VkResult`).
        code: i32,
    },
}

/// The place of the wanted candidate.
pub(super) fn choose(
    candidates: &[Candidate],
    wanted: &DeviceSelector,
) -> Result<usize, SelectionError> {
    if candidates.is_empty() {
        return Err(SelectionError::NoDevice);
    }
    match wanted {
        DeviceSelector::Best => best(candidates, wanted, false),
        DeviceSelector::BestOrSoftware => best(candidates, wanted, true),
        DeviceSelector::Named(name) => {
            let name = name.to_lowercase();
            let exact = places(candidates, |one| one.name.to_lowercase() == name);
            if exact.is_empty() {
                let part = places(candidates, |one| one.name.to_lowercase().contains(&name));
                only(candidates, wanted, &part)
            } else {
                only(candidates, wanted, &exact)
            }
        }
        DeviceSelector::Uuid(uuid) => only(
            candidates,
            wanted,
            &places(candidates, |one| one.uuid == *uuid),
        ),
    }
}

fn best(
    candidates: &[Candidate],
    wanted: &DeviceSelector,
    software: bool,
) -> Result<usize, SelectionError> {
    let allowed = places(candidates, |one| {
        software || one.kind != DeviceKind::Software
    });
    if allowed.is_empty() {
        return Err(no_match(candidates, wanted));
    }
    // Among equals the driver's own order decides, so the key is ordered so
    // that the first of the least ones wins.
    allowed
        .iter()
        .copied()
        .filter(|&place| candidates[place].missing.is_empty())
        .min_by_key(|&place| {
            let one = &candidates[place];
            (rank(one.kind), Reverse(one.local_bytes))
        })
        .ok_or_else(|| SelectionError::MissingFeature {
            wanted: wanted.clone(),
            candidates: pick(candidates, &allowed),
        })
}

fn only(
    candidates: &[Candidate],
    wanted: &DeviceSelector,
    fitting: &[usize],
) -> Result<usize, SelectionError> {
    match fitting {
        [] => Err(no_match(candidates, wanted)),
        [place] if candidates[*place].missing.is_empty() => Ok(*place),
        [_] => Err(SelectionError::MissingFeature {
            wanted: wanted.clone(),
            candidates: pick(candidates, fitting),
        }),
        _ => Err(SelectionError::Ambiguous {
            wanted: wanted.clone(),
            candidates: pick(candidates, fitting),
        }),
    }
}

/// What the driver could not say comes after all hardware and before software.
fn rank(kind: DeviceKind) -> u8 {
    match kind {
        DeviceKind::Discrete => 0,
        DeviceKind::Integrated => 1,
        DeviceKind::Virtual => 2,
        DeviceKind::Other | DeviceKind::Scripted => 3,
        DeviceKind::Software => 4,
    }
}

fn no_match(candidates: &[Candidate], wanted: &DeviceSelector) -> SelectionError {
    SelectionError::NoMatch {
        wanted: wanted.clone(),
        candidates: candidates.to_vec(),
    }
}

fn places(candidates: &[Candidate], fits: impl Fn(&Candidate) -> bool) -> Vec<usize> {
    let numbered = candidates.iter().enumerate();
    numbered
        .filter(|(_, one)| fits(one))
        .map(|(place, _)| place)
        .collect()
}

fn pick(candidates: &[Candidate], places: &[usize]) -> Vec<Candidate> {
    places
        .iter()
        .map(|&place| candidates[place].clone())
        .collect()
}

fn list(candidates: &[Candidate]) -> String {
    let named: Vec<String> = candidates.iter().map(ToString::to_string).collect();
    named.join("; ")
}

/// Sixteen bytes in hexadecimal, with dashes anywhere or nowhere.
fn parse_uuid(text: &str) -> Option<DeviceUuid> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|letter| *letter != '-')
        .map(|letter| {
            letter
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        })
        .collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let bytes: Vec<u8> = pairs.iter().map(|[high, low]| high << 4 | low).collect();
    bytes.try_into().ok().map(DeviceUuid)
}

#[cfg(all(test, not(runtime_loom)))]
mod tests;
