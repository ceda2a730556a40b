//! The whole program on a real device. Without hardware, Mesa's lavapipe is
//! enough; without any Vulkan device these tests fail.

use clap::Parser as _;

use super::*;

fn options(arguments: &[&str]) -> Options {
    Options::parse_from([&["tpch-demo"], arguments].concat())
}

#[test]
fn a_small_run_passes() {
    let document = run(&options(&["--scale", "0.01"])).unwrap();
    assert!(document.passed(), "{document:#?}");
    assert_eq!(document.table.rows, 60_175);
    for answer in &document.answers {
        assert_eq!(answer.device, answer.cpu);
        assert!(answer.runs >= 10, "{}: {} runs", answer.query, answer.runs);
    }
    assert_eq!(document.attempts.begun, 64);
    assert_eq!(document.abandoned.taken.len(), 6);
    assert!(document.classifier.stages > 0);
    assert!(document.bytes.peak_granted > document.bytes.resident);
}

#[test]
fn more_company_changes_no_answer() {
    let document = run(&options(&[
        "--scale",
        "0.02",
        "--attempts",
        "100",
        "--concurrency",
        "32",
    ]));
    let document = document.unwrap();
    assert!(document.passed(), "{document:#?}");
    assert_eq!(document.bytes.peak_granted, document.bytes.capacity);
}
