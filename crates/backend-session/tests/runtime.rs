//! Attempts that run on a device with a runtime: the scripted one.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use backend_session::{
    CapacityDisposition, CleanupDisposition, DeviceFilter, Disposition, Ending, ErrorKind, Outcome,
};
use runtime_core::device::scripted::{Call, Controls, ScriptedDevice};
use runtime_core::device::{DeviceFault, MemoryPlacement};
use runtime_core::lane::DrainScope;
use runtime_core::{Completion, Lane, Runtime, RuntimeOptions};
use std::time::Duration;
use support::{LONG, Stage, eventually, report, stage_with, wait};

const SECOND: Duration = Duration::from_secs(1);

/// A backend of one runtime device of 4,096 bytes.
fn runtime_stage() -> (Stage, Runtime, Controls) {
    let device = ScriptedDevice::builder().queue_per_lane().build();
    let controls = device.controls();
    let options = RuntimeOptions::default().label("scripted");
    let runtime = Runtime::on_device(Box::new(device), options).unwrap();
    let lent = runtime.clone();
    let stage = stage_with(|builder| builder.device(lent, 4_096).proof_limit(SECOND));
    (stage, runtime, controls)
}

/// Fills a buffer of the view on the compute lane.
fn submit_fill(view: &Runtime) -> Completion {
    let buffer = view.allocate(256, MemoryPlacement::Device).unwrap();
    let mut graph = view.graph();
    graph.fill(&buffer.view(), 7).unwrap();
    let prepared = graph.prepare().unwrap();
    prepared.run().submit().unwrap()
}

#[test]
fn a_grant_lends_a_view_of_its_runtime() {
    let (stage, runtime, _controls) = runtime_stage();
    let (attempt, receiver, handle) = stage.submit(1_024).granted();
    let view = handle.runtime().unwrap();
    assert!(view.same_domain(&runtime));
    submit_fill(&view).wait().unwrap();
    attempt.finish(Ending::Succeeded).unwrap();
    let report = report(receiver);
    assert_eq!(report.disposition, Disposition::Native);
    assert_eq!(report.cleanup, CleanupDisposition::Proven);
    assert!(report.memory.peak_bytes >= 256);
    assert!(report.timestamps.first_work_at_ns.is_some());
    eventually("the bytes return", || stage.free_bytes() == 4_096);
}

#[test]
fn a_view_gives_no_more_than_its_grant() {
    let (stage, _runtime, _controls) = runtime_stage();
    let (_attempt, _receiver, handle) = stage.submit(1_024).granted();
    let view = handle.runtime().unwrap();
    let kept = view.allocate(1_000, MemoryPlacement::Device).unwrap();
    let refused = view.allocate(512, MemoryPlacement::Device).unwrap_err();
    assert_eq!(refused.kind(), runtime_core::ErrorKind::OverBudget);
    drop(kept);
    assert!(view.allocate(512, MemoryPlacement::Device).is_ok());
}

#[test]
fn after_the_end_its_views_are_revoked() {
    let (stage, _runtime, _controls) = runtime_stage();
    let (attempt, receiver, handle) = stage.submit(1_024).granted();
    let view = handle.runtime().unwrap();
    let buffer = view.allocate(64, MemoryPlacement::Device).unwrap();
    attempt.finish(Ending::Succeeded).unwrap();
    drop(report(receiver));
    assert_eq!(
        handle.runtime().unwrap_err().kind(),
        ErrorKind::AttemptEnded
    );
    let revoked = |error: runtime_core::Error| error.kind() == runtime_core::ErrorKind::Revoked;
    assert!(revoked(
        view.allocate(1, MemoryPlacement::Device).unwrap_err()
    ));
    let refused = view.upload(&buffer.view(), &[0; 64]).unwrap_err();
    assert_eq!(handle.explain(&refused).kind(), ErrorKind::AttemptEnded);
    assert!(revoked(refused));
    let leased = wait(handle.lease(DrainScope::All)).unwrap_err();
    assert_eq!(leased.kind(), ErrorKind::AttemptEnded);
}

