//! The program as its user meets it: files, streams and exit codes.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

fn demo(arguments: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_tpch-demo"));
    let output = program.args(arguments).output();
    output.expect("the program starts")
}

fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn one_document_and_two_files() {
    let (trace, metrics) = (scratch("trace.json"), scratch("metrics.txt"));
    let output = demo(&[
        "--scale",
        "0.01",
        "--json",
        "--trace",
        trace.to_str().unwrap(),
        "--metrics",
        metrics.to_str().unwrap(),
    ]);
    assert!(output.status.success(), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["passed"], true);
    assert_eq!(document["attempts"]["reports"], 64);
    assert_eq!(
        document["answers"][0]["device"],
        document["answers"][0]["cpu"]
    );
    assert_eq!(document["close"]["is_clean"], true);
    let trace: Value = serde_json::from_slice(&std::fs::read(trace).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    for label in ["Q1", "Q6", "digits"] {
        assert!(
            events.iter().any(|event| event["name"] == label),
            "no {label} in the trace"
        );
    }
    let metrics = std::fs::read_to_string(metrics).unwrap();
    assert!(metrics.contains("backend_session_requests_total{outcome=\"succeeded\""));
    assert!(metrics.ends_with("# EOF\n"));
}

#[test]
fn tables_are_for_people() {
    let output = demo(&["--scale", "0.005", "--attempts", "8"]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Q1: agrees with the CPU"), "{text}");
    assert!(text.ends_with("PASSED\n"), "{text}");
    assert!(
        output.stderr.is_empty(),
        "a quiet run off a terminal: {:?}",
        output.stderr
    );
}

#[test]
fn failures_have_their_exit_codes() {
    let code = |arguments: &[&str]| demo(arguments).status.code();
    assert_eq!(code(&["--scale", "0"]), Some(2));
    assert_eq!(code(&["--attempts", "0"]), Some(2));
    let small = ["--scale", "0.001", "--attempts", "4"];
    assert_eq!(
        code(&[&small[..], &["--device", "no such device"]].concat()),
        Some(3)
    );
    let nowhere = scratch("no such folder/trace.json");
    let trace = ["--trace", nowhere.to_str().unwrap()];
    assert_eq!(code(&[&small[..], &trace].concat()), Some(5));
}
