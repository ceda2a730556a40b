use std::time::Duration;

use super::targets::{Target, select};
use super::validation::{PROBES, is_message};
use super::{judge, targets};
use crate::doctor::{Device, Report};
use crate::failure::Failure;
use crate::program::Captured;

const MESSAGE: &str = "VUID-VkBufferCreateInfo-size-00912(ERROR / SPEC): msgNum: 2085897310 - \
                       Validation Error: [ VUID-VkBufferCreateInfo-size-00912 ] Object 0: ...";
const PASSED: &str = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured";

fn captured(success: bool, lines: &[&str]) -> Captured {
    Captured {
        success,
        ending: "exit status: 101".into(),
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        elapsed: Duration::ZERO,
    }
}

fn device(name: &str, uuid: &str, missing: &[&str]) -> Device {
    let text = format!(
        r#"{{"name":"{name}","kind":"software","uuid":"{uuid}","driver":"d","api_version":"1.3.0",
            "missing":{},"families":[],"lanes":[],"heaps":[],"timestamp_period_ns":1.0,
            "limits":{{"groups":[1,1,1],"workgroup":[1,1,1],"workgroup_invocations":1,
            "workgroup_bytes":1,"storage_range_bytes":1,"storage_align_bytes":1,"atom_bytes":1,
            "buffer_bytes":1,"allocations":1}}}}"#,
        serde_json::to_string(missing).unwrap()
    );
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_silent_suite_passes() {
    let outcome = judge("a", "s", &captured(true, &[PASSED]));
    assert_eq!(outcome.verdict, "ok");
    assert_eq!((outcome.tally.passed, outcome.tally.failed), (3, 0));
}

#[test]
fn one_message_fails_a_passing_suite() {
    let outcome = judge("a", "s", &captured(true, &[MESSAGE, PASSED]));
    assert_eq!(outcome.messages, 1);
    assert_eq!((outcome.tally.passed, outcome.tally.failed), (3, 1));
}

#[test]
fn a_suite_without_cases_fails() {
    let outcome = judge("a", "s", &captured(true, &["running 0 tests"]));
    assert_eq!(outcome.tally.failed, 1);
}

#[test]
fn a_crashed_suite_fails() {
    let outcome = judge("a", "s", &captured(false, &["running 3 tests"]));
    assert_eq!(outcome.tally.failed, 1);
}

#[test]
fn only_the_head_of_a_message_counts() {
    assert!(is_message(MESSAGE));
    assert!(is_message(&format!("test a ... {MESSAGE}")));
    assert!(!is_message("    Objects: 1"));
    assert!(!is_message("test validation_is_on ... ok"));
}

#[test]
fn a_probe_wants_its_own_message() {
    let lines = [MESSAGE.to_owned()];
    assert!(PROBES[0].is_seen_in(&lines));
    assert!(!PROBES[1].is_seen_in(&lines));
    assert!(!PROBES[0].is_seen_in(&["VUID-VkBufferCreateInfo-size-00912".to_owned()]));
}

#[test]
fn devices_that_share_a_uuid_go_by_name() {
    let report = Report {
        devices: vec![
            device("one", "00", &[]),
            device("two", "00", &[]),
            device("three", "03", &[]),
        ],
        ..Report::default()
    };
    let keys: Vec<String> = targets::of_devices(&report.devices, &None)
        .into_iter()
        .filter_map(|target| match target {
            Target::Vulkan { key, .. } => Some(key),
            _ => None,
        })
        .collect();
    assert_eq!(keys, ["one", "two", "03"]);
}

#[test]
fn a_lacking_device_is_left_out() {
    let targets = targets::of_devices(&[device("old", "01", &["timelineSemaphore"])], &None);
    assert!(
        matches!(&targets[0], Target::Unusable { missing, .. } if missing == "timelineSemaphore")
    );
}

#[test]
fn a_device_is_found_by_part_of_its_name() {
    let mut all = vec![Target::Scripted];
    all.extend(targets::of_devices(
        &[device("llvmpipe (LLVM 15)", "01", &[])],
        &None,
    ));
    let chosen = select(all.clone(), Some("LLVMpipe")).unwrap();
    assert_eq!(chosen, all[1..]);
    assert!(matches!(
        select(all, Some("nothing")),
        Err(Failure::Unknown { .. })
    ));
}
