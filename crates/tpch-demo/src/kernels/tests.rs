//! What both kernels owe: valid code within the narrowest limits, and
//! arithmetic that agrees with wide integers.

use naga::valid::{Capabilities, ValidationFlags, Validator};
use proptest::prelude::*;
use proptest::sample::select;

use super::{q1, q6, total};
use crate::columns::{
    Group, Lineitem, MOST_DISCOUNT_PERCENT, MOST_PRICE_CENTS, MOST_QUANTITY, MOST_TAX_PERCENT,
    Segment, TILE_ROWS, Terms,
};

/// Least workgroup memory that Vulkan promises.
const WORKGROUP_BYTES: u32 = 16 << 10;

#[test]
fn kernels_are_valid_within_narrow_limits() {
    for (source, most_invocations) in [(q1::SOURCE, 128), (q6::SOURCE, 128)] {
        let module = naga::front::wgsl::parse_str(source).unwrap();
        let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
        validator.validate(&module).unwrap();
        let [x, y, z] = module.entry_points[0].workgroup_size;
        assert!(x * y * z <= most_invocations);
        let shared = module
            .global_variables
            .iter()
            .filter(|(_, global)| global.space == naga::AddressSpace::WorkGroup);
        let bytes: u32 = shared
            .map(|(_, global)| module.types[global.ty].inner.size(module.to_ctx()))
            .sum();
        assert!(
            bytes <= WORKGROUP_BYTES,
            "{bytes} bytes of workgroup memory"
        );
    }
}

#[test]
fn every_override_has_a_value() {
    let q1_names = q1::constants(&crate::queries::Q1Predicate::PUBLISHED).map(|(name, _)| name);
    let q6_names = q6::constants(&crate::queries::Q6Predicate::PUBLISHED).map(|(name, _)| name);
    for (source, given) in [(q1::SOURCE, &q1_names[..]), (q6::SOURCE, &q6_names[..])] {
        let module = naga::front::wgsl::parse_str(source).unwrap();
        let wanted: Vec<_> = module
            .overrides
            .iter()
            .filter_map(|(_, one)| one.name.as_deref())
            .collect();
        assert_eq!(wanted, given);
    }
}

/// Adds a word to a two-word sum exactly as the kernels do.
pub(crate) fn add_with_carry([low, high]: [u32; 2], word: u32) -> [u32; 2] {
    let sum = low.wrapping_add(word);
    [sum, high + u32::from(sum < low)]
}

/// A tile of arbitrary rows, with the extremes of every column common.
pub(crate) fn tiles() -> impl Strategy<Value = Lineitem> {
    let edged = |most: u32| prop_oneof![0..=most, select(vec![0, most])];
    let row = (
        0u32..4095,
        edged(MOST_QUANTITY),
        edged(MOST_DISCOUNT_PERCENT),
        edged(MOST_TAX_PERCENT),
        select(Group::ALL.to_vec()),
        edged(MOST_PRICE_CENTS),
    );
    proptest::collection::vec(row, 1..64).prop_map(|rows| {
        let mut segment = Segment::default();
        for (day, quantity, discount, tax, group, price) in rows.iter().cycle().take(TILE_ROWS + 5)
        {
            let terms = Terms::pack(
                (*day).into(),
                (*quantity).into(),
                (*discount).into(),
                (*tax).into(),
                *group,
            );
            segment.push(terms.unwrap(), (*price).into()).unwrap();
        }
        Lineitem {
            segments: vec![segment.padded()],
        }
    })
}

/// A tile of equal rows with the largest value in every other column.
pub(crate) fn largest_tile(ship_day: u32, quantity: u32, discount_percent: u32) -> Lineitem {
    let terms = Terms::pack(
        ship_day.into(),
        quantity.into(),
        discount_percent.into(),
        MOST_TAX_PERCENT.into(),
        Group::NoneOpen,
    );
    let terms = terms.unwrap();
    let mut segment = Segment::default();
    for _ in 0..TILE_ROWS {
        segment.push(terms, MOST_PRICE_CENTS.into()).unwrap();
    }
    Lineitem {
        segments: vec![segment],
    }
}

proptest! {
    #[test]
    fn carries_agree_with_wide_integers(words in proptest::collection::vec(any::<u32>(), 0..200)) {
        let sum = words.iter().fold([0, 0], |sum, word| add_with_carry(sum, *word));
        let wide: u128 = words.iter().map(|word| u128::from(*word)).sum();
        prop_assert_eq!(total(&sum, 0, 1), wide);
    }

    #[test]
    fn totals_take_every_stride(words in proptest::collection::vec(any::<[u32; 2]>(), 0..40), stride in 1usize..8) {
        let wide = |[low, high]: &[u32; 2]| (u128::from(*high) << 32) + u128::from(*low);
        for first in 0..stride {
            let expected: u128 = words.iter().skip(first).step_by(stride).map(wide).sum();
            prop_assert_eq!(total(words.as_flattened(), first, stride), expected);
        }
    }
}
