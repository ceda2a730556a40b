use std::collections::BTreeMap;
use std::thread;

use proptest::prelude::*;

use crate::label::Outcome;

use super::*;

const DEVICES: u32 = 3;
const BANDS: u8 = 3;

#[derive(Clone, Copy, Debug)]
enum Event {
    Granted(Band, Duration),
    Refused(Refusal, Band, Duration),
    Ended(Ending, Band, DeviceOrdinal, Duration),
    LaneWait(DeviceOrdinal, Lane, Duration),
    Held(Duration),
    Closed(Duration),
}

/// Any event; one band and one device of four are strangers.
fn events() -> impl Strategy<Value = Event> {
    let band = || (0..=BANDS).prop_map(Band);
    let device = || (0..=DEVICES).prop_map(DeviceOrdinal);
    let duration = || (0..100_000_000_000u64).prop_map(Duration::from_nanos);
    prop_oneof![
        (band(), duration()).prop_map(|(band, wait)| Event::Granted(band, wait)),
        (prop::sample::select(Refusal::ALL), band(), duration())
            .prop_map(|(refusal, band, wait)| Event::Refused(refusal, band, wait)),
        (
            prop::sample::select(Ending::ALL),
            band(),
            device(),
            duration()
        )
            .prop_map(|(ending, band, device, ran)| Event::Ended(ending, band, device, ran)),
        (device(), prop::sample::select(Lane::ALL), duration())
            .prop_map(|(device, lane, wait)| Event::LaneWait(device, lane, wait)),
        duration().prop_map(Event::Held),
        duration().prop_map(Event::Closed),
    ]
}

fn record(recorder: &Recorder, event: Event) {
    match event {
        Event::Granted(band, wait) => recorder.granted(band, wait),
        Event::Refused(refusal, band, wait) => recorder.refused(refusal, band, wait),
        Event::Ended(ending, band, device, ran) => recorder.ended(ending, band, device, ran),
        Event::LaneWait(device, lane, wait) => recorder.lane_wait(device, lane, wait),
        Event::Held(hold) => recorder.compute_lease_hold(hold),
        Event::Closed(took) => recorder.closed(took),
    }
}

/// How many events of one series there were, and the sum of their durations.
type Tally = (u64, u64);

/// What the events add up to, counted one after the other on one thread.
#[derive(Debug, Default, PartialEq, Eq)]
struct Oracle {
    requests: BTreeMap<(Outcome, Band), u64>,
    admission_wait: BTreeMap<(Outcome, Band), Tally>,
    execution: BTreeMap<(DeviceOrdinal, Outcome), Tally>,
    lane_wait: BTreeMap<(DeviceOrdinal, Lane), Tally>,
    held: Tally,
    closed: Tally,
    strangers: u64,
}

impl Oracle {
    fn count(&mut self, event: Event) {
        let known = match event {
            Event::Granted(band, _) | Event::Refused(_, band, _) => band.0 < BANDS,
            Event::Ended(_, band, device, _) => band.0 < BANDS && device.0 < DEVICES,
            Event::LaneWait(device, ..) => device.0 < DEVICES,
            Event::Held(_) | Event::Closed(_) => true,
        };
        if !known {
            self.strangers += 1;
            return;
        }
        match event {
            Event::Granted(band, wait) => {
                let wait_key = (Outcome::Granted, band);
                add(self.admission_wait.entry(wait_key).or_default(), wait);
            }
            Event::Refused(refusal, band, wait) => {
                let key = (Outcome::from(refusal), band);
                *self.requests.entry(key).or_default() += 1;
                add(self.admission_wait.entry(key).or_default(), wait);
            }
            Event::Ended(ending, band, device, ran) => {
                let outcome = Outcome::from(ending);
                *self.requests.entry((outcome, band)).or_default() += 1;
                add(self.execution.entry((device, outcome)).or_default(), ran);
            }
            Event::LaneWait(device, lane, wait) => {
                add(self.lane_wait.entry((device, lane)).or_default(), wait);
            }
            Event::Held(hold) => add(&mut self.held, hold),
            Event::Closed(took) => add(&mut self.closed, took),
        }
    }

    fn read(snapshot: &BackendMetricsSnapshot) -> Self {
        let requests = snapshot.requests.iter();
        let waits = snapshot.admission_wait.iter();
        let execution = snapshot.execution.iter();
        let lanes = snapshot.lane_wait.iter();
        Self {
            requests: requests
                .map(|row| ((row.outcome, row.band), row.count))
                .collect(),
            admission_wait: waits
                .map(|row| ((row.outcome, row.band), tally(&row.waits)))
                .collect(),
            execution: execution
                .map(|row| ((row.device, row.outcome), tally(&row.durations)))
                .collect(),
            lane_wait: lanes
                .map(|row| ((row.device, row.lane), tally(&row.waits)))
                .collect(),
            held: tally(&snapshot.compute_lease_hold),
            closed: tally(&snapshot.close),
            strangers: snapshot.unlabelled_events,
        }
    }
}

fn add(tally: &mut Tally, duration: Duration) {
    tally.0 += 1;
    tally.1 += u64::try_from(duration.as_nanos()).unwrap();
}

fn tally(histogram: &crate::HistogramSnapshot) -> Tally {
    (histogram.count(), histogram.sum_ns)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn concurrent_recording_loses_nothing(
        shares in prop::collection::vec(prop::collection::vec(events(), 0..120), 1..12),
    ) {
        let recorder = Recorder::new((0..DEVICES).map(DeviceOrdinal), BANDS).unwrap();
        thread::scope(|scope| {
            for share in &shares {
                let recorder = &recorder;
                scope.spawn(move || {
                    for event in share {
                        record(recorder, *event);
                    }
                });
            }
        });
        let mut oracle = Oracle::default();
        for event in shares.iter().flatten() {
            oracle.count(*event);
        }
        let snapshot = recorder.snapshot(SessionFacts::default());
        prop_assert!(snapshot.check().is_ok());
        prop_assert_eq!(Oracle::read(&snapshot), oracle);
    }
}