#[test]
fn bytes_wait_for_the_proof_of_the_work() {
    let (stage, _runtime, controls) = runtime_stage();
    let (attempt, receiver, handle) = stage.submit(4_096).granted();
    let view = handle.runtime().unwrap();
    controls.hold(Lane::Compute);
    let completion = submit_fill(&view);
    let mut waiting = stage.submit(1);
    attempt.canceller().cancel().unwrap();
    drop(attempt);
    // The device is still at it.
    assert!(receiver.try_report().is_none() && waiting.poll().is_pending());
    controls.release(Lane::Compute);
    completion.wait().unwrap();
    drop(completion);
    let report = report(receiver);
    assert_eq!(report.outcome, Outcome::Cancelled);
    assert_eq!(report.cleanup, CleanupDisposition::Proven);
    eventually("the next one is granted", || waiting.wakes.count() == 1);
    assert_eq!(waiting.poll_handle().granted_bytes(), 1);
}

#[test]
fn a_late_proof_returns_quarantined_bytes_once() {
    let (stage, _runtime, controls) = runtime_stage();
    let (attempt, receiver, handle) = stage.submit(1_024).granted();
    controls.hold(Lane::Compute);
    let completion = submit_fill(&handle.runtime().unwrap());
    drop(attempt);
    stage.clock.advance(SECOND);
    let first = report(receiver.clone());
    assert_eq!(first.outcome, Outcome::Dropped);
    assert_eq!(first.capacity, CapacityDisposition::Quarantined);
    assert_eq!(stage.free_bytes(), 3_072);
    controls.release(Lane::Compute);
    completion.wait().unwrap();
    drop(completion);
    eventually("the late proof is told", || stage.free_bytes() == 4_096);
    assert_eq!(report(receiver), first);
    let tickets = stage.session.backend_metrics_snapshot().facts.tickets;
    assert_eq!((tickets.quarantined, tickets.ended), (0, 1));
}

#[test]
fn a_buffer_that_outlives_its_attempt_is_retained() {
    let (stage, _runtime, _controls) = runtime_stage();
    let (attempt, receiver, handle) = stage.submit(4_096).granted();
    let view = handle.runtime().unwrap();
    let alias = view.allocate(1_024, MemoryPlacement::Device).unwrap();
    let mut waiting = stage.submit(4_000);
    attempt.finish(Ending::Succeeded).unwrap();
    let report = report(receiver);
    assert_eq!(report.capacity, CapacityDisposition::Retained);
    assert_eq!(report.memory.held_bytes, 1_024);
    let device = &stage.session.backend_metrics_snapshot().facts.devices[0];
    assert_eq!((device.retained_bytes, device.free_bytes), (1_024, 3_072));
    assert!(waiting.poll().is_pending());
    drop(alias);
    eventually("the bytes return", || waiting.wakes.count() == 1);
    assert_eq!(waiting.poll_handle().granted_bytes(), 4_000);
    stage.session.backend_metrics_snapshot().check().unwrap();
}

#[test]
fn a_held_lease_keeps_the_bytes() {
    let (stage, _runtime, _controls) = runtime_stage();
    let (attempt, receiver, handle) = stage.submit(1_024).granted();
    let lease = wait(handle.lease(DrainScope::All)).unwrap();
    lease.run(|lease| {
        drop(attempt);
        assert!(receiver.try_report().is_none());
        assert_eq!(stage.free_bytes(), 3_072);
        drop(lease);
    });
    let report = report(receiver);
    assert_eq!(report.outcome, Outcome::Dropped);
    assert_eq!(report.lanes.leases, 1);
    eventually("the bytes return", || stage.free_bytes() == 4_096);
}

#[test]
fn residents_can_be_used_from_attempts() {
    let (stage, runtime, _controls) = runtime_stage();
    let resident = stage.backend.reserve_resident(0, 1_024, "table").unwrap();
    let cached = resident
        .runtime()
        .unwrap()
        .allocate(64, MemoryPlacement::Device)
        .unwrap();
    runtime.upload(&cached.view(), &[5; 64]).unwrap();
    let (attempt, ..) = {
        let (attempt, receiver, handle) = stage.submit(1_024).granted();
        let view = handle.runtime().unwrap();
        let copy = view.allocate(64, MemoryPlacement::Device).unwrap();
        let mut graph = view.graph();
        graph.copy(&cached.view(), &copy.view()).unwrap();
        let prepared = graph.prepare().unwrap();
        prepared.run().submit().unwrap().wait().unwrap();
        assert_eq!(view.download(&copy.view()).unwrap(), [5; 64]);
        (attempt, receiver, handle)
    };
    attempt.finish(Ending::Succeeded).unwrap();
    eventually("the grant is back", || stage.free_bytes() == 3_072);
    drop(resident);
    // The buffer is still there, so its bytes are not.
    assert_eq!(stage.free_bytes(), 4_032);
    drop(cached);
    eventually("the buffer's bytes return", || stage.free_bytes() == 4_096);
}

