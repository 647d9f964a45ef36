//! Every way in which servers are known to cut tool calls.

use super::*;
use serde_json::json;

/// The calls of a stream as `id name arguments`, and after which piece each came (the end is the
/// number of pieces).
fn assemble(pieces: &[Value]) -> Vec<(usize, String)> {
    let mut assembly = CallAssembly::default();
    let mut found = Vec::new();
    let words = |call: CompleteCall| format!("{} {} {}", call.id, call.name, call.arguments);
    for (at, piece) in pieces.iter().enumerate() {
        found.extend(assembly.push(piece).into_iter().map(|call| (at, words(call))));
    }
    found.extend(assembly.finish().into_iter().map(|call| (pieces.len(), words(call))));
    assert!(assembly.finish().is_empty(), "nothing is given twice");
    found
}

fn check(pieces: &[Value], expected: &[(usize, &str)]) {
    let expected: Vec<(usize, String)> = expected.iter().map(|(at, call)| (*at, (*call).to_owned())).collect();
    assert_eq!(assemble(pieces), expected, "{pieces:#?}");
}

fn piece(index: Value, id: &str, name: &str, arguments: &str) -> Value {
    let mut piece = json!({ "type": "function", "function": {} });
    if !index.is_null() {
        piece["index"] = index;
    }
    for (key, text) in [("name", name), ("arguments", arguments)] {
        if !text.is_empty() {
            piece["function"][key] = json!(text);
        }
    }
    if !id.is_empty() {
        piece["id"] = json!(id);
    }
    piece
}

#[test]
fn arguments_in_pieces_end_with_their_object() {
    check(
        &[
            piece(json!(0), "c1", "read", ""),
            piece(json!(0), "", "", "{\"pa"),
            piece(json!(0), "", "", "th\":\"a\"}"),
            piece(json!(1), "c2", "list", "{}"),
        ],
        &[(2, r#"c1 read {"path":"a"}"#), (4, "c2 list {}")],
    );
}

#[test]
fn an_empty_object_waits_for_the_next_call_or_the_end() {
    check(
        &[piece(json!(0), "c1", "a", "{}"), piece(json!(1), "c2", "b", ""), piece(json!(1), "", "", "{}")],
        &[(1, "c1 a {}"), (3, "c2 b {}")],
    );
    check(&[piece(json!(0), "c1", "a", "{}"), piece(json!(0), "", "", "{\"x\":1}")], &[(1, r#"c1 a {"x":1}"#)]);
}

#[test]
fn empty_arguments_are_an_empty_object() {
    check(&[piece(json!(0), "c1", "a", "")], &[(1, "c1 a {}")]);
    check(&[piece(json!(0), "c1", "a", "  ")], &[(1, "c1 a {}")]);
    check(&[json!({ "index": 0, "id": "c1", "function": { "name": "a", "arguments": null } })], &[(1, "c1 a {}")]);
}

#[test]
fn interleaved_calls_are_kept_apart_and_in_order() {
    check(
        &[
            piece(json!(0), "c1", "a", ""),
            piece(json!(1), "c2", "b", ""),
            piece(json!(1), "", "", "{\"y\":2}"),
            piece(json!(0), "", "", "{\"x\":"),
            piece(json!(0), "", "", "1}"),
        ],
        &[(4, r#"c1 a {"x":1}"#), (4, r#"c2 b {"y":2}"#)],
    );
}

#[test]
fn an_id_repeated_on_each_piece_is_one_call() {
    for index in [json!(0), Value::Null] {
        check(
            &[
                piece(index.clone(), "c1", "a", ""),
                piece(index.clone(), "c1", "a", "{\"x\""),
                piece(index, "c1", "a", ":1}"),
            ],
            &[(2, r#"c1 a {"x":1}"#)],
        );
    }
}

#[test]
fn a_name_in_pieces_is_joined() {
    check(
        &[piece(json!(0), "c1", "read_", ""), piece(json!(0), "", "file", ""), piece(json!(0), "", "", "{}")],
        &[(3, "c1 read_file {}")],
    );
}

#[test]
fn without_an_index_ids_and_names_tell_calls_apart() {
    check(
        &[piece(Value::Null, "c1", "a", "{\"x\":1}"), piece(Value::Null, "c2", "b", "{\"x\":2}")],
        &[(0, r#"c1 a {"x":1}"#), (1, r#"c2 b {"x":2}"#)],
    );
    check(
        &[
            piece(Value::Null, "", "a", "{\"x\":1}"),
            piece(Value::Null, "", "b", "{\"x\":"),
            piece(Value::Null, "", "", "2}"),
        ],
        &[(0, r#" a {"x":1}"#), (2, r#" b {"x":2}"#)],
    );
}

#[test]
fn one_index_for_all_calls_is_told_apart_by_id() {
    check(
        &[
            piece(json!(0), "c1", "a", "{\"x\":1}"),
            piece(json!(0), "c2", "b", "{\"x\":2}"),
            piece(json!(0), "", "", " "),
        ],
        &[(0, r#"c1 a {"x":1}"#), (1, r#"c2 b {"x":2}"#)],
    );
}

#[test]
fn duplicate_ids_are_separate_calls() {
    check(
        &[piece(json!(0), "c", "a", "{\"x\":1}"), piece(json!(1), "c", "a", "{\"x\":2}")],
        &[(0, r#"c a {"x":1}"#), (1, r#"c a {"x":2}"#)],
    );
    check(
        &[piece(Value::Null, "c", "a", "{\"x\":1}"), piece(Value::Null, "c", "a", "{\"x\":2}")],
        &[(0, r#"c a {"x":1}"#), (1, r#"c a {"x":2}"#)],
    );
}

#[test]
fn the_old_function_call_is_a_call_without_an_id() {
    check(
        &[json!({ "name": "a", "arguments": "" }), json!({ "arguments": "{\"x\"" }), json!({ "arguments": ":1}" })],
        &[(2, r#" a {"x":1}"#)],
    );
}

#[test]
fn arguments_may_come_as_an_object() {
    check(&[json!({ "id": "c", "function": { "name": "a", "arguments": { "x": [1] } } })], &[(0, r#"c a {"x":[1]}"#)]);
}

#[test]
fn arguments_that_are_no_object_are_passed_on_as_they_are() {
    check(&[piece(json!(0), "c", "a", "{\"x\": oh")], &[(1, "c a {\"x\": oh")]);
    check(&[piece(json!(0), "c", "a", "path=a")], &[(1, "c a path=a")]);
}

#[test]
fn strange_elements_do_no_harm() {
    check(&[Value::Null, json!(3), json!([]), json!({ "function": 7, "index": -1, "id": 5 })], &[]);
}
