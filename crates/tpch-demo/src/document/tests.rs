use super::*;
use crate::answers::{Q6Answer, published};
use crate::latency::Durations;

/// A document of a run in which all went well.
pub(crate) fn passing() -> Document {
    let table = published(Query::Q6, 1.0).unwrap();
    let runs = Runs {
        right: 3,
        wrong: 0,
        shown: Some(table.clone()),
    };
    let summary = Durations::from_iter([std::time::Duration::from_micros(1500)]).summary();
    Document {
        table: TableFacts {
            scale: 1.0,
            rows: 10,
            column_bytes: 1 << 20,
            generated_in_ms: 5.0,
        },
        device: DeviceFacts {
            name: "one".into(),
            kind: "software".into(),
            driver: "two".into(),
        },
        answers: vec![Answer::judged(Query::Q6, 1.0, &runs, table)],
        attempts: Attempts {
            begun: 4,
            reports: 4,
            kinds: vec![Kind {
                arranged: "a query",
                report: "succeeded".into(),
                count: 4,
                ended_otherwise: 0,
            }],
        },
        times: vec![Times {
            of: "queue wait".into(),
            summary,
        }],
        bytes: Bytes {
            budget: 4 << 20,
            capacity: 3 << 20,
            resident: 1 << 20,
            peak_granted: 2 << 20,
            peak_of_an_attempt: 1 << 19,
            peak_charged: 3 << 20,
        },
        classifier: Classifier {
            stages: 2,
            images: 100,
            accuracy_percent: 95.5,
        },
        abandoned: Abandoned {
            pushed: 1,
            overflowed: 0,
            taken: vec!["7".into()],
            missing: 0,
        },
        close: Close {
            is_clean: true,
            attempts_begun: 4,
            gpu_quiescent_after_us: 10,
            elapsed_us: 20,
            quarantined_bytes: 0,
            retained_bytes: 0,
            still_held_bytes: 0,
            leaked_bytes: 0,
            unfinished_submissions: 0,
        },
        comparison: vec![Comparison {
            query: "Q6",
            lane_us: 2500,
            answer_us: 7500,
            cpu_us: 1250,
        }],
    }
}

#[test]
fn a_sound_run_passes() {
    assert!(passing().passed());
}

#[test]
fn each_fault_alone_fails_the_run() {
    let faults: [fn(&mut Document); 7] = [
        |document| document.answers[0].agrees = false,
        |document| document.attempts.kinds[0].ended_otherwise = 1,
        |document| document.attempts.reports = 3,
        |document| document.abandoned.missing = 1,
        |document| document.bytes.peak_granted = document.bytes.capacity + 1,
        |document| document.bytes.peak_charged = document.bytes.budget + 1,
        |document| document.close.is_clean = false,
    ];
    for (index, fault) in faults.iter().enumerate() {
        let mut document = passing();
        fault(&mut document);
        assert!(!document.passed(), "fault {index}");
    }
}

#[test]
fn an_answer_agrees_only_exactly() {
    let official = published(Query::Q6, 1.0).unwrap();
    let cent_off = Q6Answer {
        revenue: 1_231_410_782_200,
    }
    .table();
    let judged = |device: &Table, cpu: &Table, scale, (right, wrong)| {
        let runs = Runs {
            right,
            wrong,
            shown: Some(device.clone()),
        };
        Answer::judged(Query::Q6, scale, &runs, cpu.clone()).agrees
    };
    assert!(judged(&official, &official, 1.0, (1, 0)));
    assert!(
        !judged(&cent_off, &cent_off, 1.0, (1, 0)),
        "differs from the published answer"
    );
    assert!(
        judged(&cent_off, &cent_off, 0.5, (1, 0)),
        "nothing published at this scale"
    );
    assert!(
        !judged(&official, &cent_off, 1.0, (1, 0)),
        "differs from the CPU"
    );
    assert!(
        !judged(&official, &official, 1.0, (1, 1)),
        "one run differed"
    );
    assert!(
        !judged(&official, &official, 1.0, (0, 0)),
        "no run gave an answer"
    );
}