#[test]
fn ledgers_and_runtimes_live_side_by_side() {
    let device = ScriptedDevice::builder().build();
    let runtime = Runtime::on_device(Box::new(device), RuntimeOptions::default()).unwrap();
    let stage = stage_with(|builder| builder.ledger_device(0, 100).device(runtime, 4_096));
    let with = |filter| {
        stage
            .submit_with(10, |request| request.devices(filter))
            .granted()
    };
    let (_a, _, ledger) = with(DeviceFilter::LedgerOnly);
    assert_eq!(ledger.device_ordinal(), 0);
    assert_eq!(ledger.runtime().unwrap_err().code(), "ledger_only");
    let (_b, _, runtime) = with(DeviceFilter::WithRuntime);
    assert_eq!(runtime.device_ordinal(), 1);
    assert!(runtime.runtime().is_ok());
}

#[test]
fn out_of_memory_leaves_the_device_open() {
    let (stage, _runtime, controls) = runtime_stage();
    let (attempt, receiver, handle) = stage.submit(1_024).granted();
    let fault = DeviceFault::OutOfDeviceMemory {
        requested_bytes: 64,
    };
    controls.fail(Call::Allocate, 1, fault);
    let view = handle.runtime().unwrap();
    let refused = view.allocate(64, MemoryPlacement::Device).unwrap_err();
    let error = handle.explain(&refused);
    assert_eq!(error.kind(), ErrorKind::Runtime);
    let code = error.to_string();
    attempt.finish(Ending::Failed { code }).unwrap();
    assert_eq!(report(receiver).capacity, CapacityDisposition::Returned);
    let devices = stage.session.device_telemetry_snapshots().unwrap();
    assert!(devices[0].is_open);
    // The whole capacity can be granted and used again.
    let (_next, _, handle) = stage.submit(4_096).granted();
    let view = handle.runtime().unwrap();
    assert!(view.allocate(4_096, MemoryPlacement::Device).is_ok());
}

#[test]
fn a_lost_device_goes_out_of_service() {
    let (stage, _runtime, controls) = runtime_stage();
    let (attempt, receiver, handle) = stage.submit(1_024).granted();
    let mut waiting = stage.submit(4_000);
    controls.hold(Lane::Compute);
    let completion = submit_fill(&handle.runtime().unwrap());
    controls.lose();
    assert!(completion.wait().is_err());
    drop(completion);
    drop(attempt);
    let report = report(receiver);
    assert_eq!(report.cleanup, CleanupDisposition::Quarantined);
    assert_eq!(report.health.as_ref().unwrap().device, 0);
    eventually("the device closes", || waiting.wakes.count() == 1);
    assert_eq!(waiting.poll_error().kind(), ErrorKind::Unhealthy);
    assert_eq!(stage.submit(1).refused().kind(), ErrorKind::Unhealthy);
    // The lost generation's bytes stay charged over close, which completes.
    let closed = stage.backend.close_and_wait(LONG).unwrap();
    assert_eq!(closed.devices[0].quarantined_bytes, 1_024);
}

