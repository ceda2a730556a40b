use std::time::Duration;

use crate::device::MemoryPlacement;
use crate::device::scripted::{Controls, ScriptedDevice};
use crate::lane::{DrainScope, Lane, StageRecord};
use crate::{Buffer, Busy, Drained, Error, ErrorKind, MemoryBudget, Runtime, RuntimeOptions};
use crate::{InputId, PreparedGraph};

const LIMIT: Duration = Duration::from_secs(10);

fn scripted() -> (Runtime, Controls) {
    let device = ScriptedDevice::builder().queue_per_lane().build();
    let controls = device.controls();
    let options = RuntimeOptions::default().run_slots(1);
    let runtime = Runtime::on_device(Box::new(device), options).expect("a scripted runtime");
    (runtime, controls)
}

fn buffer(runtime: &Runtime) -> Buffer {
    let buffer = runtime.allocate(64, MemoryPlacement::Device);
    buffer.expect("64 bytes")
}

fn filled(runtime: &Runtime, buffer: &Buffer) -> PreparedGraph {
    let mut graph = runtime.graph();
    graph.fill(&buffer.view(), 7).expect("a fill");
    graph.prepare().expect("a graph")
}

/// Uploads to the buffer, then fills it: one region of each lane.
fn uploaded_and_filled(runtime: &Runtime, buffer: &Buffer) -> (PreparedGraph, InputId) {
    let mut graph = runtime.graph();
    let input = graph.upload(&buffer.view()).expect("an upload");
    graph.fill(&buffer.view(), 7).expect("a fill");
    (graph.prepare().expect("a graph"), input)
}

#[test]
fn a_quarantined_slot_is_never_written_again() {
    let (runtime, controls) = scripted();
    let (graph, input) = uploaded_and_filled(&runtime, &buffer(&runtime));
    controls.hold_all();
    let run = graph.run().input(input, &[1; 64]).unwrap();
    let completion = run.submit().unwrap();
    controls.lose();
    let lost = completion.wait_timeout(LIMIT).unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::DeviceLost);
    drop(completion);
    let refused = graph.run().input(input, &[2; 64]);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::DeviceLost);
}

#[test]
fn a_download_behind_barred_compute_is_refused() {
    let (runtime, _controls) = scripted();
    let buffer = buffer(&runtime);
    let graph = filled(&runtime, &buffer);
    let lease = runtime.lease(DrainScope::All).unwrap();
    let entered = lease.scope().enter();
    let completion = graph.run().submit().unwrap();
    let download = runtime.download(&buffer.view());
    assert!(matches!(download, Err(Error::Busy(Busy::Reentry))));
    drop(entered);
    drop(lease);
    completion.wait_timeout(LIMIT).unwrap();
}

#[test]
fn a_view_of_a_view_ends_with_it() {
    let (runtime, _controls) = scripted();
    let small = MemoryBudget::new(100, "grant");
    let (view, revoker) = runtime.revocable(&small);
    let (inner, inner_revoker) = view.revocable(&MemoryBudget::new(1 << 20, "own"));
    let held = buffer(&inner);
    assert_eq!(small.used_bytes(), 64, "the outer budget was passed by");
    let over = inner.allocate(64, MemoryPlacement::Device);
    assert_eq!(over.unwrap_err().kind(), ErrorKind::OverBudget);
    let child = small.child(32, "part").unwrap();
    let (part, _part_revoker) = view.revocable(&child);
    let inside = part.allocate(32, MemoryPlacement::Device).unwrap();
    assert_eq!(small.used_bytes(), 96, "a part was charged twice");
    drop(inside);
    revoker.revoke();
    let late = inner.allocate(4, MemoryPlacement::Device);
    assert!(matches!(late, Err(Error::Revoked)));
    assert!(matches!(filled_by(&inner, &held), Err(Error::Revoked)));
    drop(inner_revoker);
}

fn filled_by(runtime: &Runtime, buffer: &Buffer) -> Result<(), Error> {
    runtime.graph().fill(&buffer.view(), 1).map(drop)
}

