use super::*;

#[test]
fn threads_change_nothing_but_parts() {
    let words = |table: &Lineitem| -> Vec<(u32, u32)> {
        let rows = table.segments.iter().flat_map(|segment| {
            let columns = segment.terms().iter().zip(segment.price_cents());
            columns
                .take(segment.rows())
                .map(|(terms, price)| (*terms, *price))
        });
        rows.collect()
    };
    let one = lineitem(0.03, 1).unwrap();
    let three = lineitem(0.03, 3).unwrap();
    assert_eq!((one.segments.len(), three.segments.len()), (1, 3));
    assert_eq!(words(&one), words(&three));
}

#[test]
fn a_small_table_has_its_rows() {
    // The published number of rows at scale factor 0.01.
    assert_eq!(lineitem(0.01, 2).unwrap().rows(), 60_175);
}

#[test]
fn an_absurd_scale_is_refused() {
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 101.0] {
        assert!(
            matches!(lineitem(scale, 1), Err(GenerateError::Scale { .. })),
            "{scale}"
        );
    }
}

#[test]
fn parts_fit_a_segment() {
    for scale in [0.001, 0.9, 1.0, 3.3, 100.0] {
        for threads in [1, 2, 64] {
            let plan = Plan::new(scale, threads);
            let rows_a_part = plan.estimated_rows / plan.parts.unsigned_abs() as u64;
            assert!(
                rows_a_part <= PART_ROWS,
                "{scale} on {threads}: {rows_a_part}"
            );
        }
    }
}
