use super::*;
use crate::document::tests::passing;

#[test]
fn the_tables_tell_every_section() {
    let text = tables(&passing());
    for told in [
        "scale factor 1: 10 rows",
        "Q6: agrees with the published answer",
        "123141078.23",
        "a query",
        "queue wait",
        "1.50",
        "50.0 %",
        "1 pushed, 0 overflowed, 1 taken: 7",
        "95.50 % right",
        "Q6 2.50 ms (7.50 ms from grant to answer) against 1.25 ms",
        "PASSED",
    ] {
        assert!(text.contains(told), "{told} is missing from\n{text}");
    }
}

#[test]
fn a_difference_is_printed_and_fails() {
    let mut document = passing();
    document.answers[0].device = vec![vec!["1.00".to_owned()]];
    document.answers[0].agrees = false;
    let text = tables(&document);
    assert!(text.contains("Q6: DIFFERS from"));
    assert!(text.contains("1.00") && text.contains("123141078.23"));
    assert!(text.ends_with("FAILED\n"));
}