#[test]
fn a_recovered_device_serves_its_next_generation() {
    let (stage, _runtime, controls) = runtime_stage();
    let (attempt, receiver, handle) = stage.submit(1_024).granted();
    controls.hold(Lane::Compute);
    let completion = submit_fill(&handle.runtime().unwrap());
    let healthy = || {
        let device = ScriptedDevice::builder().build();
        Runtime::on_device(Box::new(device), RuntimeOptions::default()).unwrap()
    };
    let refused = stage.backend.recover_device(0, healthy()).unwrap_err();
    assert_eq!(refused.code(), "device_in_service");
    controls.lose();
    assert!(completion.wait().is_err());
    drop((completion, attempt));
    drop(report(receiver));
    eventually("the device closes", || {
        !stage.session.device_telemetry_snapshots().unwrap()[0].is_open
    });
    let identity = stage.session.identity();
    assert_eq!(stage.backend.recover_device(0, healthy()).unwrap(), 2);

    // The lost generation's bytes stay charged beside the new one's.
    assert_eq!(stage.free_bytes(), 3_072);
    assert_eq!(stage.session.identity(), identity);
    let (next, receiver, handle) = stage.submit(1_024).granted();
    assert_eq!(handle.device_generation(), 2);
    submit_fill(&handle.runtime().unwrap()).wait().unwrap();
    next.finish(Ending::Succeeded).unwrap();
    assert_eq!(report(receiver).admission.device_generation, Some(2));
}

#[test]
fn a_late_fault_leaves_the_next_generation_open() {
    let (stage, _runtime, controls) = runtime_stage();
    let (attempt, receiver, handle) = stage.submit(1_024).granted();
    controls.hold(Lane::Compute);
    let completion = submit_fill(&handle.runtime().unwrap());
    // Its device is taken out of service and recovered while it still runs.
    stage.backend.close_device(0).unwrap();
    let device = ScriptedDevice::builder().build();
    let next = Runtime::on_device(Box::new(device), RuntimeOptions::default()).unwrap();
    assert_eq!(stage.backend.recover_device(0, next).unwrap(), 2);
    controls.lose();
    assert!(completion.wait().is_err());
    drop((completion, attempt));
    assert_eq!(report(receiver).cleanup, CleanupDisposition::Quarantined);
    assert!(stage.session.device_telemetry_snapshots().unwrap()[0].is_open);
    assert!(!stage.submit(1).is_waiting());
}

#[test]
fn recovery_after_close_opens_nothing() {
    let (stage, _runtime, _controls) = runtime_stage();
    stage.backend.close_device(0).unwrap();
    let device = ScriptedDevice::builder().build();
    let controls = device.controls();
    let next = Runtime::on_device(Box::new(device), RuntimeOptions::default()).unwrap();
    let racer = {
        let backend = stage.backend.clone();
        std::thread::spawn(move || backend.recover_device(0, next))
    };
    stage.close();
    // Whoever came first: after close no generation is left in the slot.
    let _ = racer.join().unwrap();
    eventually("the new device ends", || !controls.live().device);
}

#[test]
fn close_lets_the_device_go() {
    let device = ScriptedDevice::builder().build();
    let controls = device.controls();
    let runtime = Runtime::on_device(Box::new(device), RuntimeOptions::default()).unwrap();
    let stage = stage_with(|builder| builder.device(runtime, 4_096));
    let session = stage.session.clone();
    let (attempt, receiver, handle) = stage.submit(1_024).granted();
    submit_fill(&handle.runtime().unwrap()).wait().unwrap();
    attempt.finish(Ending::Succeeded).unwrap();
    drop(report(receiver));
    assert!(controls.live().device);
    stage.backend.close_and_wait(LONG).unwrap();
    // Session and handle are still here, and keep no device alive.
    eventually("the device ends", || !controls.live().device);
    assert!(session.is_closing() && handle.has_ended());
    assert!(controls.misuses().is_empty());
}

#[test]
fn a_capacity_that_the_runtime_lacks_is_refused() {
    let device = ScriptedDevice::builder().build();
    let budget = runtime_core::MemoryBudget::new(100, "small");
    let options = RuntimeOptions::default().budget(budget);
    let runtime = Runtime::on_device(Box::new(device), options).unwrap();
    let refused = backend_session::GpuBackend::builder()
        .device(runtime.clone(), 200)
        .build()
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Runtime);
    // What was built is gone again, and nothing stays claimed.
    assert_eq!(runtime.budget().used_bytes(), 0);
    let backend = backend_session::GpuBackend::builder()
        .device(runtime.clone(), 100)
        .build()
        .unwrap();
    assert_eq!(runtime.budget().free_bytes(), 0);
    backend.close_and_wait(LONG).unwrap();
    assert_eq!(runtime.budget().free_bytes(), 100);
}
