use super::*;
use crate::answers::published;
use crate::columns::Group;
use crate::generate::lineitem;

#[test]
fn scale_one_gives_the_published_answers() {
    let table = lineitem(1.0, 2).unwrap();
    assert_eq!(table.rows(), 6_001_215);
    for query in Query::ALL {
        assert_eq!(
            answer(query, &table).table(),
            published(query, 1.0).unwrap()
        );
    }
}

#[test]
fn predicates_end_where_they_say() {
    let row =
        |day, quantity, discount| Terms::pack(day, quantity, discount, 0, Group::NoneOpen).unwrap();
    let q6 = Q6Predicate::PUBLISHED;
    let first = i64::from(q6.first_ship_day);
    let end = i64::from(q6.end_ship_day);
    assert_eq!(end - first, 365);
    assert!(q6.accepts(row(first, 23, 5)));
    assert!(q6.accepts(row(end - 1, 1, 7)));
    assert!(!q6.accepts(row(first - 1, 1, 6)));
    assert!(!q6.accepts(row(end, 1, 6)));
    assert!(!q6.accepts(row(first, 24, 6)));
    assert!(!q6.accepts(row(first, 23, 4)));
    assert!(!q6.accepts(row(first, 23, 8)));
    assert!(!q6.accepts(Terms::PADDING));
    assert!(Terms::PADDING.ship_day() > Q1Predicate::PUBLISHED.last_ship_day);
}
