use super::fixture::{
    Bench, Buffer, bench, built, copy, dispatch, fill, read_host, span, write_host,
};
use crate::device::scripted::{Misuse, ScriptedDevice};
use crate::device::{DeviceFault, Leading, MemoryPlacement};
use crate::lane::Lane;

const BYTES: u64 = 256;

/// An upload buffer of known content, flushed.
fn uploaded(bench: &Bench) -> Buffer {
    let buffer = bench.buffer(BYTES, MemoryPlacement::Upload);
    write_host(&buffer, 0, &(0..=255).collect::<Vec<u8>>());
    buffer.flush(0, BYTES).unwrap();
    buffer
}

#[test]
fn bytes_travel_there_and_back() {
    let bench = bench();
    let (up, down) = (
        uploaded(&bench),
        bench.buffer(BYTES, MemoryPlacement::Download),
    );
    let device = bench.buffer(BYTES, MemoryPlacement::Device);
    assert!(device.host().is_none());

    let (_in, at) = bench.run(
        Lane::Upload,
        "in",
        copy(span(&up, 1, 7), span(&device, 5, 7)),
    );
    let out = bench.record_for_host(vec![copy(span(&device, 5, 7), span(&down, 3, 7))]);
    bench.submit(&out, Leading::Nothing, &[at]).unwrap();
    down.invalidate(3, 7).unwrap();
    assert_eq!(read_host(&down, 3, 7), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(bench.controls.misuses(), []);
}

#[test]
fn a_missing_flush_is_caught() {
    let bench = bench();
    let up = uploaded(&bench);
    let device = bench.buffer(BYTES, MemoryPlacement::Device);
    let region = bench
        .record(
            Lane::Upload,
            "in",
            vec![copy(span(&up, 0, 64), span(&device, 0, 64))],
        )
        .unwrap();
    write_host(&up, 100, &[7]);
    bench.submit(&region, Leading::Nothing, &[]).unwrap();

    write_host(&up, 17, &[99]);
    let misuse = Misuse::MissingFlush {
        region: "in".into(),
        offset: 17,
    };
    assert_eq!(
        bench.submit(&region, Leading::Nothing, &[]),
        Err(DeviceFault::Misuse(misuse.clone()))
    );
    assert_eq!(bench.controls.misuses(), [misuse]);
    up.flush(17, 1).unwrap();
    bench.submit(&region, Leading::Nothing, &[]).unwrap();
}

#[test]
fn a_missing_invalidate_reads_scrambled_bytes() {
    let bench = bench();
    let down = bench.buffer(BYTES, MemoryPlacement::Download);
    for word in [1, 2_u8] {
        let region = bench.record_for_host(vec![fill(&down, 8, 8, word.into())]);
        bench.submit(&region, Leading::Nothing, &[]).unwrap();
        assert_eq!(read_host(&down, 8, 8), [0xE5; 8]);
        down.invalidate(8, 8).unwrap();
        assert_eq!(read_host(&down, 8, 8), [word, 0, 0, 0].repeat(2));
    }
}

#[test]
fn a_missing_host_barrier_is_caught() {
    let bench = bench();
    let down = bench.buffer(BYTES, MemoryPlacement::Download);
    let _kept = bench.run(Lane::Download, "no barrier", fill(&down, 64, 64, 3));
    assert_eq!(
        down.invalidate(0, BYTES),
        Err(DeviceFault::Misuse(Misuse::MissingHostBarrier {
            offset: 64
        }))
    );
    assert_eq!(down.invalidate(0, 64), Ok(()));
}

#[test]
fn an_early_invalidate_or_flush_is_caught() {
    let bench = bench();
    let (up, down) = (
        uploaded(&bench),
        bench.buffer(BYTES, MemoryPlacement::Download),
    );
    bench.controls.hold_all();
    let region = bench.record_for_host(vec![copy(span(&up, 0, 32), span(&down, 32, 32))]);
    bench.submit(&region, Leading::Nothing, &[]).unwrap();

    assert_eq!(
        down.invalidate(0, BYTES),
        Err(DeviceFault::Misuse(Misuse::InvalidateWhilePending {
            region: "for the host".into(),
            offset: 32
        }))
    );
    assert_eq!(
        up.flush(31, 1),
        Err(DeviceFault::Misuse(Misuse::FlushWhilePending {
            region: "for the host".into(),
            offset: 31
        }))
    );
    assert_eq!(up.flush(32, 4), Ok(()));
    bench.controls.release_all();
    assert_eq!(down.invalidate(0, BYTES), Ok(()));
}

#[test]
fn operations_widen_to_the_atom() {
    let bench = built(ScriptedDevice::builder().atom_bytes(128));
    let buffer = bench.buffer(BYTES, MemoryPlacement::Download);
    let region = bench.record_for_host(vec![fill(&buffer, 0, 4, 9)]);
    bench.submit(&region, Leading::Nothing, &[]).unwrap();
    assert_eq!(
        buffer.flush(100, 4),
        Err(DeviceFault::Misuse(Misuse::FlushOverDeviceWrites {
            offset: 0
        }))
    );
    assert_eq!(buffer.flush(128, 4), Ok(()));

    write_host(&buffer, 120, &[1]);
    assert_eq!(
        buffer.invalidate(0, 4),
        Err(DeviceFault::Misuse(Misuse::InvalidateOverHostWrites {
            offset: 120
        }))
    );
}

#[test]
fn coherent_memory_needs_no_flush() {
    let bench = built(ScriptedDevice::builder().coherent());
    let (up, down) = (
        bench.buffer(BYTES, MemoryPlacement::Upload),
        bench.buffer(BYTES, MemoryPlacement::Download),
    );
    write_host(&up, 0, &[1, 2, 3, 4]);
    let region = bench.record_for_host(vec![copy(span(&up, 0, 4), span(&down, 4, 4))]);
    bench.submit(&region, Leading::Nothing, &[]).unwrap();
    assert_eq!(read_host(&down, 4, 4), [1, 2, 3, 4]);
    assert_eq!(bench.controls.misuses(), []);
}

#[test]
fn unified_memory_shows_device_buffers() {
    let bench = built(ScriptedDevice::builder().unified_memory());
    let buffer = bench.buffer(BYTES, MemoryPlacement::Device);
    write_host(&buffer, 0, &[3, 0, 0, 0]);
    buffer.flush(0, 4).unwrap();
    let kernel = bench.kernel("double").unwrap();
    let region = bench.record_for_host(vec![dispatch(&kernel, span(&buffer, 0, 4), 1)]);
    bench.submit(&region, Leading::Nothing, &[]).unwrap();
    buffer.invalidate(0, 4).unwrap();
    assert_eq!(read_host(&buffer, 0, 4), [6, 0, 0, 0]);
}
