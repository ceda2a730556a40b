use super::Platform;

#[test]
fn a_quoted_id_is_read() {
    let text = "PRETTY_NAME=\"Debian GNU/Linux 12\"\nID=\"debian\"\n";
    assert_eq!(Platform::from_os_release(text), Platform::Debian);
}

#[test]
fn an_unknown_id_follows_its_relatives() {
    let text = "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n";
    assert_eq!(Platform::from_os_release(text), Platform::Debian);
}

#[test]
fn the_own_id_wins_over_relatives() {
    let text = "ID_LIKE=debian\nID=fedora\n";
    assert_eq!(Platform::from_os_release(text), Platform::Fedora);
}

#[test]
fn a_longer_key_is_another_key() {
    let text = "VARIANT_ID=debian\nID=arch\n";
    assert_eq!(Platform::from_os_release(text), Platform::Arch);
}

#[test]
fn no_release_file_is_some_other_system() {
    assert_eq!(
        Platform::from_os_release(""),
        Platform::Other(String::new())
    );
    assert_eq!(
        Platform::from_os_release("ID=nixos\n"),
        Platform::Other("nixos".into())
    );
}
