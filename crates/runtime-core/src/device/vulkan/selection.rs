//! Which device is taken.
//!
//! Pure: candidates and a wish in, one candidate or a typed refusal out.

use std::cmp::Reverse;

use runtime_sync::unmodelled::Arc;

use crate::device::{
    Candidate, DeviceInfo, DeviceKind, DeviceSelector, DeviceUuid, SelectionError,
};

/// The wish after the environment had its say: a value that is not blank
/// replaces the best device, and nothing else.
pub(super) fn wish(selector: DeviceSelector, variable: Option<&str>) -> DeviceSelector {
    let named = variable.map(str::trim).filter(|value| !value.is_empty());
    match (selector, named) {
        (DeviceSelector::Best, Some(value)) => match parse_uuid(value) {
            Some(uuid) => DeviceSelector::Uuid(uuid),
            None => DeviceSelector::Named(value.into()),
        },
        (selector, _) => selector,
    }
}

/// The place of the wanted device. Software is only kept from being the best:
/// whoever names it gets it.
pub(super) fn choose(
    devices: &[DeviceInfo],
    wanted: &DeviceSelector,
    allow_software: bool,
) -> Result<usize, SelectionError> {
    if devices.is_empty() {
        return Err(SelectionError::NoDevice);
    }
    match wanted {
        DeviceSelector::Best => best(devices, allow_software),
        DeviceSelector::Named(name) => {
            let lower = name.to_lowercase();
            let exact = places(devices, |one| one.name.to_lowercase() == lower);
            if exact.is_empty() {
                let part = places(devices, |one| one.name.to_lowercase().contains(&lower));
                only(devices, name, &part)
            } else {
                only(devices, name, &exact)
            }
        }
        DeviceSelector::Uuid(uuid) => {
            let named = uuid.to_string().into();
            only(devices, &named, &places(devices, |one| one.uuid == *uuid))
        }
    }
}

fn best(devices: &[DeviceInfo], allow_software: bool) -> Result<usize, SelectionError> {
    let allowed = places(devices, |one| {
        allow_software || one.kind != DeviceKind::Software
    });
    if allowed.is_empty() {
        return Err(SelectionError::OnlySoftware {
            candidates: devices.iter().map(candidate).collect(),
        });
    }
    // Among equals the driver's own order decides: the first least one wins.
    allowed
        .iter()
        .copied()
        .filter(|&place| devices[place].missing.is_empty())
        .min_by_key(|&place| {
            let one = &devices[place];
            (rank(one.kind), Reverse(local_bytes(one)))
        })
        .ok_or_else(|| SelectionError::MissingFeature {
            candidates: pick(devices, &allowed),
        })
}

fn only(
    devices: &[DeviceInfo],
    wanted: &Arc<str>,
    fitting: &[usize],
) -> Result<usize, SelectionError> {
    match fitting {
        [] => Err(SelectionError::NoMatch {
            wanted: Arc::clone(wanted),
            candidates: devices.iter().map(candidate).collect(),
        }),
        [place] if devices[*place].missing.is_empty() => Ok(*place),
        [_] => Err(SelectionError::MissingFeature {
            candidates: pick(devices, fitting),
        }),
        _ => Err(SelectionError::Ambiguous {
            wanted: Arc::clone(wanted),
            candidates: pick(devices, fitting),
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

fn local_bytes(device: &DeviceInfo) -> u64 {
    let local = device.heaps.iter().filter(|heap| heap.device_local);
    local.map(|heap| heap.bytes).sum()
}

fn candidate(device: &DeviceInfo) -> Candidate {
    Candidate {
        info: Box::new(device.clone()),
    }
}

fn places(devices: &[DeviceInfo], fits: impl Fn(&DeviceInfo) -> bool) -> Vec<usize> {
    let numbered = devices.iter().enumerate();
    numbered
        .filter(|(_, one)| fits(one))
        .map(|(place, _)| place)
        .collect()
}

fn pick(devices: &[DeviceInfo], places: &[usize]) -> Vec<Candidate> {
    places
        .iter()
        .map(|&place| candidate(&devices[place]))
        .collect()
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
