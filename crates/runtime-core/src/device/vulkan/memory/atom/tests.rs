use super::*;

#[test]
fn a_flush_is_widened_to_the_atom() {
    let plot = Plot {
        start: 0x1_0000,
        bytes: 0x1000,
    };
    assert_eq!(plot.widened(0x203, 24, 256), (0x1_0200, 0x100));
    assert_eq!(plot.widened(0x2ff, 2, 256), (0x1_0200, 0x200));
    assert_eq!(plot.widened(0, 0x1000, 256), (0x1_0000, 0x1000));
}

#[test]
fn a_widened_range_stays_inside_its_plot() {
    let plot = Plot {
        start: 0x400,
        bytes: 0x1a4,
    };
    assert_eq!(plot.widened(0x190, 4, 256), (0x500, 0xa4));
    assert_eq!(plot.widened(0, u64::MAX, 256), (0x400, 0x1a4));
}

#[test]
fn a_byte_atom_widens_nothing() {
    let plot = Plot {
        start: 7,
        bytes: 100,
    };
    assert_eq!(plot.widened(3, 5, 1), (10, 5));
}
