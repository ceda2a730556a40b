use super::{bare, function, is_test, paths};

fn named(source: &str) -> Vec<String> {
    paths(&bare(source))
        .into_iter()
        .map(|named| named.segments.join("::"))
        .collect()
}

#[test]
fn comments_and_strings_are_no_code() {
    let source = "a // std::sync\n/* std::sync /* b */ */ \"std::sync \\\" x\" c";
    let left: Vec<String> = named(source);
    assert_eq!(left, ["a", "c"]);
}

#[test]
fn raw_strings_end_at_their_hashes() {
    assert_eq!(named(r###"r#"a " b"# c br"d" e"###), ["c", "e"]);
}

#[test]
fn lifetimes_are_no_character_literals() {
    assert_eq!(named("f::<'a>('b', '\\'', b'c', d)"), ["f", "a", "d"]);
}

#[test]
fn lines_stay_where_they_were() {
    let source = "/*\n\n*/ a::b";
    assert_eq!(paths(&bare(source))[0].line, 3);
}

#[test]
fn trees_of_use_are_spelled_out() {
    assert_eq!(
        named("use std::{sync::{Arc, mpsc}, thread};"),
        ["use", "std::sync::Arc", "std::sync::mpsc", "std::thread"]
    );
}

#[test]
fn a_function_is_found_by_its_whole_name() {
    let source = "fn longer_name() {}\n\nfn name() {}";
    assert_eq!(function(source, "name"), Some(3));
    assert_eq!(function(source, "nam"), None);
}

#[test]
fn only_attributed_functions_are_tests() {
    let source = "#[test]\nfn a() {\n}\n\nfn b() {\n}\n#[tokio::test]\n#[ignore]\nasync fn c() {}";
    assert!(is_test(source, 2));
    assert!(!is_test(source, 5));
    assert!(is_test(source, 9));
}
