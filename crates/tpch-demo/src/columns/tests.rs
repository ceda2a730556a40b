use proptest::prelude::*;
use tpchgen::dates::{MIN_GENERATE_DATE, TOTAL_DATE_RANGE, TPCHDate};

use super::*;

#[test]
fn dates_agree_with_the_generator() {
    for offset in 0..TOTAL_DATE_RANGE {
        let date = TPCHDate::new(MIN_GENERATE_DATE + offset);
        let (year, month, day_of_month) = date.to_ymd();
        let [year, month, day_of_month] =
            [1900 + year, month, day_of_month].map(|part| u32::try_from(part).unwrap());
        let expected = u32::try_from(date.into_inner()).unwrap();
        assert_eq!(day(year, month, day_of_month), expected, "{date}");
    }
}

#[test]
fn a_value_too_wide_is_named() {
    let refused = Terms::pack(4095, 1, 0, 0, Group::NoneOpen).unwrap_err();
    assert_eq!((refused.column, refused.most), ("shipdate", 4094));
    assert!(Terms::pack(0, 51, 0, 0, Group::NoneOpen).is_err());
    assert!(Terms::pack(0, 1, 11, 0, Group::NoneOpen).is_err());
    assert!(Terms::pack(0, 1, 0, 9, Group::NoneOpen).is_err());
    assert!(Terms::pack(-1, 1, 0, 0, Group::NoneOpen).is_err());
    let terms = Terms::pack(0, 1, 0, 0, Group::NoneOpen).unwrap();
    let mut segment = Segment::default();
    assert!(
        segment
            .push(terms, i64::from(MOST_PRICE_CENTS) + 1)
            .is_err()
    );
    assert_eq!(segment, Segment::default());
}

#[test]
fn padding_completes_the_last_tile() {
    let mut segment = Segment::default();
    segment
        .push(Terms::pack(7, 1, 2, 3, Group::NoneOpen).unwrap(), 99)
        .unwrap();
    let segment = segment.padded();
    assert_eq!((segment.rows(), segment.tiles()), (1, 1));
    assert_eq!(segment.terms().len(), TILE_ROWS);
    assert!(
        segment.terms()[1..]
            .iter()
            .all(|word| *word == Terms::PADDING.word())
    );
    assert_eq!(segment.bytes(), 8 * TILE_ROWS as u64);
}

#[test]
fn only_possible_groups_have_a_name() {
    assert_eq!(Group::named("N", "O"), Some(Group::NoneOpen));
    assert_eq!(Group::named("R", "O"), None);
    assert_eq!(Group::named("A", "O"), None);
}

proptest! {
    #[test]
    fn a_row_survives_packing(
        day in 0u32..4095, quantity in 0u32..=50, discount in 0u32..=10, tax in 0u32..=8, group in 0usize..4,
    ) {
        let terms = Terms::pack(
            day.into(), quantity.into(), discount.into(), tax.into(), Group::ALL[group],
        ).unwrap();
        let unpacked = (
            terms.ship_day(), terms.quantity(), terms.discount_percent(), terms.tax_percent(), terms.group_index(),
        );
        prop_assert_eq!(unpacked, (day, quantity, discount, tax, group));
    }
}
