use super::*;

#[test]
fn halves_round_up() {
    assert_eq!(decimal(1_005, 1_000), "1.01");
    assert_eq!(decimal(1_004_999, 1_000_000), "1.00");
    assert_eq!(decimal(7, 1), "7.00");
    assert_eq!(decimal(2, 3), "0.67");
    assert_eq!(decimal(0, 7), "0.00");
}

#[test]
fn published_answers_have_their_columns() {
    let q1 = published(Query::Q1, 1.0).unwrap();
    assert_eq!(q1.len(), 4);
    assert!(q1.iter().all(|row| row.len() == columns(Query::Q1).len()));
    assert_eq!(q1[1][1], "F");
    assert_eq!(published(Query::Q6, 1.0).unwrap(), [["123141078.23"]]);
    assert_eq!(published(Query::Q6, 0.5), None);
}

#[test]
fn empty_groups_have_no_row() {
    let mut answer = Q1Answer::default();
    answer.groups[2] = Sums {
        count: 2,
        quantity: 51,
        base_price: 333,
        ..Sums::default()
    };
    let expected = [
        "N", "O", "51.00", "3.33", "0.00", "0.00", "25.50", "1.67", "0.00", "2",
    ];
    assert_eq!(answer.table(), [expected]);
}
