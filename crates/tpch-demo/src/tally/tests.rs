use super::*;
use crate::answers::Q6Answer;
use crate::lanes::tests::piece;

fn ran(revenue: u128) -> Ended {
    Ended {
        arrangement: Arrangement::Runs(Query::Q6),
        report: None,
        answer: Some((Query::Q6, Answer::Q6(Q6Answer { revenue }))),
    }
}

#[test]
fn a_missing_report_is_an_otherwise() {
    let arrangement = Arrangement::NeverFits;
    let complete = kind(arrangement, 2, &[arrangement.expected(); 2]);
    assert_eq!(
        (complete.ended_otherwise, complete.report.as_str()),
        (0, "rejected: never_fits")
    );
    assert_eq!(
        kind(arrangement, 2, &[arrangement.expected()]).ended_otherwise,
        1
    );
    assert_eq!(
        kind(arrangement, 1, &[(Outcome::Succeeded, None)]).ended_otherwise,
        1
    );
}

#[test]
fn one_wrong_answer_is_shown() {
    let cpu = Answer::Q6(Q6Answer { revenue: 70_000 });
    let runs = runs(&[ran(70_000), ran(80_000), ran(70_000)], Query::Q6, &cpu);
    assert_eq!((runs.right, runs.wrong), (2, 1));
    assert_eq!(runs.shown, Some(vec![vec!["8.00".to_owned()]]));
}

#[test]
fn only_lanes_that_worked_have_times() {
    let pieces = [piece(Lane::Compute, 1, 0, 3), piece(Lane::Compute, 2, 5, 6)];
    let times = times(&[], &pieces);
    let told: Vec<_> = times
        .iter()
        .map(|one| (one.of.as_str(), one.summary.count))
        .collect();
    assert_eq!(told, [("compute lane", 2)]);
}

#[test]
fn a_peak_counts_what_overlaps() {
    let held = |from, until, bytes| [(from, true, bytes), (until, false, bytes)];
    let changes = [held(1, 5, 10), held(5, 9, 7), held(6, 7, 4), held(2, 4, 2)];
    assert_eq!(peak(changes.concat()), 12);
    assert_eq!(peak(Vec::new()), 0);
}
