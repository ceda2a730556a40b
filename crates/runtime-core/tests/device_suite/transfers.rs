//! Bytes arrive exactly, from and to everywhere.

use runtime_core::device::MemoryPlacement;
use runtime_core::{Error, Invalid, Lane};

use crate::fixture::{bench, pattern};

fn invalid<T: std::fmt::Debug>(outcome: runtime_core::Result<T>) -> Invalid {
    match outcome {
        Err(Error::Invalid(invalid)) => invalid,
        other => panic!("{other:?} is no refusal of arguments"),
    }
}

#[test]
fn new_buffers_hold_zeros() {
    let bench = bench();
    for placement in [
        MemoryPlacement::Device,
        MemoryPlacement::Upload,
        MemoryPlacement::Download,
    ] {
        for bytes in [1, 3, 4, 255, 4096] {
            let buffer = bench.runtime.allocate(bytes, placement).unwrap();
            assert_eq!(buffer.bytes(), bytes);
            assert!(bench.bytes(&buffer).iter().all(|byte| *byte == 0));
        }
    }
}

// D10
#[test]
fn odd_uploads_leave_neighbours_alone() {
    let bench = bench();
    let before = pattern(64, 1);
    let buffer = bench.filled(&before);
    let mut expected = before;
    for length in 1..=7 {
        for offset in [1, 2, 3, 5, 11, 63 - length] {
            let bytes = pattern(length, (length * 100 + offset) as u64);
            let view = buffer.view().slice(offset as u64, length as u64).unwrap();
            bench.runtime.upload(&view, &bytes).unwrap();
            expected[offset..offset + length].copy_from_slice(&bytes);
            assert_eq!(bench.bytes(&buffer), expected, "{length} at {offset}");
            assert_eq!(bench.runtime.download(&view).unwrap(), bytes);
        }
    }
}

// D10
#[test]
fn copies_take_any_offset_and_length() {
    let bench = bench();
    let content = pattern(64, 2);
    let source = bench.filled(&content);
    for lane in [Lane::Compute, Lane::Upload, Lane::Download] {
        for (from, to, length) in [(0, 1, 1), (1, 0, 3), (2, 5, 4), (3, 3, 7), (5, 2, 33)] {
            let target = bench.buffer(64);
            let mut graph = bench.runtime.graph();
            let source = source.view().slice(from as u64, length as u64).unwrap();
            let part = target.view().slice(to as u64, length as u64).unwrap();
            graph.copy_on(lane, &source, &part).unwrap();
            graph
                .prepare()
                .unwrap()
                .run()
                .submit()
                .unwrap()
                .wait()
                .unwrap();
            let mut expected = vec![0; 64];
            expected[to..to + length].copy_from_slice(&content[from..from + length]);
            assert_eq!(bench.bytes(&target), expected, "{lane}: {length} at {from}");
        }
    }
}

#[test]
fn transfers_larger_than_a_piece_are_exact() {
    let bench = bench();
    let content = pattern((20 << 20) + 3, 3);
    let buffer = bench.filled(&content);
    assert!(bench.bytes(&buffer) == content);
}

#[test]
fn fills_set_words_and_nothing_else() {
    let bench = bench();
    let buffer = bench.filled(&[9; 32]);
    let mut graph = bench.runtime.graph();
    graph
        .fill(&buffer.view().slice(4, 12).unwrap(), 0x0403_0201)
        .unwrap();
    graph
        .prepare()
        .unwrap()
        .run()
        .submit()
        .unwrap()
        .wait()
        .unwrap();
    let mut expected = vec![9; 32];
    expected[4..16].copy_from_slice(&[1, 2, 3, 4].repeat(3));
    assert_eq!(bench.bytes(&buffer), expected);
}

// D14
#[test]
fn lengths_of_zero_are_refused() {
    let bench = bench();
    let empty = bench.runtime.allocate(0, MemoryPlacement::Device);
    assert!(matches!(invalid(empty), Invalid::Empty { .. }));
    let view = bench.buffer(8).view();
    for offset in [0, 4, 8] {
        assert!(matches!(
            invalid(view.slice(offset, 0)),
            Invalid::Empty { .. }
        ));
    }
    assert!(matches!(
        invalid(bench.runtime.upload(&view, &[])),
        Invalid::LengthMismatch {
            left_bytes: 0,
            right_bytes: 8
        }
    ));
    assert_eq!(
        invalid(bench.runtime.graph().prepare()),
        Invalid::EmptyGraph
    );
    assert_eq!(bench.runtime.statistics().failed, 0);
}

#[test]
fn slices_stay_inside_their_view() {
    let bench = bench();
    let view = bench.buffer(64).view().slice(16, 16).unwrap();
    assert_eq!(view.slice(4, 12).unwrap().offset(), 20);
    for (offset, bytes) in [(0, 17), (16, 1), (u64::MAX, 1), (1, u64::MAX)] {
        assert!(matches!(
            invalid(view.slice(offset, bytes)),
            Invalid::OutOfRange {
                within_bytes: 16,
                ..
            }
        ));
    }
}

#[test]
fn operations_that_do_not_fit_are_refused() {
    let bench = bench();
    let (one, two) = (bench.buffer(16).view(), bench.buffer(16).view());
    let mut graph = bench.runtime.graph();
    assert!(matches!(
        invalid(graph.fill(&one.slice(1, 4).unwrap(), 0).map(|_| ())),
        Invalid::Unaligned { value: 1, .. }
    ));
    assert!(matches!(
        invalid(graph.fill(&one.slice(0, 6).unwrap(), 0).map(|_| ())),
        Invalid::Unaligned { value: 6, .. }
    ));
    assert!(matches!(
        invalid(graph.copy(&one.slice(0, 4).unwrap(), &two).map(|_| ())),
        Invalid::LengthMismatch { .. }
    ));
    let (low, high) = (one.slice(0, 8).unwrap(), one.slice(7, 8).unwrap());
    assert_eq!(
        invalid(graph.copy(&low, &high).map(|_| ())),
        Invalid::Overlap
    );
    assert!(matches!(
        invalid(graph.copy_on(Lane::Npu, &one, &two).map(|_| ())),
        Invalid::WrongLane {
            lane: Lane::Npu,
            ..
        }
    ));
    assert!(matches!(
        invalid(graph.upload_bytes(&one, &[0; 15]).map(|_| ())),
        Invalid::LengthMismatch { .. }
    ));
    assert_eq!(invalid(graph.prepare()), Invalid::EmptyGraph);
}

#[test]
fn a_buffer_over_the_limit_is_refused() {
    let bench = bench();
    let limit = bench.runtime.device().limits.buffer_bytes;
    let outcome = bench
        .runtime
        .allocate(limit.saturating_add(1), MemoryPlacement::Device);
    // A device without a limit of its own is stopped by the budget.
    match outcome {
        Err(Error::Invalid(Invalid::OverLimit {
            value, limit: told, ..
        })) => {
            assert_eq!((value, told), (limit + 1, limit));
        }
        Err(Error::OverBudget(over)) => assert_eq!(limit, over.requested_bytes),
        other => panic!("{other:?}"),
    }
    assert_eq!(bench.runtime.budget().used_bytes(), 0);
}
