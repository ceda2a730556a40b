//! Which memory types serve a placement, best first.
//!
//! Pure. The allocator below would pick by itself, but insists on coherent
//! memory wherever the host reads, which costs downloads their caches.

use ash::vk;

use crate::device::MemoryPlacement;

/// The properties that this module knows. A type with any other one (protected,
/// lazily allocated, uncached for the device) has rules of its own and is left
/// alone.
const KNOWN: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::from_raw(
    vk::MemoryPropertyFlags::DEVICE_LOCAL.as_raw()
        | vk::MemoryPropertyFlags::HOST_VISIBLE.as_raw()
        | vk::MemoryPropertyFlags::HOST_COHERENT.as_raw()
        | vk::MemoryPropertyFlags::HOST_CACHED.as_raw(),
);

/// The indices of the types that may hold the placement, best first.
///
/// `allowed` is the driver's mask of types; `unified` says that the device has
/// no memory apart from the host's.
pub(in super::super) fn preferred(
    types: &[vk::MemoryType],
    allowed: u32,
    placement: MemoryPlacement,
    unified: bool,
) -> Vec<u32> {
    let mut fitting: Vec<(Rank, u32)> = (0_u32..)
        .zip(types)
        .filter(|(index, _)| allowed & (1 << index) != 0)
        .filter_map(|(index, kind)| {
            rank(kind.property_flags, placement, unified).map(|rank| (rank, index))
        })
        .collect();
    fitting.sort_unstable();
    fitting.into_iter().map(|(_, index)| index).collect()
}

/// Drawbacks, the gravest first; false is better.
type Rank = [bool; 3];

fn rank(flags: vk::MemoryPropertyFlags, placement: MemoryPlacement, unified: bool) -> Option<Rank> {
    if !KNOWN.contains(flags) {
        return None;
    }
    let local = flags.contains(vk::MemoryPropertyFlags::DEVICE_LOCAL);
    let visible = flags.contains(vk::MemoryPropertyFlags::HOST_VISIBLE);
    let coherent = flags.contains(vk::MemoryPropertyFlags::HOST_COHERENT);
    let cached = flags.contains(vk::MemoryPropertyFlags::HOST_CACHED);
    // Device memory behind a bus is scarce where the host can see it, and slow
    // for the host to read.
    let far = local && !unified;
    match placement {
        MemoryPlacement::Device if local && unified => Some([!visible, !coherent, !cached]),
        MemoryPlacement::Device if local => Some([visible, !coherent && visible, cached]),
        MemoryPlacement::Upload if visible => Some([!coherent, far, cached]),
        MemoryPlacement::Download if visible => Some([!cached, !coherent, far]),
        MemoryPlacement::Device | MemoryPlacement::Upload | MemoryPlacement::Download => None,
    }
}

#[cfg(all(test, not(runtime_loom)))]
mod tests;
