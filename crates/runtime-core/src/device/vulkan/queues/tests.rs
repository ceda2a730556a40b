use super::*;

const G: vk::QueueFlags = vk::QueueFlags::GRAPHICS;
const C: vk::QueueFlags = vk::QueueFlags::COMPUTE;
const T: vk::QueueFlags = vk::QueueFlags::TRANSFER;
const S: vk::QueueFlags = vk::QueueFlags::SPARSE_BINDING;
const V: vk::QueueFlags = vk::QueueFlags::VIDEO_DECODE_KHR;

fn all(of: &[vk::QueueFlags]) -> vk::QueueFlags {
    of.iter()
        .fold(vk::QueueFlags::empty(), |all, one| all | *one)
}

/// The queues taken as (family, number), then the queue of the upload, compute,
/// download and npu lane, then the spare one.
type Row = (Vec<(u32, u32)>, [u8; 4], Option<(u32, u32)>);

fn row(families: &[(&[vk::QueueFlags], u32)]) -> Option<Row> {
    let families: Vec<vk::QueueFamilyProperties> = families
        .iter()
        .map(|(flags, count)| vk::QueueFamilyProperties {
            queue_flags: all(flags),
            queue_count: *count,
            ..Default::default()
        })
        .collect();
    let pair = |place: QueuePlace| (place.family, place.number);
    QueuePlan::new(&families).map(|plan| {
        (
            plan.queues.iter().copied().map(pair).collect(),
            Lane::ALL.map(|lane| plan.lanes.queue(lane).0),
            plan.spare.map(pair),
        )
    })
}

#[test]
fn one_queue_carries_all_lanes() {
    assert_eq!(
        row(&[(&[G, C, T], 1)]),
        Some((vec![(0, 0)], [0, 0, 0, 0], None))
    );
}

#[test]
fn transfers_take_the_family_made_for_them() {
    // As NVIDIA lays them out: everything, transfer, compute, video.
    let cards: &[(&[vk::QueueFlags], u32)] = &[
        (&[G, C, T, S], 16),
        (&[T, S], 2),
        (&[C, T, S], 8),
        (&[T, V], 1),
    ];
    assert_eq!(
        row(cards),
        Some((vec![(2, 0), (1, 0), (1, 1)], [1, 0, 2, 0], Some((2, 1))))
    );
}

#[test]
fn one_transfer_queue_serves_both_directions() {
    assert_eq!(
        row(&[(&[G, C, T], 1), (&[C, T], 4), (&[T], 1)]),
        Some((vec![(1, 0), (2, 0)], [1, 0, 1, 0], Some((1, 1))))
    );
}

#[test]
fn video_families_carry_no_transfers() {
    assert_eq!(
        row(&[(&[G, C, T], 2), (&[T, V], 1)]),
        Some((vec![(0, 0)], [0, 0, 0, 0], Some((0, 1))))
    );
}

#[test]
fn a_spare_queue_may_come_from_graphics() {
    assert_eq!(
        row(&[(&[G, C, T], 1), (&[C, T], 1)]),
        Some((vec![(1, 0)], [0, 0, 0, 0], Some((0, 0))))
    );
}

#[test]
fn a_device_that_cannot_compute_has_no_plan() {
    assert_eq!(row(&[(&[G, T], 1), (&[T], 1)]), None);
    assert_eq!(row(&[(&[C], 0)]), None);
    assert_eq!(row(&[]), None);
}
