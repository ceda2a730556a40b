//! What only other devices than the machine's have: a family for transfers,
//! memory without coherence, tight limits.

use ash::vk;

use super::interposer::{self, Faults, disguised, inject};
use super::*;

fn rig(change: impl FnOnce(&mut disguise::Disguise)) -> Rig {
    inject(|faults| {
        *faults = Faults::default();
        change(&mut faults.disguise);
    });
    Rig::with(VulkanOptions::default().entry(interposer::entry()))
}

fn split() -> Rig {
    let rig = rig(|disguise| disguise.transfer_family = true);
    let info = rig.device.info();
    assert_eq!(info.queue_families, [0, 1]);
    assert_ne!(
        info.lanes.queue(Lane::Upload),
        info.lanes.queue(Lane::Compute)
    );
    rig
}

#[test]
fn lanes_on_two_queues_chain_by_their_timelines() {
    let rig = split();
    chain(&rig);
    assert_eq!(disguised(|disguise| disguise.sharing.clone()), [0, 1]);
    let waits = disguised(|disguise| std::mem::take(&mut disguise.waits));
    assert!(waits.iter().any(|values| !values.is_empty()));
}

#[test]
fn a_submission_waits_once_for_each_other_queue() {
    let rig = split();
    let buffer = rig.buffer(64, MemoryPlacement::Device);
    let mut regions = Vec::new();
    let mut submit = |lane: Lane, waits: &[Point]| {
        let region = rig.region(lane, vec![fill(&buffer, 1)]);
        let point = rig.submit(&region, Leading::Barrier, waits).unwrap();
        regions.push(region);
        point
    };
    let computed = [submit(Lane::Compute, &[]), submit(Lane::Compute, &[])];
    let uploaded = submit(Lane::Upload, &[computed[1], computed[0]]);
    let last = submit(Lane::Upload, &[uploaded]);
    rig.wait(last);
    assert_eq!([computed[0].value, computed[1].value], [1, 2]);
    assert_eq!([uploaded.value, last.value], [1, 2]);
    assert_eq!(
        disguised(|disguise| disguise.waits.clone()),
        [vec![], vec![], vec![2], vec![]]
    );
}

#[test]
fn a_device_is_destroyed_only_when_proven_idle() {
    for unproven in [None, Some(Lane::Compute), Some(Lane::Upload)] {
        let rig = split();
        let buffer = rig.buffer(64, MemoryPlacement::Device);
        rig.run(Lane::Compute, vec![fill(&buffer, 1)]);
        rig.run(Lane::Upload, vec![fill(&buffer, 2)]);
        if let Some(lane) = unproven {
            let region = rig.region(lane, vec![fill(&buffer, 3)]);
            inject(|faults| faults.next_submit = Some(vk::Result::ERROR_DEVICE_LOST));
            rig.submit(&region, Leading::Nothing, &[]).unwrap_err();
        }
        drop((buffer, rig));
        let expected = u32::from(unproven.is_none());
        assert_eq!(disguised(|disguise| disguise.destroyed), expected);
    }
}

#[test]
fn incoherent_memory_is_flushed_in_whole_atoms() {
    let rig = rig(|disguise| disguise.incoherent = true);
    let atom = rig.device.info().limits.atom_bytes;
    let small: Vec<_> = (0..4)
        .map(|_| rig.buffer(4, MemoryPlacement::Upload))
        .collect();
    let large = rig.buffer(4096, MemoryPlacement::Download);
    for buffer in &small {
        buffer.flush(1, 2).unwrap();
    }
    large.invalidate(0x203, 24).unwrap();
    let mut ranges = disguised(|disguise| std::mem::take(&mut disguise.ranges));
    assert_eq!(ranges.len(), 5);
    for (_, offset, bytes) in &ranges {
        assert_eq!((offset % atom, bytes % atom), (0, 0));
    }
    ranges[..4].sort_unstable_by_key(|(_, offset, _)| *offset);
    for pair in ranges[..4].windows(2) {
        assert!(
            pair[0].1 + pair[0].2 <= pair[1].1,
            "neighbours share an atom"
        );
    }
}

#[test]
fn incoherent_memory_carries_exact_bytes() {
    let rig = rig(|disguise| disguise.incoherent = true);
    let bytes: Vec<u8> = (0..=255).collect();
    let uploaded = rig.upload(&bytes);
    assert_eq!(rig.read(&uploaded), bytes);
    assert_eq!(disguised(|disguise| disguise.ranges.len()), 2);
}

#[test]
fn coherent_memory_is_never_flushed() {
    let rig = rig(|_| {});
    let uploaded = rig.upload(&[1; 64]);
    rig.read(&uploaded);
    assert_eq!(disguised(|disguise| disguise.ranges.len()), 0);
}

#[test]
fn barriers_lead_part_and_reach_the_host() {
    let everything = (
        vk::PipelineStageFlags2::ALL_COMMANDS,
        vk::AccessFlags2::MEMORY_READ | vk::AccessFlags2::MEMORY_WRITE,
    );
    let host = (vk::PipelineStageFlags2::HOST, vk::AccessFlags2::HOST_READ);
    let rig = rig(|_| {});
    let buffer = rig.buffer(64, MemoryPlacement::Device);
    let plan = |read_by_host| RegionPlan {
        lane: Lane::Compute,
        commands: vec![fill(&buffer, 1), Command::Barrier, fill(&buffer, 2)],
        read_by_host,
        label: "test".into(),
    };
    let recorded = || disguised(|disguise| std::mem::take(&mut disguise.barriers));
    let region = rig.device.record(&plan(true)).unwrap();
    // Without and with the leading barrier.
    let expected = [everything, host, everything, everything, host];
    assert_eq!(recorded(), expected);
    let quiet = rig.device.record(&plan(false)).unwrap();
    assert_eq!(recorded(), [everything; 3]);
    drop((region, quiet));
}

#[test]
fn oversized_buffers_never_reach_the_driver() {
    let rig = rig(|_| {});
    let spec = BufferSpec {
        bytes: rig.device.info().limits.buffer_bytes + 4,
        placement: MemoryPlacement::Device,
        label: "absurd",
    };
    assert!(matches!(
        rig.device.allocate(spec),
        Err(DeviceFault::OutOfDeviceMemory { .. })
    ));
    assert_eq!(disguised(|disguise| disguise.buffers), 0);
    rig.buffer(64, MemoryPlacement::Device);
    assert_eq!(disguised(|disguise| disguise.buffers), 1);
}

#[test]
fn allocations_stay_within_the_drivers_limit() {
    let rig = rig(|disguise| disguise.allocation_limit = Some(16));
    let small: Vec<_> = (0..10_000)
        .map(|_| rig.buffer(256, MemoryPlacement::Device))
        .collect();
    let mut large = Vec::new();
    let refusal = loop {
        let spec = BufferSpec {
            bytes: 70 << 20,
            placement: MemoryPlacement::Device,
            label: "large",
        };
        match rig.device.allocate(spec) {
            Ok(buffer) => large.push(buffer),
            Err(refusal) => break refusal,
        }
        assert!(large.len() <= 16);
    };
    assert_eq!(refusal, DeviceFault::TooManyAllocations { limit: 16 });
    assert_eq!(rig.device.root.memory().block_count(), 16);
    drop(large.pop());
    rig.buffer(70 << 20, MemoryPlacement::Device);
    drop(small);
}
