use super::Tally;

fn seen(lines: &[&str]) -> Tally {
    let mut tally = Tally::default();
    for line in lines {
        tally.see(line);
    }
    tally
}

#[test]
fn summaries_of_several_binaries_add_up() {
    let tally = seen(&[
        "running 3 tests",
        "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.00s",
        "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s",
    ]);
    assert_eq!((tally.passed, tally.failed), (4, 2));
}

#[test]
fn a_nextest_summary_is_counted() {
    let tally = seen(&[
        "     Summary [   0.005s] 12 tests run: 9 passed (1 slow), 2 failed, 1 timed out, 3 skipped",
    ]);
    assert_eq!((tally.passed, tally.failed), (9, 3));
}

#[test]
fn colours_do_not_hide_a_count() {
    let tally = seen(&[
        "\u{1b}[32;1m     Summary\u{1b}[0m [ 0.1s] \u{1b}[1m2\u{1b}[0m tests run: \u{1b}[1m2\u{1b}[0m \u{1b}[32mpassed\u{1b}[0m, 0 skipped",
    ]);
    assert_eq!((tally.passed, tally.failed), (2, 0));
}

#[test]
fn other_lines_count_nothing() {
    assert_eq!(
        seen(&["12 passed", "error: 3 failed", "Summary of it"]),
        Tally::default()
    );
}

#[test]
fn a_step_that_did_not_compile_failed_once() {
    let tally = Tally::default().of_step(false);
    assert_eq!((tally.passed, tally.failed), (0, 1));
}

#[test]
fn a_failed_case_is_not_counted_twice() {
    let tally = seen(&["test result: FAILED. 1 passed; 2 failed; 0 ignored"]).of_step(false);
    assert_eq!((tally.passed, tally.failed), (1, 2));
}

#[test]
fn a_step_without_cases_passed_once() {
    assert_eq!(Tally::default().of_step(true), Tally::one(true));
}
