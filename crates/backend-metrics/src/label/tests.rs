use std::collections::BTreeSet;

use super::*;

/// Every value's spelling in JSON, which must be its label too.
fn spelled<T>(values: &[T], text: impl Fn(T) -> &'static str) -> BTreeSet<String>
where
    T: Copy + Serialize,
{
    let spellings: BTreeSet<_> = values
        .iter()
        .map(|value| {
            let json = serde_json::to_value(value).unwrap();
            assert_eq!(json.as_str(), Some(text(*value)));
            text(*value).to_owned()
        })
        .collect();
    assert_eq!(spellings.len(), values.len(), "two values, one spelling");
    spellings
}

#[test]
fn json_and_labels_spell_values_alike() {
    spelled(Refusal::ALL, Refusal::as_str);
    spelled(Ending::ALL, Ending::as_str);
    spelled(Outcome::ALL, Outcome::as_str);
    spelled(Lane::ALL, Lane::as_str);
    spelled(QueueReason::ALL, QueueReason::as_str);
    spelled(QuarantineCause::ALL, QuarantineCause::as_str);
    spelled(DeviceHealth::ALL, DeviceHealth::as_str);
    spelled(GateState::ALL, GateState::as_str);
}

#[test]
fn outcomes_keep_the_spelling_of_their_source() {
    for refusal in Refusal::ALL {
        assert_eq!(Outcome::from(*refusal).as_str(), refusal.as_str());
    }
    for ending in Ending::ALL {
        assert_eq!(Outcome::from(*ending).as_str(), ending.as_str());
    }
}

#[test]
fn an_unknown_value_reads_as_other() {
    fn read<T: serde::de::DeserializeOwned>() -> T {
        serde_json::from_str("\"invented_tomorrow\"").unwrap()
    }
    assert_eq!(read::<Outcome>(), Outcome::Other);
    assert_eq!(read::<Lane>(), Lane::Other);
    assert_eq!(read::<QueueReason>(), QueueReason::Other);
    assert_eq!(read::<QuarantineCause>(), QuarantineCause::Other);
    assert_eq!(read::<DeviceHealth>(), DeviceHealth::Other);
    assert_eq!(read::<GateState>(), GateState::Other);
}
