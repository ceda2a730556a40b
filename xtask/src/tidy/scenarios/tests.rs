use super::check;
use crate::tidy::tree::Tree;

const HEAD: &str = "# Scenarios\n\n| id | behaviour | shown by |\n|---|---|---|\n";
const TESTS: &str = "#[test]\nfn it_holds() {\n}\n\nfn help() {\n}\n";
const IGNORED: &str =
    "#[test]\n#[ignore = \"slow\"]\nfn a_real_driver_refuses_an_unknown_entry() {\n}\n";
const DEVICE_FILE: &str = "crates/runtime-core/src/device/vulkan/tests/computing.rs";

fn said(rows: &str) -> Vec<String> {
    let table = format!("{HEAD}{rows}");
    check(&Tree::of(&[
        ("docs/SCENARIOS.md", &table),
        ("crates/a/src/b/tests.rs", TESTS),
        ("crates/a/src/c/tests/ignored.rs", IGNORED),
        (DEVICE_FILE, IGNORED),
        ("crates/a/tests/suite.rs", "fn case(device: &Device) {}"),
    ]))
    .into_iter()
    .map(|violation| violation.words)
    .collect()
}

#[test]
fn rows_with_real_tests_pass() {
    let rows = "| R01 | It holds. | `crates/a/src/b/tests.rs::it_holds`<br>crates/a/tests/suite.rs::case |\n";
    assert!(said(rows).is_empty());
}

#[test]
fn a_missing_table_is_told() {
    assert_eq!(check(&Tree::default()).len(), 1);
}

#[test]
fn a_table_without_rows_is_told() {
    assert_eq!(said(""), ["the table has no rows"]);
}

#[test]
fn a_test_that_does_not_exist_is_told() {
    assert_eq!(
        said("| R01 | It holds. | crates/a/src/b/tests.rs::it_hold |"),
        ["R01: `crates/a/src/b/tests.rs` has no function `it_hold`"]
    );
    assert_eq!(
        said("| R01 | It holds. | crates/a/src/c/tests.rs::it_holds |"),
        ["R01: the file `crates/a/src/c/tests.rs` does not exist"]
    );
}

#[test]
fn a_helper_function_is_no_test() {
    assert_eq!(
        said("| R01 | It holds. | crates/a/src/b/tests.rs::help |"),
        ["R01: `help` in `crates/a/src/b/tests.rs` is no test"]
    );
}

#[test]
fn an_id_without_a_test_is_told() {
    assert_eq!(said("| R01 | It holds. | |"), ["R01 names no test"]);
}

#[test]
fn an_unknown_form_of_id_is_told() {
    let test = "crates/a/src/b/tests.rs::it_holds";
    for id in ["X01", "R1", "R001", "r01"] {
        let said = said(&format!("| {id} | It holds. | {test} |"));
        assert_eq!(said.len(), 1, "{id}: {said:?}");
    }
}

#[test]
fn a_repeated_id_is_told() {
    let row = "| R01 | It holds. | crates/a/src/b/tests.rs::it_holds |\n";
    assert_eq!(said(&row.repeat(2)), ["R01 stands on line 5 already"]);
}

#[test]
fn an_empty_sentence_is_told() {
    assert_eq!(
        said("| R01 | | crates/a/src/b/tests.rs::it_holds |"),
        ["R01 says nothing"]
    );
}

#[test]
fn ignored_tests_alone_show_nothing() {
    let ignored = "crates/a/src/c/tests/ignored.rs::a_real_driver_refuses_an_unknown_entry";
    assert_eq!(
        said(&format!("| R01 | It holds. | {ignored} |")),
        ["R01 names ignored tests only"]
    );
    let with = format!("{ignored}<br>crates/a/src/b/tests.rs::it_holds");
    assert!(said(&format!("| R01 | It holds. | {with} |")).is_empty());
}

#[test]
fn an_ignored_test_of_the_devices_counts() {
    let test = format!("{DEVICE_FILE}::a_real_driver_refuses_an_unknown_entry");
    assert!(said(&format!("| R01 | It holds. | {test} |")).is_empty());
}