#[test]
fn a_stage_of_a_view_is_waited_for() {
    let (runtime, _controls) = scripted();
    let (view, revoker) = runtime.revocable(runtime.budget());
    let lease = view.lease(DrainScope::All).unwrap();
    let busy = revoker.wait_drained(Duration::ZERO);
    assert_eq!(busy, Drained::InFlight { submissions: 1 });
    drop(lease);
    assert_eq!(revoker.wait_drained(Duration::MAX), Drained::Proven);
    let (view, revoker) = runtime.revocable(runtime.budget());
    let mut lease = view.lease(DrainScope::All).unwrap();
    lease.mark_unproven();
    lease.finish(StageRecord {
        ran: Duration::ZERO,
        fenced: Duration::ZERO,
        failed: true,
    });
    let unproven = revoker.wait_drained(LIMIT);
    assert_eq!(unproven, Drained::Unproven { submissions: 1 });
}

#[test]
fn a_stage_that_waited_through_revocation_is_refused() {
    let (runtime, _controls) = scripted();
    let (view, revoker) = runtime.revocable(runtime.budget());
    let held = runtime.lease(DrainScope::All).unwrap();
    let waiter = std::thread::spawn(move || view.lease(DrainScope::All).map(drop));
    while runtime.statistics().stages_waiting == 0 {
        std::thread::yield_now();
    }
    revoker.revoke();
    drop(held);
    assert!(matches!(waiter.join().unwrap(), Err(Error::Revoked)));
    assert!(runtime.lease_timeout(DrainScope::All, LIMIT).is_ok());
}

#[test]
fn a_close_counts_what_it_could_not_end() {
    let (runtime, controls) = scripted();
    let (graph, input) = uploaded_and_filled(&runtime, &buffer(&runtime));
    let stage = runtime.lease(DrainScope::All).unwrap();
    controls.hold_all();
    let run = graph.run().input(input, &[1; 64]).unwrap();
    let completion = run.submit().unwrap();
    let report = runtime.close(Duration::from_millis(5));
    assert_eq!((report.completed, report.cancelled), (0, 0));
    assert_eq!(report.unfinished, 1);
    assert!(report.stage_running);
    controls.release_all();
    drop(stage);
    let ended = completion.wait_timeout(LIMIT);
    assert!(matches!(ended, Err(Error::Cancelled)));
}

#[test]
fn an_impatient_close_leaves_the_first_alone() {
    let (runtime, controls) = scripted();
    let buffer = buffer(&runtime);
    let graph = filled(&runtime, &buffer);
    controls.hold(Lane::Compute);
    let completion = graph.run().submit().unwrap();
    let first = {
        let runtime = runtime.clone();
        std::thread::spawn(move || runtime.close(Duration::MAX))
    };
    // The first close has begun once a graph takes nothing more. Asking that
    // submits nothing, which the close would count.
    while filled_by(&runtime, &buffer).is_ok() {
        std::thread::yield_now();
    }
    let late = runtime.close(Duration::ZERO);
    assert_eq!((late.cancelled, late.unfinished), (0, 1));
    controls.release(Lane::Compute);
    let report = first.join().unwrap();
    assert_eq!((report.completed, report.unfinished), (1, 0));
    assert_eq!(runtime.close(Duration::ZERO), report);
    completion.wait_timeout(LIMIT).unwrap();
}

#[test]
fn a_loss_survives_what_is_seen_later() {
    let (runtime, controls) = scripted();
    let (graph, input) = uploaded_and_filled(&runtime, &buffer(&runtime));
    controls.hold_all();
    let run = graph.run().input(input, &[1; 64]).unwrap();
    let completion = run.submit().unwrap();
    controls.force_counter(Lane::Upload, Some(99));
    assert_eq!(
        completion.wait_timeout(LIMIT).unwrap_err().kind(),
        ErrorKind::DeviceLost
    );
    controls.release_all();
    assert_eq!(runtime.statistics().uncertain, 1);
    assert!(runtime.close(LIMIT).quarantined > 0);
}

#[test]
fn an_idle_device_ends_with_its_last_handle() {
    for _ in 0..20 {
        let (runtime, controls) = scripted();
        let graph = filled(&runtime, &buffer(&runtime));
        graph.run().submit().unwrap().wait_timeout(LIMIT).unwrap();
        drop(graph);
        drop(runtime);
        assert!(!controls.live().device, "the device outlived the drop");
    }
}
