use super::*;

#[test]
fn few_attempts_hold_every_arrangement() {
    let arranged: Vec<_> = (0..64).map(Arrangement::of).collect();
    for one in Arrangement::ALL {
        assert!(arranged.contains(&one), "{one} never happens");
    }
    let running = arranged
        .iter()
        .filter(|one| matches!(one, Arrangement::Runs(_)))
        .count();
    assert!(running >= 28, "only {running} of 64 are ordinary");
}

#[test]
fn one_attempt_alone_holds() {
    assert_eq!(Arrangement::of(0), Arrangement::Holder);
    assert!((1..1000).all(|number| Arrangement::of(number) != Arrangement::Holder));
}

#[test]
fn a_correlation_names_one_arrangement() {
    for one in Arrangement::ALL {
        let name = one.correlation(17);
        let named = Arrangement::ALL
            .into_iter()
            .filter(|other| other.is_of(Some(&name)));
        assert_eq!(named.collect::<Vec<_>>(), [one]);
        assert!(!one.is_of(None));
    }
}
