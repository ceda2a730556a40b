use super::{ErrorCode, ErrorKind};
use std::fmt::Write;

#[test]
fn the_code_table_is_stable() {
    let mut table = String::new();
    for code in ErrorCode::ALL {
        writeln!(table, "{code:<28} {:?}", code.kind()).unwrap();
    }
    insta::assert_snapshot!(table);
}

#[test]
fn a_code_travels_as_its_text() {
    for code in ErrorCode::ALL {
        let json = serde_json::to_string(code).unwrap();
        assert_eq!(json, format!("\"{}\"", code.as_str()));
        assert_eq!(serde_json::from_str::<ErrorCode>(&json).unwrap(), *code);
    }
}

#[test]
fn a_later_code_decodes_as_unknown() {
    let code: ErrorCode = serde_json::from_str("\"from_the_future\"").unwrap();
    assert_eq!(code.kind(), ErrorKind::Unknown);
}
