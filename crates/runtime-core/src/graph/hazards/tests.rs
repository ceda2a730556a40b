use std::ops::Range;

use super::{Access, HazardTable};

const BUFFER: u64 = 7;

/// Accesses with everything live, and what it found.
fn access(
    table: &mut HazardTable<u32>,
    range: Range<u64>,
    access: Access,
    region: u32,
) -> Vec<u32> {
    let mut found = Vec::new();
    table.access(BUFFER, range, access, region, |_| true, &mut |earlier| {
        found.push(earlier);
    });
    found
}

#[test]
fn disjoint_ranges_order_nothing() {
    let mut table = HazardTable::new();
    assert_eq!(access(&mut table, 0..16, Access::Write, 1), []);
    assert_eq!(access(&mut table, 16..32, Access::Write, 2), []);
    assert_eq!(access(&mut table, 48..64, Access::Write, 3), []);
    assert_eq!(access(&mut table, 32..48, Access::Read, 4), []);
}

#[test]
fn one_shared_byte_orders() {
    let mut table = HazardTable::new();
    assert_eq!(access(&mut table, 0..16, Access::Write, 1), []);
    assert_eq!(access(&mut table, 15..32, Access::Read, 2), [1]);
    assert_eq!(access(&mut table, 31..40, Access::Write, 3), [2]);
    assert_eq!(access(&mut table, 0..1, Access::Write, 4), [1]);
}

#[test]
fn another_buffer_orders_nothing() {
    let mut table = HazardTable::new();
    access(&mut table, 0..16, Access::Write, 1);
    table.access(8, 0..16, Access::Write, 2, |_| true, &mut |earlier| {
        panic!("{earlier} is about another buffer")
    });
}

#[test]
fn readers_do_not_order_each_other() {
    let mut table = HazardTable::new();
    assert_eq!(access(&mut table, 0..8, Access::Write, 1), []);
    assert_eq!(access(&mut table, 0..8, Access::Read, 2), [1]);
    assert_eq!(access(&mut table, 0..8, Access::Read, 3), [1]);
    // Both readers, and not the writer that they follow already.
    assert_eq!(access(&mut table, 0..8, Access::Write, 4), [2, 3]);
    assert_eq!(access(&mut table, 0..8, Access::Write, 5), [4]);
}

#[test]
fn many_writes_make_linear_edges() {
    let mut table = HazardTable::new();
    let edges: usize = (0..2048)
        .map(|region| access(&mut table, 0..64, Access::Write, region).len())
        .sum();
    assert_eq!(edges, 2047);
    assert_eq!(table.segments, 1);
}

#[test]
fn each_region_is_found_once() {
    let mut table = HazardTable::new();
    for piece in 0..100 {
        access(&mut table, piece * 10..piece * 10 + 5, Access::Write, 1);
    }
    assert_eq!(access(&mut table, 0..1000, Access::Read, 2), [1]);
    assert_eq!(access(&mut table, 0..1000, Access::Write, 3), [2]);
}

#[test]
fn a_region_never_finds_itself() {
    let mut table = HazardTable::new();
    access(&mut table, 0..8, Access::Write, 1);
    assert_eq!(access(&mut table, 0..8, Access::Read, 2), [1]);
    assert_eq!(access(&mut table, 0..8, Access::Write, 2), []);
    assert_eq!(access(&mut table, 0..8, Access::Read, 2), []);
    assert_eq!(access(&mut table, 0..8, Access::Write, 2), []);
    assert_eq!(access(&mut table, 0..8, Access::Read, 3), [2]);
}

#[test]
fn a_dead_region_is_not_found() {
    let mut table = HazardTable::new();
    access(&mut table, 0..8, Access::Write, 1);
    access(&mut table, 0..8, Access::Read, 2);
    let mut found = Vec::new();
    // The reader never ran and is gone; the writer before it still orders.
    table.access(BUFFER, 0..8, Access::Write, 3, |r| r != 2, &mut |r| {
        found.push(r);
    });
    table.access(BUFFER, 0..8, Access::Write, 4, |_| false, &mut |r| {
        found.push(r);
    });
    assert_eq!(found, [1]);
}

#[test]
fn empty_ranges_touch_nothing() {
    let mut table = HazardTable::new();
    access(&mut table, 0..8, Access::Write, 1);
    assert_eq!(access(&mut table, 4..4, Access::Write, 2), []);
    let (start, end) = (6, 2);
    assert_eq!(access(&mut table, start..end, Access::Write, 2), []);
    assert_eq!(table.segments, 1);
}

#[test]
fn the_last_byte_is_a_byte() {
    let mut table = HazardTable::new();
    access(&mut table, u64::MAX - 1..u64::MAX, Access::Write, 1);
    assert_eq!(access(&mut table, 0..u64::MAX, Access::Read, 2), [1]);
}

#[test]
fn a_forgotten_buffer_orders_nothing() {
    let mut table = HazardTable::new();
    access(&mut table, 0..8, Access::Write, 1);
    table.forget(BUFFER);
    assert_eq!(table.segments, 0);
    assert_eq!(access(&mut table, 0..8, Access::Write, 2), []);
}

#[test]
fn ended_work_leaves_no_history() {
    let mut table = HazardTable::new();
    for region in 0..10_000_u64 {
        let is_live = |earlier: u64| earlier + 8 > region;
        let range = region * 8..region * 8 + 8;
        table.access(
            region % 50,
            range,
            Access::Write,
            region,
            is_live,
            &mut |_| {},
        );
        assert!(
            table.segments <= 65,
            "{} segments for 8 regions",
            table.segments
        );
    }
    assert!(table.buffers.len() <= 65);
}

#[test]
fn ended_readers_leave_no_history() {
    let mut table = HazardTable::new();
    for region in 0..10_000_u64 {
        let is_live = |earlier: u64| earlier + 8 > region;
        table.access(BUFFER, 0..8, Access::Read, region, is_live, &mut |_| {});
    }
    let asked = std::cell::Cell::new(0);
    let count = |_| {
        asked.set(asked.get() + 1);
        false
    };
    table.access(BUFFER, 0..8, Access::Write, 10_000, count, &mut |_| {});
    assert!(asked.get() <= 17, "{} readers kept for 8", asked.get());
}

#[test]
fn boundaries_out_of_use_heal() {
    let mut table = HazardTable::new();
    for piece in 0..50 {
        access(&mut table, piece * 8..piece * 8 + 8, Access::Write, 1);
    }
    assert_eq!(table.segments, 50);
    for region in 2..30 {
        access(&mut table, 0..400, Access::Write, region);
    }
    assert_eq!(table.segments, 1);
}

#[test]
fn boundaries_in_use_stay() {
    let mut table = HazardTable::new();
    let mut replay = |region: u32| {
        access(&mut table, 0..400, Access::Write, region * 2);
        for piece in 0..50 {
            access(
                &mut table,
                piece * 8..piece * 8 + 8,
                Access::Read,
                region * 2 + 1,
            );
        }
        table.segments
    };
    assert_eq!(replay(0), 50);
    assert!((1..100).all(|region| replay(region) == 50));
}

#[test]
fn an_accessing_region_counts_as_live() {
    let mut table = HazardTable::new();
    for region in 0..100_u64 {
        let range = region * 8..region * 8 + 8;
        table.access(BUFFER, range, Access::Write, 5, |_| false, &mut |_| {});
    }
    let mut found = Vec::new();
    table.access(BUFFER, 512..520, Access::Read, 6, |_| true, &mut |r| {
        found.push(r);
    });
    assert_eq!(found, [5], "a sweep dropped the region that caused it");
}
