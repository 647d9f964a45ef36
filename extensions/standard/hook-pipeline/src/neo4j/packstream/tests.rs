//! Byte tables from the definition of PackStream, and properties of reading what nobody wrote.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn written(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(value, &mut bytes);
    bytes
}

fn read(bytes: &[u8]) -> Result<Value, Neo4jError> {
    let mut reader = Reader { rest: bytes };
    let value = reader.value(0)?;
    assert_eq!(reader.rest, b"", "all of it was read");
    Ok(value)
}

#[test]
fn values_have_the_bytes_that_the_definition_gives_them() {
    let long = "A".repeat(26);
    let cases: [(Value, &[u8]); 20] = [
        (json!(null), &[0xC0]),
        (json!(true), &[0xC3]),
        (json!(false), &[0xC2]),
        (json!(1), &[0x01]),
        (json!(42), &[0x2A]),
        (json!(127), &[0x7F]),
        (json!(128), &[0xC9, 0x00, 0x80]),
        (json!(-1), &[0xFF]),
        (json!(-16), &[0xF0]),
        (json!(-17), &[0xC8, 0xEF]),
        (json!(-128), &[0xC8, 0x80]),
        (json!(1234), &[0xC9, 0x04, 0xD2]),
        (json!(70_000), &[0xCA, 0x00, 0x01, 0x11, 0x70]),
        (json!(i64::MIN), &[0xCB, 0x80, 0, 0, 0, 0, 0, 0, 0]),
        (json!(1.1), &[0xC1, 0x3F, 0xF1, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9A]),
        (json!(""), &[0x80]),
        (json!("A"), &[0x81, 0x41]),
        (json!("Größe"), &[0x87, 0x47, 0x72, 0xC3, 0xB6, 0xC3, 0x9F, 0x65]),
        (json!([1, 2, 3]), &[0x93, 0x01, 0x02, 0x03]),
        (json!({"one": "eins"}), &[0xA1, 0x83, 0x6F, 0x6E, 0x65, 0x84, 0x65, 0x69, 0x6E, 0x73]),
    ];
    for (value, bytes) in cases {
        assert_eq!(written(&value), bytes, "{value}");
        assert_eq!(read(bytes).unwrap(), value);
    }
    assert_eq!(written(&json!(long))[..2], [0xD0, 26]);
    assert_eq!(written(&json!("A".repeat(300)))[..3], [0xD1, 0x01, 0x2C]);
    assert_eq!(written(&json!("A".repeat(70_000)))[..5], [0xD2, 0, 1, 0x11, 0x70]);
    assert_eq!(written(&json!(vec![1; 16]))[..2], [0xD4, 16]);
}

#[test]
fn longer_forms_than_needed_are_read_too() {
    let cases: [(&[u8], Value); 6] = [
        (&[0xC8, 0x01], json!(1)),
        (&[0xCB, 0, 0, 0, 0, 0, 0, 0, 1], json!(1)),
        (&[0xD0, 1, 0x41], json!("A")),
        (&[0xD2, 0, 0, 0, 1, 0x41], json!("A")),
        (&[0xD5, 0, 1, 0x05], json!([5])),
        (&[0xDA, 0, 0, 0, 1, 0x81, 0x61, 0x05], json!({"a": 5})),
    ];
    for (bytes, value) in cases {
        assert_eq!(read(bytes).unwrap(), value, "{bytes:02X?}");
    }
}

#[test]
fn a_message_is_a_structure_with_a_tag() {
    let message = Message { tag: 0x70, fields: vec![json!({"server": "Neo4j/5.1.0"})] };
    let bytes = message.encode();
    assert_eq!(bytes[..4], [0xB1, 0x70, 0xA1, 0x86]);
    assert_eq!(Message::decode(&bytes).unwrap(), message);
}

#[test]
fn what_is_no_message_is_refused_and_sizes_that_lie_cost_nothing() {
    let nested = [vec![0xB1, 0x70], vec![0x91; 64], vec![0x01]].concat();
    let cases: [&[u8]; 10] = [
        &[],
        &[0xB1],
        &[0xB1, 0x70],
        &[0xB0, 0x70, 0x00],
        &[0x01],
        &[0xB1, 0x70, 0xD2, 0xFF, 0xFF, 0xFF, 0xFF],
        &[0xB1, 0x70, 0xD6, 0xFF, 0xFF, 0xFF, 0xFF],
        &[0xB1, 0x70, 0xDA, 0xFF, 0xFF, 0xFF, 0xFF],
        &[0xB1, 0x70, 0xA1, 0x01, 0x01],
        &nested,
    ];
    for bytes in cases {
        assert!(matches!(Message::decode(bytes), Err(Neo4jError::Malformed(_))), "{bytes:02X?}");
    }
    assert!(matches!(Message::decode(&[0xB1, 0x70, 0x82, 0xFF, 0xFE]), Err(Neo4jError::Malformed(_))), "not UTF-8");
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..20).prop_map(Value::from),
            prop::collection::vec((".{0,6}", inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(value in any_value()) {
        let message = Message { tag: 0x71, fields: vec![value] };
        prop_assert_eq!(Message::decode(&message.encode()).unwrap(), message);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Message::decode(&bytes);
    }
}
