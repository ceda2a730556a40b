use std::panic::panic_any;

use super::*;

#[derive(Debug)]
struct PanicsOnDrop;

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        panic!("a destructor of a payload");
    }
}

fn fences() -> [Fenced; 3] {
    [
        Fenced::of(|| Ok(())),
        Fenced::of(|| Err(Error::Closed)),
        Fenced::of(|| panic_any("fence")),
    ]
}

#[test]
fn a_stage_ends_as_value_or_payload() {
    assert!(matches!(Exit::of(|| 5), Exit::Returned(5)));
    let panicked: Exit<()> = Exit::of(|| panic_any("stage"));
    let Exit::Panicked(payload) = panicked else {
        panic!("the stage panicked");
    };
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"stage"));
}

#[test]
fn only_a_drained_fence_keeps_nothing() {
    let [drained, failed, panicked] = fences();
    assert!(drained.cause().is_none());
    assert!(matches!(failed.cause(), Some(Cause::Fence(error)) if matches!(*error, Error::Closed)));
    assert!(matches!(panicked.cause(), Some(Cause::FencePanicked)));
}

/// What `conclude` does, with a panic as the text that it carries.
fn concluded(exit: Exit<u32>, fence: Fenced) -> std::result::Result<Result<u32>, String> {
    catch_unwind(AssertUnwindSafe(|| conclude(exit, fence)))
        .map_err(|payload| payload.downcast_ref::<&str>().unwrap_or(&"?").to_string())
}

#[test]
fn after_a_value_the_fence_answers() {
    let [drained, failed, panicked] = fences();
    assert!(matches!(concluded(Exit::Returned(5), drained), Ok(Ok(5))));
    let after_failure = concluded(Exit::Returned(5), failed);
    assert!(matches!(after_failure, Ok(Err(Error::Closed))));
    let after_panic = concluded(Exit::Returned(5), panicked);
    assert_eq!(after_panic.unwrap_err(), "fence");
}

#[test]
fn after_a_panic_the_stage_answers() {
    for fence in fences() {
        let stage = Exit::of(|| panic_any("stage"));
        assert_eq!(concluded(stage, fence).unwrap_err(), "stage");
    }
}

#[test]
fn a_fence_payload_that_panics_is_discarded() {
    let fence = Fenced::of(|| panic_any(PanicsOnDrop));
    let stage = Exit::of(|| panic_any("stage"));
    assert_eq!(concluded(stage, fence).unwrap_err(), "stage");
}

#[test]
fn a_value_that_panics_is_discarded() {
    let fence = Fenced::of(|| panic_any("fence"));
    let stage = Exit::of(|| PanicsOnDrop);
    let unwound = catch_unwind(AssertUnwindSafe(|| conclude(stage, fence)));
    let payload = unwound.expect_err("the fence's panic goes on");
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"fence"));
}
