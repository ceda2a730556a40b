//! Memory, copies, fills, order and time.

use super::*;

#[test]
fn a_fill_sets_every_word() {
    let rig = Rig::new();
    let buffer = rig.buffer(4096, MemoryPlacement::Device);
    rig.run(
        Lane::Compute,
        vec![
            fill(&buffer, 7),
            Command::Barrier,
            Command::Fill {
                target: span(&buffer, 8, 16),
                word: 0xdead_beef,
            },
        ],
    );
    let mut expected = vec![7_u32; 1024];
    expected[2..6].fill(0xdead_beef);
    assert_eq!(words(&rig.read(&buffer)), expected);
}

#[test]
fn copies_at_odd_offsets_spare_their_neighbours() {
    let rig = Rig::new();
    let source: Vec<u8> = (1..=64).collect();
    let uploaded = rig.upload(&source);
    for bytes in 1..=7_u8 {
        for to in 0..8_u8 {
            let target = rig.buffer(32, MemoryPlacement::Device);
            let (from, to) = (usize::from(bytes + 2), usize::from(to));
            let part = copy(
                &uploaded,
                u64::try_from(from).unwrap(),
                &target,
                u64::try_from(to).unwrap(),
                bytes.into(),
            );
            rig.run(
                Lane::Upload,
                vec![fill(&target, u32::MAX), Command::Barrier, part],
            );
            let mut expected = vec![0xff_u8; 32];
            let bytes = usize::from(bytes);
            expected[to..to + bytes].copy_from_slice(&source[from..from + bytes]);
            assert_eq!(rig.read(&target), expected, "{bytes} bytes to {to}");
        }
    }
}

#[test]
fn a_chain_needs_the_host_once() {
    chain(&Rig::new());
}

#[test]
fn points_rise_by_one_and_are_reached() {
    let rig = Rig::new();
    let buffer = rig.buffer(64, MemoryPlacement::Device);
    let region = rig.region(Lane::Compute, vec![fill(&buffer, 1)]);
    for value in 1..=3 {
        let point = rig.submit(&region, Leading::Barrier, &[]).unwrap();
        assert_eq!(point.value, value);
        rig.wait(point);
        assert_eq!(rig.device.reached(point.queue), Ok(value));
    }
}

#[test]
fn a_region_is_submitted_again_and_again() {
    let rig = Rig::new();
    let source = rig.buffer(64, MemoryPlacement::Device);
    let target = rig.buffer(64, MemoryPlacement::Device);
    let region = rig.region(Lane::Compute, vec![copy(&source, 0, &target, 0, 64)]);
    for word in 1..=5 {
        rig.run(Lane::Compute, vec![fill(&source, word)]);
        let point = rig.submit(&region, Leading::Barrier, &[]).unwrap();
        rig.wait(point);
        assert_eq!(words(&rig.read(&target)), [word; 16]);
    }
}

#[test]
fn a_short_wait_elapses_and_changes_nothing() {
    let rig = Rig::new();
    let source = rig.buffer(64 << 20, MemoryPlacement::Device);
    let target = rig.buffer(64 << 20, MemoryPlacement::Device);
    let mut commands = Vec::new();
    for word in 0..8 {
        commands.push(fill(&source, word));
        commands.push(Command::Barrier);
        commands.push(copy(&source, 0, &target, 0, source.bytes()));
        commands.push(Command::Barrier);
    }
    let region = rig.region(Lane::Compute, commands);
    let point = rig.submit(&region, Leading::Nothing, &[]).unwrap();
    assert_eq!(rig.device.wait(point, Duration::ZERO), Ok(Waited::Elapsed));
    rig.wait(point);
    assert_eq!(rig.device.wait(point, Duration::ZERO), Ok(Waited::Reached));
    assert_eq!(words(&rig.read(&target))[..4], [7; 4]);
}

#[test]
fn many_threads_share_one_queue() {
    let rig = Rig::new();
    std::thread::scope(|scope| {
        for thread in 0..8_u32 {
            let rig = &rig;
            scope.spawn(move || {
                let buffer = rig.buffer(1024, MemoryPlacement::Device);
                for round in 0..20 {
                    let word = thread * 1000 + round;
                    rig.run(Lane::Compute, vec![fill(&buffer, word)]);
                    assert_eq!(words(&rig.read(&buffer)), vec![word; 256]);
                }
            });
        }
    });
}

#[test]
fn objects_outlive_their_device() {
    let rig = Rig::new();
    let buffer = rig.buffer(64, MemoryPlacement::Upload);
    let region = rig.region(Lane::Compute, vec![fill(&buffer, 1)]);
    let root = Arc::downgrade(&rig.device.root);
    drop(rig);
    assert!(root.upgrade().is_some());
    let span = buffer.host().unwrap();
    // SAFETY: the span is the whole buffer, which nothing else touches.
    unsafe { span.start.as_ptr().write_bytes(3, span.bytes) };
    drop(buffer);
    assert!(root.upgrade().is_some(), "the region keeps its buffer");
    drop(region);
    assert!(root.upgrade().is_none());
}

#[test]
fn small_buffers_share_blocks() {
    let rig = Rig::new();
    let buffers: Vec<_> = (0..10_000)
        .map(|_| rig.buffer(256, MemoryPlacement::Device))
        .collect();
    assert!(rig.device.root.memory().block_count() <= 8);
    drop(buffers);
    assert!(rig.device.root.memory().block_count() <= 1);
}

#[test]
fn a_stranger_is_told_so() {
    let (rig, other) = (Rig::new(), Rig::new());
    let buffer = other.buffer(64, MemoryPlacement::Device);
    let plan = RegionPlan {
        lane: Lane::Compute,
        commands: vec![fill(&buffer, 1)],
        read_by_host: false,
        label: "test".into(),
    };
    assert_eq!(
        rig.device.record(&plan).unwrap_err(),
        DeviceFault::OtherDevice { object: "buffer" }
    );
    let region = other.region(Lane::Compute, vec![fill(&buffer, 1)]);
    assert_eq!(
        rig.submit(&region, Leading::Nothing, &[]),
        Err(DeviceFault::OtherDevice { object: "region" })
    );
}

#[test]
fn absurd_requests_are_refused_as_such() {
    let rig = Rig::new();
    let spec = BufferSpec {
        bytes: 1 << 50,
        placement: MemoryPlacement::Device,
        label: "absurd",
    };
    assert_eq!(
        rig.device.allocate(spec).unwrap_err(),
        DeviceFault::OutOfDeviceMemory {
            requested_bytes: 1 << 50
        }
    );
    rig.buffer(64, MemoryPlacement::Device);
}
