//! Whole conversations with the rehearsal.

use super::reply::{LABEL, reply};
use super::*;
use dispatch_contracts::conversation::{Chunk, Message, ResultStatus, Role, ToolCall, ToolResult, validate};
use dispatch_contracts::tool::ToolSpec;
use serde_json::{Map, Value, json};

fn tool(name: &str, required: &[&str]) -> ToolSpec {
    let properties: Map<String, Value> =
        required.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
    let parameters = json!({ "type": "object", "properties": properties, "required": required });
    ToolSpec { name: name.to_owned(), description: String::new(), parameters, concurrency_safe: true }
}

fn tools() -> Vec<ToolSpec> {
    let mut list = tool("list_files", &[]);
    list.parameters["properties"] = json!({ "path": { "type": "string" } });
    vec![
        tool("read_file", &["path"]),
        tool("write_file", &["path", "content"]),
        tool("edit_file", &["path", "old_text", "new_text"]),
        list,
        tool("search_files", &["pattern"]),
        tool("find_files", &["pattern"]),
        tool("run_shell", &["command"]),
        tool("todo", &["text"]),
    ]
}

fn request(messages: Vec<Message>, tools: Vec<ToolSpec>) -> ModelRequest {
    validate(&messages).unwrap();
    ModelRequest { model: String::new(), system: Vec::new(), messages, tools, options: Map::new() }
}

fn asked(text: &str) -> (String, Vec<(String, Value)>) {
    let found = reply(&request(vec![Message::text(Role::User, text)], tools()));
    (found.text, found.calls.into_iter().map(|call| (call.tool, call.arguments)).collect())
}

#[test]
fn every_tool_can_be_driven() {
    for (text, name, arguments) in [
        ("read notes.txt", "read_file", json!({ "path": "notes.txt" })),
        ("list", "list_files", json!({})),
        ("list src", "list_files", json!({ "path": "src" })),
        ("search main", "search_files", json!({ "pattern": "main" })),
        ("find *.rs", "find_files", json!({ "pattern": "*.rs" })),
        ("run ls -l", "run_shell", json!({ "command": "ls -l" })),
        ("write a.txt: hi", "write_file", json!({ "path": "a.txt", "content": "hi" })),
        ("replace a with b in c", "edit_file", json!({ "path": "c", "old_text": "a", "new_text": "b" })),
        ("todo milk", "todo", json!({ "text": "milk" })),
        ("call run_shell {\"command\":\"x\"}", "run_shell", json!({ "command": "x" })),
    ] {
        let (said, calls) = asked(text);
        assert_eq!(calls, [(name.to_owned(), arguments)], "{text}");
        assert!(said.starts_with(LABEL), "{said}");
    }
}

#[test]
fn a_tool_that_is_not_offered_is_not_called() {
    let found = reply(&request(vec![Message::text(Role::User, "read a")], vec![tool("run_shell", &["command"])]));
    assert!(found.calls.is_empty());
    assert!(found.text.contains("`read_file`") && found.text.contains("Offered: run_shell."), "{}", found.text);
    let strange = reply(&request(vec![Message::text(Role::User, "read a")], vec![tool("read_file", &["handle"])]));
    assert!(strange.calls.is_empty(), "{strange:?}");
}

#[test]
fn several_lines_are_several_calls() {
    let (_, calls) = asked("read a\nread b");
    assert_eq!(calls.len(), 2);
}

#[test]
fn results_are_told_as_they_are() {
    let call = |id: &str| {
        Chunk::ToolCall(ToolCall {
            id: id.into(),
            name: "read_file".to_owned(),
            arguments: json!({ "path": format!("{id}.txt") }).as_object().cloned().unwrap(),
        })
    };
    let result = |id: &str, status: ResultStatus, text: &str| {
        Chunk::ToolResult(ToolResult { call: id.into(), status, text: text.to_owned(), images: Vec::new() })
    };
    let long: String = (0..50).map(|line| format!("line {line}\n")).collect();
    let found = reply(&request(
        vec![
            Message::text(Role::User, "read"),
            Message { role: Role::Assistant, chunks: ["1", "2", "3", "4", "5"].map(call).to_vec() },
            Message {
                role: Role::Tool,
                chunks: vec![
                    result("1", ResultStatus::Succeeded, &long),
                    result("2", ResultStatus::Failed, "no such file"),
                    result("3", ResultStatus::Denied, "outside of the project"),
                    result("4", ResultStatus::NotRun, "cancelled"),
                    result("5", ResultStatus::Unknown, "the process died"),
                    Chunk::Text { text: "hurry".to_owned() },
                ],
            },
        ],
        tools(),
    ));
    for part in [
        "`read_file` (1.txt) answered with 50 lines:\nline 0\n",
        "(30 more lines)",
        "`read_file` (2.txt) failed: no such file",
        "The guard refused `read_file` (3.txt): outside of the project",
        "`read_file` (4.txt) did not run: cancelled",
        "It is unknown whether `read_file` (5.txt) had its effect",
        "Meanwhile you said: \"hurry\"",
    ] {
        assert!(found.text.contains(part), "{part:?} is missing in {}", found.text);
    }
    assert!(found.calls.is_empty(), "the turn ends");
}

#[test]
fn it_remembers_what_was_said() {
    let history = |question: &str| {
        vec![
            Message::text(Role::User, "my cat is called Ada"),
            Message::text(Role::Assistant, "noted"),
            Message::text(Role::User, question),
        ]
    };
    let found = reply(&request(history("what did I say before?"), tools()));
    assert!(found.text.contains("Before this you said: \"my cat is called Ada\""), "{}", found.text);
    let (first, _) = asked("What did I say before?");
    assert!(first.contains("not said anything before"), "{first}");
}

#[test]
fn anything_else_is_echoed_with_help() {
    let (said, calls) = asked("hello there");
    assert!(calls.is_empty());
    assert!(said.contains("You said: \"hello there\"") && said.contains("- read FILE"), "{said}");
}

#[test]
fn the_stream_is_words_then_calls_then_the_end_and_always_the_same() {
    let request = request(vec![Message::text(Role::User, "read a")], tools());
    let said = events(&request);
    assert_eq!(said, events(&request));
    let words = said.iter().filter(|event| matches!(event, ModelEvent::TextDelta { .. })).count();
    assert!(words > 5);
    let ending: Vec<&ModelEvent> = said.iter().skip(words).collect();
    let ModelEvent::ToolCall { id, name, arguments } = ending[0] else { panic!("{ending:?}") };
    assert_eq!((id.as_str(), name.as_str(), arguments.as_str()), ("rehearsal-1", "read_file", r#"{"path":"a"}"#));
    assert_eq!(*ending[1], ModelEvent::Finished { finish: Finish::ToolCalls });
}
