use std::time::Duration;

use super::run::{Fault, judge};
use super::said::{Search, models, search};
use crate::program::Captured;

fn captured(success: bool, lines: &[&str]) -> Captured {
    Captured {
        success,
        ending: "exit status: 101".into(),
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        elapsed: Duration::from_secs(1),
    }
}

#[test]
fn a_model_line_is_read() {
    assert_eq!(
        search("model one closer wins: the other waits: 13386 executions, preemption bound 2"),
        Some(Search {
            claim: "one closer wins: the other waits".into(),
            executions: 13_386,
            bound: 2,
            incomplete: false,
        })
    );
}

#[test]
fn runner_words_before_it_are_skipped() {
    let line = "test gate::models::a ... model a: 7 executions, preemption bound 3";
    assert_eq!(search(line).unwrap().claim, "a");
}

#[test]
fn a_run_on_real_threads_is_no_search() {
    assert_eq!(search("model a: 200 runs on real threads"), None);
}

#[test]
fn only_tests_in_models_modules_are_listed() {
    let lines: Vec<String> = [
        "gate::models::begin_races_close: test",
        "gate::tests::models_are_fine: test",
        "models::top: test",
        "gate::models::slow: benchmark",
        "",
        "3 tests, 1 benchmarks",
    ]
    .map(str::to_owned)
    .into();
    let found: Vec<String> = models(&lines).collect();
    assert_eq!(found, ["gate::models::begin_races_close", "models::top"]);
}

#[test]
fn a_finished_search_passes() {
    let outcome = judge(captured(
        true,
        &["model a: 7 executions, preemption bound 2"],
    ));
    assert_eq!(outcome.fault, None);
    assert_eq!(outcome.searches.len(), 1);
}

#[test]
fn a_silent_model_fails() {
    let outcome = judge(captured(true, &["running 1 test", "test result: ok."]));
    assert_eq!(outcome.fault, Some(Fault::Silent));
}

#[test]
fn a_cut_search_fails() {
    let outcome = judge(captured(
        true,
        &["model a: 2000000 executions, preemption bound 2, incomplete"],
    ));
    assert_eq!(outcome.fault, Some(Fault::Incomplete));
}

#[test]
fn a_bad_exit_fails_despite_a_line() {
    let outcome = judge(captured(
        false,
        &["model a: 7 executions, preemption bound 2"],
    ));
    assert_eq!(
        outcome.fault,
        Some(Fault::Failed("exit status: 101".into()))
    );
}
