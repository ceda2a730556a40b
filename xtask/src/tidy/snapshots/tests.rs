use super::check;
use crate::tidy::tree::Tree;

const SOURCE: &str = "crates/a/src/report/tests.rs";
const SNAPSHOT: &str =
    "---\nsource: crates/a/src/report/tests.rs\nexpression: it\n---\nsource: no\n";

fn said(files: &[(&str, &str)]) -> Vec<String> {
    check(&Tree::of(files))
        .into_iter()
        .map(|violation| violation.words)
        .collect()
}

#[test]
fn a_snapshot_with_its_test_passes() {
    let files = [
        (SOURCE, "fn a_report_keeps_its_form() {}"),
        (
            "crates/a/src/report/snapshots/a__report__tests__a_report_keeps_its_form.snap",
            SNAPSHOT,
        ),
        (
            "crates/a/src/report/snapshots/a__report__tests__a_report_keeps_its_form-2.snap",
            SNAPSHOT,
        ),
    ];
    assert!(said(&files).is_empty());
}

#[test]
fn a_snapshot_without_its_source_is_told() {
    let files = [("crates/a/src/snapshots/a__tests__it.snap", SNAPSHOT)];
    assert_eq!(
        said(&files),
        ["an orphan: `crates/a/src/report/tests.rs` does not exist"]
    );
}

#[test]
fn a_snapshot_of_a_renamed_test_is_told() {
    let files = [
        (SOURCE, "fn another() {}"),
        ("crates/a/src/report/snapshots/a__tests__it.snap", SNAPSHOT),
    ];
    assert_eq!(
        said(&files),
        ["an orphan: `crates/a/src/report/tests.rs` does not mention `it`"]
    );
}

#[test]
fn a_snapshot_without_a_header_is_told() {
    assert_eq!(
        said(&[("crates/a/snapshots/a.snap", "text")]),
        ["its header names no source"]
    );
}

#[test]
fn a_pending_snapshot_is_told() {
    assert_eq!(
        said(&[("crates/a/snapshots/a.snap.new", SNAPSHOT)]).len(),
        1
    );
}
