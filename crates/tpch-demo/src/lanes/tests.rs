use super::*;

/// A piece of a lane from one millisecond to another.
pub(crate) fn piece(lane: Lane, id: u64, started_ms: u64, ended_ms: u64) -> Piece {
    Piece {
        lane,
        label: format!("work {id}"),
        kind: "region",
        id,
        asked_at: Duration::from_millis(started_ms / 2),
        started_at: Duration::from_millis(started_ms),
        ended_at: Duration::from_millis(ended_ms),
        failed: false,
    }
}

#[test]
fn a_lane_does_one_piece_at_once() {
    let pieces = one_after_the_other(vec![
        piece(Lane::Compute, 2, 1, 9),
        piece(Lane::Compute, 1, 0, 4),
        piece(Lane::Download, 3, 2, 6),
    ]);
    let occupied: Vec<_> = pieces
        .iter()
        .map(|piece| {
            (
                piece.id,
                piece.started_at.as_millis(),
                piece.ended_at.as_millis(),
            )
        })
        .collect();
    assert_eq!(occupied, [(1, 0, 4), (3, 2, 6), (2, 4, 9)]);
    assert_eq!(pieces[2].occupied(), Duration::from_millis(5));
}

#[test]
fn a_chain_does_one_piece_at_once() {
    let pieces = one_after_the_other(vec![
        piece(Lane::Download, 1, 0, 6),
        piece(Lane::Compute, 1, 0, 5),
        piece(Lane::Upload, 2, 0, 6),
    ]);
    let occupied = |lane| {
        let mut on_lane = pieces.iter().filter(|piece| piece.lane == lane);
        on_lane.next().unwrap().occupied().as_millis()
    };
    assert_eq!(
        Lane::ALL[..3]
            .iter()
            .map(|lane| occupied(*lane))
            .collect::<Vec<_>>(),
        [6, 5, 1]
    );
}
