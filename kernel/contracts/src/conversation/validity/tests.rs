//! One case per rule, plus histories that every provider takes.

use super::*;
use crate::conversation::{ResultStatus, ToolCall, ToolResult};

fn user(text: &str) -> Message {
    Message::text(Role::User, text)
}

fn assistant(text: &str) -> Message {
    Message::text(Role::Assistant, text)
}

fn calling(ids: &[&str]) -> Message {
    let call = |id: &&str| {
        Chunk::ToolCall(ToolCall { id: (*id).into(), name: "tool".into(), arguments: serde_json::Map::new() })
    };
    Message { role: Role::Assistant, chunks: ids.iter().map(call).collect() }
}

fn answering(ids: &[&str]) -> Message {
    let result = |id: &&str| {
        Chunk::ToolResult(ToolResult {
            call: (*id).into(),
            status: ResultStatus::Succeeded,
            text: "done".into(),
            images: vec![],
        })
    };
    Message { role: Role::Tool, chunks: ids.iter().map(result).collect() }
}

#[test]
fn valid_histories_pass() {
    let steered = Message { role: Role::Tool, chunks: [answering(&["a"]).chunks, user("and this").chunks].concat() };
    for history in [
        vec![],
        vec![user("hi")],
        vec![user("hi"), assistant("hello"), user("more")],
        vec![user("hi"), calling(&["a", "b"]), answering(&["a", "b"]), assistant("done")],
        vec![user("hi"), calling(&["a"]), steered],
    ] {
        assert_eq!(validate(&history), Ok(()), "{history:?}");
    }
}

#[test]
fn each_broken_rule_is_named() {
    let reasoning =
        Message { role: Role::Assistant, chunks: vec![Chunk::Reasoning { text: "hm".into(), signature: None }] };
    let late_result = Message { role: Role::Tool, chunks: [user("text").chunks, answering(&["a"]).chunks].concat() };
    let cases = [
        (vec![assistant("hi")], Invalid::Order { at: 0, role: Role::Assistant }),
        (vec![user("a"), user("b")], Invalid::Order { at: 1, role: Role::User }),
        (vec![user("a"), assistant("b"), assistant("c")], Invalid::Order { at: 2, role: Role::Assistant }),
        (vec![user("a"), answering(&["a"])], Invalid::Order { at: 1, role: Role::Tool }),
        (vec![user(" \n")], Invalid::Empty { at: 0 }),
        (vec![Message { role: Role::User, chunks: vec![] }], Invalid::Empty { at: 0 }),
        (vec![user("a"), reasoning], Invalid::Empty { at: 1 }),
        (vec![Message { role: Role::User, chunks: calling(&["a"]).chunks }], Invalid::Misplaced { at: 0 }),
        (vec![user("a"), calling(&["a"]), late_result], Invalid::Misplaced { at: 2 }),
        (vec![user("a"), calling(&["a"])], Invalid::Unanswered { at: 1 }),
        (vec![user("a"), calling(&["a"]), user("b")], Invalid::Unanswered { at: 1 }),
        (vec![user("a"), calling(&["a", "b"]), answering(&["a"])], Invalid::Unanswered { at: 1 }),
        (vec![user("a"), calling(&["a", "b"]), answering(&["b", "a"])], Invalid::Unanswered { at: 1 }),
        (
            vec![user("a"), calling(&["a"]), answering(&["a"]), calling(&["a"]), answering(&["a"])],
            Invalid::RepeatedCall { at: 3, id: "a".into() },
        ),
        (vec![user("a"), calling(&["a"]), answering(&["a"]), user("b")], Invalid::Order { at: 3, role: Role::User }),
    ];
    for (history, expected) in cases {
        assert_eq!(validate(&history), Err(expected), "{history:?}");
    }
}
