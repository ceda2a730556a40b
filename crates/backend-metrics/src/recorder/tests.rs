use std::thread;

use crate::fixture::{FIRST, SECOND};
use crate::label::Outcome;

use super::*;

const WAIT: Duration = Duration::from_millis(1);

fn recorder() -> Recorder {
    Recorder::new([FIRST, SECOND], 2).unwrap()
}

fn taken(recorder: &Recorder) -> BackendMetricsSnapshot {
    recorder.snapshot(SessionFacts::default())
}

#[test]
fn a_recorder_is_shared_between_threads() {
    fn shared<T: Clone + Send + Sync + 'static>() {}
    shared::<Recorder>();
}

#[test]
fn clones_share_their_tallies() {
    let recorder = recorder();
    let clone = recorder.clone();
    thread::spawn(move || clone.granted(Band(0), WAIT))
        .join()
        .unwrap();
    recorder.granted(Band(0), WAIT);
    assert_eq!(taken(&recorder).admission_wait[0].waits.count(), 2);
}

#[test]
fn a_refusal_counts_its_request_and_wait() {
    let recorder = recorder();
    recorder.refused(Refusal::QueueWaitElapsed, Band(1), WAIT);
    let snapshot = taken(&recorder);
    assert_eq!(
        snapshot.requests_total(Outcome::QueueWaitElapsed, Band(1)),
        1
    );
    let row = &snapshot.admission_wait[0];
    assert_eq!(
        (row.outcome, row.band),
        (Outcome::QueueWaitElapsed, Band(1))
    );
    assert_eq!((row.waits.count(), row.waits.sum_ns), (1, 1_000_000));
}

#[test]
fn a_grant_counts_its_request_at_its_end() {
    let recorder = recorder();
    recorder.granted(Band(0), WAIT);
    assert_eq!(taken(&recorder).requests, []);
    recorder.ended(Ending::Failed, Band(0), SECOND, WAIT);
    let snapshot = taken(&recorder);
    assert_eq!(snapshot.requests_total(Outcome::Failed, Band(0)), 1);
    assert_eq!(snapshot.requests.len(), 1);
    let row = &snapshot.execution[0];
    assert_eq!((row.device, row.outcome), (SECOND, Outcome::Failed));
    assert_eq!(
        (row.durations.count(), row.durations.sum_ns),
        (1, 1_000_000)
    );
}

#[test]
fn every_label_value_has_its_own_row() {
    let recorder = recorder();
    for refusal in Refusal::ALL {
        recorder.refused(*refusal, Band(1), WAIT);
    }
    for ending in Ending::ALL {
        recorder.ended(*ending, Band(1), FIRST, WAIT);
    }
    for lane in Lane::ALL {
        recorder.lane_wait(FIRST, *lane, WAIT);
    }
    let snapshot = taken(&recorder);
    let waits = snapshot.admission_wait.iter();
    let waits: Vec<_> = waits.map(|row| (row.outcome, row.waits.count())).collect();
    let refusals = Refusal::ALL.iter();
    assert_eq!(
        waits,
        refusals
            .map(|refusal| (Outcome::from(*refusal), 1))
            .collect::<Vec<_>>()
    );
    let ran = snapshot.execution.iter();
    let ran: Vec<_> = ran
        .map(|row| (row.outcome, row.durations.count()))
        .collect();
    let endings = Ending::ALL.iter();
    assert_eq!(
        ran,
        endings
            .map(|ending| (Outcome::from(*ending), 1))
            .collect::<Vec<_>>()
    );
    let lanes = snapshot.lane_wait.iter();
    let lanes: Vec<_> = lanes.map(|row| (row.lane, row.waits.count())).collect();
    assert_eq!(
        lanes,
        Lane::ALL.iter().map(|lane| (*lane, 1)).collect::<Vec<_>>()
    );
    // A request that ends in either way counts once, under one outcome.
    let counted: u64 = snapshot.requests.iter().map(|row| row.count).sum();
    assert_eq!(counted, (Refusal::ALL.len() + Ending::ALL.len()) as u64);
    let cancelled = snapshot.requests_total(Outcome::CallerCancelled, Band(1));
    assert_eq!(cancelled, 2);
}

#[test]
fn holds_and_closes_are_told_apart() {
    let recorder = recorder();
    recorder.compute_lease_hold(WAIT);
    recorder.closed(WAIT * 5);
    let snapshot = taken(&recorder);
    assert_eq!(snapshot.compute_lease_hold.sum_ns, 1_000_000);
    assert_eq!(snapshot.close.sum_ns, 5_000_000);
}

#[test]
fn strangers_are_counted_and_open_no_series() {
    let recorder = recorder();
    let stranger = DeviceOrdinal(2);
    recorder.granted(Band(2), WAIT);
    recorder.refused(Refusal::NeverFits, Band(2), WAIT);
    recorder.ended(Ending::Succeeded, Band(0), stranger, WAIT);
    recorder.ended(Ending::Succeeded, Band(2), FIRST, WAIT);
    recorder.lane_wait(stranger, Lane::Compute, WAIT);
    let snapshot = taken(&recorder);
    assert_eq!(snapshot.unlabelled_events, 5);
    assert_eq!(snapshot.histograms().map(|it| it.count()).sum::<u64>(), 0);
    assert_eq!(snapshot.requests, []);
}

#[test]
fn the_label_sets_are_bounded() {
    let devices = |count| (0..count).map(DeviceOrdinal);
    let most = u32::try_from(Recorder::MOST_DEVICES).unwrap();
    assert!(Recorder::new(devices(most), Recorder::MOST_BANDS).is_ok());
    assert_eq!(
        Recorder::new(devices(most + 1), 1).unwrap_err(),
        RecorderError::TooManyDevices {
            limit: Recorder::MOST_DEVICES
        }
    );
    assert_eq!(
        Recorder::new(devices(1), Recorder::MOST_BANDS + 1).unwrap_err(),
        RecorderError::TooManyBands {
            asked: Recorder::MOST_BANDS + 1,
            limit: Recorder::MOST_BANDS
        }
    );
    assert_eq!(
        Recorder::new(devices(1), 0).unwrap_err(),
        RecorderError::NoBands
    );
    assert_eq!(
        Recorder::new([FIRST, SECOND, FIRST], 1).unwrap_err(),
        RecorderError::DeviceTwice { device: FIRST }
    );
}

#[test]
fn ordinals_may_have_gaps() {
    let far = DeviceOrdinal(900);
    let recorder = Recorder::new([far, FIRST], 1).unwrap();
    recorder.lane_wait(far, Lane::Npu, WAIT);
    assert_eq!(taken(&recorder).lane_wait[0].device, far);
}

#[test]
fn a_reader_never_sees_tallies_fall() {
    let recorder = recorder();
    let writers: Vec<_> = (0..3)
        .map(|_| {
            let recorder = recorder.clone();
            thread::spawn(move || {
                for _ in 0..20_000 {
                    recorder.granted(Band(0), WAIT);
                }
            })
        })
        .collect();
    let mut before = 0;
    while writers.iter().any(|writer| !writer.is_finished()) {
        let snapshot = taken(&recorder);
        snapshot.check().unwrap();
        let now = snapshot.histograms().map(|it| it.count()).sum::<u64>();
        assert!(now >= before);
        before = now;
    }
    for writer in writers {
        writer.join().unwrap();
    }
    assert_eq!(taken(&recorder).admission_wait[0].waits.count(), 60_000);
}
