use super::*;

#[test]
fn a_device_is_named_or_numbered() {
    assert_eq!(selector(None), DeviceSelector::Best);
    assert_eq!(
        selector(Some("llvmpipe")),
        DeviceSelector::Named("llvmpipe".into())
    );
    let expected = DeviceUuid([0xab, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff]);
    let text = expected.to_string();
    assert_eq!(selector(Some(&text)), DeviceSelector::Uuid(expected));
    assert_eq!(
        selector(Some(&text.replace('-', ""))),
        DeviceSelector::Uuid(expected)
    );
    assert_eq!(
        selector(Some("+1234567890123456789012345678901")).to_owned(),
        DeviceSelector::Named("+1234567890123456789012345678901".into())
    );
}
