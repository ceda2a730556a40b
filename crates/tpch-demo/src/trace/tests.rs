use super::*;
use crate::lanes::tests::piece;

#[test]
fn each_lane_has_its_track() {
    let pieces = [piece(Lane::Upload, 1, 0, 2), piece(Lane::Compute, 2, 3, 5)];
    let trace = document("device", &pieces, 7);
    assert_eq!(trace["otherData"]["dropped_records"], 7);
    let events = trace["traceEvents"].as_array().unwrap();
    let named = |lane: &str| {
        events
            .iter()
            .find(|event| event["args"]["name"] == format!("{lane} lane"))
            .unwrap()["tid"]
            .clone()
    };
    let work: Vec<_> = events.iter().filter(|event| event["ph"] == "X").collect();
    assert_eq!(work.len(), 2);
    assert_eq!(work[0]["tid"], named("upload"));
    assert_eq!(work[1]["tid"], named("compute"));
    assert_eq!(
        (work[1]["ts"].as_f64(), work[1]["dur"].as_f64()),
        (Some(3000.0), Some(2000.0))
    );
    assert_eq!(work[1]["args"]["id"], 2);
}
