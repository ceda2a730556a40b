use super::{Gate, ObservationPermit};
use crate::error::Error;
use runtime_sync::Arc;

#[test]
fn a_closing_gate_admits_nobody() {
    let gate = Arc::new(Gate::new(4));
    let before = ObservationPermit::begin(&gate).unwrap();
    assert!(gate.close());
    assert!(!gate.close());
    assert!(matches!(
        ObservationPermit::begin(&gate),
        Err(Error::BackendClosing)
    ));
    assert!(matches!(before.enter_gpu(), Err(Error::BackendClosing)));
    let word = gate.snapshot();
    assert_eq!((word.observation_permits, word.gpu_permits), (1, 0));
}

#[test]
fn the_gate_is_bounded() {
    let gate = Arc::new(Gate::new(1));
    let only = ObservationPermit::begin(&gate).unwrap();
    let refused = ObservationPermit::begin(&gate).unwrap_err();
    assert!(matches!(
        refused,
        Error::TooManyAttempts { open: 1, bound: 1 }
    ));
    let service = ObservationPermit::serve(&gate).unwrap();
    drop((only, service));
    assert!(ObservationPermit::begin(&gate).is_ok());
}

#[test]
fn permits_are_counted_by_scope() {
    let gate = Arc::new(Gate::new(4));
    let observation = ObservationPermit::begin(&gate).unwrap();
    let gpu = observation.enter_gpu().unwrap();
    let word = gate.snapshot();
    assert_eq!((word.observation_permits, word.gpu_permits), (1, 1));
    drop(gpu);
    assert_eq!(gate.snapshot().gpu_permits, 0);
    drop(observation);
    assert_eq!(gate.snapshot().observation_permits, 0);
}
