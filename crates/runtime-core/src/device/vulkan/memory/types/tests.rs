use super::*;

const L: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::DEVICE_LOCAL;
const V: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::HOST_VISIBLE;
const H: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::HOST_COHERENT;
const C: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::HOST_CACHED;
const P: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::PROTECTED;

fn types(of: &[&[vk::MemoryPropertyFlags]]) -> Vec<vk::MemoryType> {
    of.iter()
        .map(|flags| vk::MemoryType {
            property_flags: flags
                .iter()
                .fold(vk::MemoryPropertyFlags::empty(), |all, one| all | *one),
            heap_index: 0,
        })
        .collect()
}

/// A card: local, write-combined, cached, and a window to local memory.
fn card() -> Vec<vk::MemoryType> {
    types(&[&[], &[L], &[V, H], &[V, H, C], &[L, V, H]])
}

#[test]
fn device_memory_is_local_and_out_of_sight() {
    assert_eq!(
        preferred(&card(), !0, MemoryPlacement::Device, false),
        [1, 4]
    );
}

#[test]
fn uploads_are_coherent_and_on_the_host() {
    assert_eq!(
        preferred(&card(), !0, MemoryPlacement::Upload, false),
        [2, 3, 4]
    );
}

#[test]
fn downloads_choose_cached_over_coherent_memory() {
    assert_eq!(
        preferred(&card(), !0, MemoryPlacement::Download, false),
        [3, 2, 4]
    );
    let apart = types(&[&[V, H], &[V, C]]);
    assert_eq!(
        preferred(&apart, !0, MemoryPlacement::Download, false),
        [1, 0]
    );
    assert_eq!(
        preferred(&apart, !0, MemoryPlacement::Upload, false),
        [0, 1]
    );
}

#[test]
fn unified_device_memory_is_in_sight() {
    let unified = types(&[&[L], &[L, V, H], &[L, V, H, C]]);
    assert_eq!(
        preferred(&unified, !0, MemoryPlacement::Device, true),
        [2, 1, 0]
    );
}

#[test]
fn the_drivers_mask_and_strange_types_are_left_out() {
    assert_eq!(
        preferred(&card(), 0b1_1000, MemoryPlacement::Upload, false),
        [3, 4]
    );
    let strange = types(&[&[L, P], &[L]]);
    assert_eq!(preferred(&strange, !0, MemoryPlacement::Device, false), [1]);
    assert_eq!(
        preferred(&strange, !0, MemoryPlacement::Upload, false),
        [0_u32; 0]
    );
}
