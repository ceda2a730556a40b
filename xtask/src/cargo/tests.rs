use super::executables;

#[test]
fn only_messages_with_executables_count() {
    let messages = concat!(
        r#"{"reason":"build-script-executed","package_id":"x","linked_libs":[]}"#,
        "\n",
        r#"{"reason":"compiler-artifact","manifest_path":"/p/crates/a/Cargo.toml","target":{"kind":["lib"],"name":"a"},"executable":null}"#,
        "\n",
        r#"{"reason":"compiler-artifact","manifest_path":"/p/crates/a/Cargo.toml","target":{"kind":["test"],"name":"device_suite"},"executable":"/t/device_suite-1"}"#,
        "\n",
        r#"{"reason":"build-finished","success":true}"#,
        "\n",
    );
    let built = executables(messages).unwrap();
    assert_eq!(built.len(), 1);
    assert_eq!(built[0].package, "a");
    assert_eq!(built[0].target, "device_suite");
    assert_eq!(built[0].kind, "test");
    assert_eq!(built[0].dir, std::path::Path::new("/p/crates/a"));
}

#[test]
fn a_broken_message_is_an_error() {
    assert!(executables("{\"reason\":").is_err());
}
