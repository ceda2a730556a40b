//! Several devices, their health, residents and the equation of their bytes.

mod support;

use backend_session::{DeviceFilter, Ending, ErrorKind, Outcome};
use support::{report, stage, stage_with};

#[test]
fn the_first_device_that_fits_is_granted() {
    let stage = stage_with(|builder| builder.ledger_device(4, 10).ledger_device(2, 20));
    let (_a, _, first) = stage.submit(8).granted();
    assert_eq!(first.device_ordinal(), 4);
    let (_b, _, second) = stage.submit(8).granted();
    assert_eq!(second.device_ordinal(), 2);
    assert_eq!(second.device_generation(), 1);
}

#[test]
fn a_filter_restricts_the_devices() {
    let stage = stage_with(|builder| builder.ledger_device(0, 10).ledger_device(1, 20));
    let only = |ordinal| DeviceFilter::Ordinals(vec![ordinal]);
    let (_a, _, handle) = stage
        .submit_with(8, |request| request.devices(only(1)))
        .granted();
    assert_eq!(handle.device_ordinal(), 1);
    let never = stage.submit_with(11, |request| request.devices(only(0)));
    assert_eq!(never.refused().kind(), ErrorKind::NeverFits);
}

#[test]
fn no_capable_device_is_refused_before_the_line() {
    let stage = stage();
    for filter in [DeviceFilter::Ordinals(vec![7]), DeviceFilter::WithRuntime] {
        let refused = stage.submit_with(1, |request| request.devices(filter));
        let error = refused.refused();
        assert_eq!(error.kind(), ErrorKind::Capability);
        assert_eq!(error.code(), "no_capable_device");
        assert_eq!(report(refused.receiver).outcome, Outcome::Rejected);
    }
    let tickets = stage.session.backend_metrics_snapshot().facts.tickets;
    assert_eq!(tickets.submitted, 0);
}

#[test]
fn a_closed_device_keeps_its_grants() {
    let stage = stage_with(|builder| builder.ledger_device(0, 10).ledger_device(1, 10));
    let (_owner, _, handle) = stage.submit(5).granted();
    assert_eq!(handle.device_ordinal(), 0);
    stage.backend.close_device(0).unwrap();
    assert!(!handle.has_ended());
    let (other, _, elsewhere) = stage.submit(5).granted();
    assert_eq!(elsewhere.device_ordinal(), 1);

    let mut waiting = stage.submit(8);
    assert!(waiting.is_waiting());
    stage.backend.close_device(1).unwrap();
    assert_eq!(waiting.poll_error().kind(), ErrorKind::Unhealthy);
    assert_eq!(stage.submit(1).refused().code(), "no_healthy_device");
    stage.backend.open_device(1).unwrap();
    other.finish(Ending::Succeeded).unwrap();
    assert!(!stage.submit(8).is_waiting());
}

#[test]
fn residents_are_counted_and_released() {
    let stage = stage();
    let (owner, ..) = stage.submit(30).granted();
    let refused = stage.backend.reserve_resident(0, 71, "cache").unwrap_err();
    assert_eq!(refused.code(), "reservation_refused");
    assert_eq!(refused.kind(), ErrorKind::CapacityRefused);
    let resident = stage.backend.reserve_resident(0, 70, "cache").unwrap();
    let device = &stage.session.backend_metrics_snapshot().facts.devices[0];
    assert_eq!((device.resident_bytes, device.free_bytes), (70, 0));
    owner.finish(Ending::Succeeded).unwrap();
    assert_eq!(stage.submit(31).refused().kind(), ErrorKind::NeverFits);
    drop(resident);
    assert_eq!(stage.free_bytes(), 100);
    assert!(!stage.submit(31).is_waiting());
}

#[test]
fn a_resident_ends_what_can_never_fit() {
    let stage = stage();
    let (_owner, ..) = stage.submit(20).granted();
    let mut large = stage.submit(90);
    let mut small = stage.submit(70);
    let _resident = stage.backend.reserve_resident(0, 30, "weights").unwrap();
    assert_eq!(large.wakes.count(), 1);
    assert_eq!(large.poll_error().kind(), ErrorKind::NeverFits);
    assert!(small.poll().is_pending());
}

#[test]
fn a_dropped_resident_lets_the_line_go_on() {
    let stage = stage();
    let resident = stage.backend.reserve_resident(0, 50, "weights").unwrap();
    let (_owner, ..) = stage.submit(50).granted();
    let mut waiting = stage.submit(10);
    assert!(waiting.is_waiting());
    drop(resident);
    assert_eq!(waiting.poll_handle().granted_bytes(), 10);
}

#[test]
fn wrong_devices_and_sizes_are_named() {
    let builder = || backend_session::GpuBackend::builder();
    assert_eq!(builder().build().unwrap_err().code(), "out_of_range");
    let twice = builder().ledger_device(1, 5).ledger_device(1, 6).build();
    assert_eq!(twice.unwrap_err().code(), "duplicate_device");
    let empty = builder().ledger_device(1, 0).build();
    assert_eq!(empty.unwrap_err().code(), "out_of_range");
    let none = builder().ledger_device(1, 1).max_open_attempts(0).build();
    assert_eq!(none.unwrap_err().code(), "out_of_range");
    let stage = stage();
    let unknown = stage.backend.reserve_resident(9, 1, "x").unwrap_err();
    assert_eq!(unknown.code(), "unknown_device");
}
