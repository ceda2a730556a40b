use super::check;
use crate::tidy::tree::Tree;

fn said(text: &str) -> Vec<usize> {
    check(&Tree::of(&[("deny.toml", text)]))
        .into_iter()
        .filter_map(|violation| violation.line)
        .collect()
}

#[test]
fn reasons_and_comments_satisfy() {
    let text = "[bans]\ndeny = [\n  { crate = \"a\", reason = \"it is old\" },\n  \
                # They share a maintainer.\n  { crate = \"b\" },\n  { crate = \"c\" }, # too large\n]\n\
                skip = []\n[licenses]\nallow = [\n  \"MIT\",\n]\n";
    assert!(said(text).is_empty());
}

#[test]
fn an_entry_without_a_reason_is_told() {
    let text = "[bans]\nskip = [\n  { crate = \"a\" },\n]\n";
    assert_eq!(said(text), [3]);
}

#[test]
fn a_short_list_needs_a_reason_too() {
    assert_eq!(
        said("[advisories]\nignore = [\"RUSTSEC-0000-0000\"]\n"),
        [2]
    );
    assert!(said("# Not reachable here.\nignore = [\"RUSTSEC-0000-0000\"]\n").is_empty());
}

#[test]
fn a_hash_in_quotes_is_no_comment() {
    assert_eq!(said("skip = [\n  \"a#b\",\n]\n"), [2]);
}

#[test]
fn a_missing_file_is_told() {
    assert_eq!(check(&Tree::default()).len(), 1);
}

#[test]
fn entries_behind_a_nested_list_count() {
    let text = "[bans]\ndeny = [\n  { crate = \"a\", reason = \"old\", wrappers = [\n    \
                # It needs it.\n    \"w\",\n  ] },\n  { crate = \"b\" },\n]\n\
                other = [\n  \"free\",\n]\n";
    assert_eq!(said(text), [7]);
}
