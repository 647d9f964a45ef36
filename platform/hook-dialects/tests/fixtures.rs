//! Every recorded payload is understood, and its host is found, with and without a command line.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use dispatch_hook_dialects::dialect::{self, Hints, Parsed};
use dispatch_hook_module::HookEvent;
use dispatch_toolcall::{ReportedCall, ToolCall};
use serde_json::Value;

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")
}

fn json_lines(name: &str) -> Vec<Value> {
    let text = fs::read_to_string(testdata().join(name)).expect("committed test data");
    text.lines().map(|line| serde_json::from_str(line).expect("one JSON value per line")).collect()
}

fn parse(bytes: &[u8], host: Option<&str>, event: Option<&str>) -> Parsed {
    dialect::parse(bytes, host, event, &Hints::default()).expect("a fixture is readable")
}

fn text<'a>(row: &'a Value, key: &str) -> Option<&'a str> {
    row.get(key)?.as_str()
}

/// Checks each field the row names, and that the ones it leaves out are absent.
fn check(event: &HookEvent, row: &Value, how: &str) {
    let file = text(row, "file").expect("file");
    let fields = [
        ("session_id", &event.session_id),
        ("cwd", &event.cwd),
        ("tool_name", &event.tool_name),
        ("tool_use_id", &event.tool_use_id),
        ("transcript_path", &event.transcript_path),
        ("agent_id", &event.agent_id),
        ("agent_type", &event.agent_type),
        ("permission_mode", &event.permission_mode),
    ];
    assert_eq!(Some(event.host), text(row, "host"), "{file}: host ({how})");
    assert_eq!(Some(event.name.as_str()), text(row, "name"), "{file}: name ({how})");
    assert_eq!(Some(event.host_event.as_str()), text(row, "host_event"), "{file}: host event ({how})");
    let folder = file.split('/').next().expect("a host folder");
    assert_eq!(event.tool_host(), folder, "{file}: whose tools ({how})");
    for (key, found) in fields {
        assert_eq!(found.as_deref(), text(row, key), "{file}: {key} ({how})");
    }
    if let Some(prompt) = text(row, "prompt") {
        assert_eq!(event.prompt.as_deref(), Some(prompt), "{file}: prompt ({how})");
    }
    if let Some(command) = text(row, "command") {
        let input = &event.tool_input;
        let found = input.get("command").or_else(|| input.get("command_line"));
        assert_eq!(found.and_then(Value::as_str), Some(command), "{file}: command ({how})");
    }
    if let Some(path) = text(row, "path").filter(|_| event.tool_name.is_some()) {
        let tail = path.rsplit('/').next().expect("a last part");
        let input = event.tool_input.to_string();
        assert!(input.contains(tail.rsplit('\\').next().expect("a last part")), "{file}: path ({how})");
    }
}

#[test]
fn every_input_is_read_as_expected_however_it_is_announced() {
    let rows = json_lines("expected.jsonl");
    assert_eq!(rows.len(), 146);
    for row in &rows {
        let path = testdata().join("fixtures").join(text(row, "file").expect("file"));
        let bytes = fs::read(path).expect("a listed fixture exists");
        let host = text(row, "host");
        let argument = text(row, "host_event");
        check(&parse(&bytes, host, argument).event, row, "host and event given");
        check(&parse(&bytes, host, None).event, row, "host given");
        check(&parse(&bytes, None, argument).event, row, "event given");
        check(&parse(&bytes, None, None).event, row, "nothing given");
    }
}

#[test]
fn every_listed_input_has_an_expectation() {
    let index = fs::read_to_string(testdata().join("fixtures/INDEX.json")).expect("index");
    let index: Value = serde_json::from_str(&index).expect("index is JSON");
    let expected = json_lines("expected.jsonl");
    for fixture in index["fixtures"].as_array().expect("a list") {
        if text(fixture, "kind") == Some("input") {
            let file = text(fixture, "file");
            assert!(expected.iter().any(|row| text(row, "file") == file), "{file:?}");
        }
    }
}

#[test]
fn the_common_event_names_are_accepted_for_every_host() {
    for row in json_lines("expected.jsonl") {
        let name = text(&row, "name").expect("name");
        let path = testdata().join("fixtures").join(text(&row, "file").expect("file"));
        let bytes = fs::read(path).expect("a listed fixture exists");
        let event = parse(&bytes, text(&row, "host"), Some(name)).event;
        assert_eq!(event.name.as_str(), name, "{row}");
        // Where two generations of a host differ by case alone, the argument says which it is.
        let spelling = text(&row, "host_event").expect("host event");
        assert!(event.host_event.eq_ignore_ascii_case(spelling), "{row}: {}", event.host_event);
    }
}

#[test]
fn every_documented_example_is_attributed_to_its_host() {
    let examples = json_lines("examples.jsonl");
    assert!(examples.len() > 100);
    for example in examples {
        let host = text(&example, "host");
        let payload = example["payload"].to_string();
        let parsed = parse(payload.as_bytes(), None, None);
        assert_eq!(Some(parsed.dialect.id()), host, "{payload}");
        let known = parsed.dialect.support().event(&parsed.event.host_event);
        assert!(known.is_some(), "{payload}: event `{}`", parsed.event.host_event);
        if parsed.event.name.as_str().ends_with("ToolUse") {
            assert!(parsed.event.tool_name.is_some(), "{payload}");
            assert!(!parsed.event.tool_input.is_null(), "{payload}");
        }
        if parsed.event.name.as_str() == "UserPromptSubmit" {
            assert!(parsed.event.prompt.is_some(), "{payload}");
        }
    }
}

#[test]
fn every_tool_call_is_classified_as_listed() {
    let index = fs::read_to_string(testdata().join("fixtures/INDEX.json")).expect("index");
    let index: Value = serde_json::from_str(&index).expect("index is JSON");
    let mut checked = 0;
    for fixture in index["fixtures"].as_array().expect("a list") {
        let Some(class) = fixture.pointer("/expect/tool_class") else { continue };
        let file = text(fixture, "file").expect("file");
        let bytes = fs::read(testdata().join("fixtures").join(file)).expect("a listed fixture exists");
        let event = parse(&bytes, None, None).event;
        let call = ReportedCall {
            host: event.tool_host(),
            tool: event.tool_name.as_deref().unwrap_or_default(),
            input: &event.tool_input,
            cwd: event.cwd.as_deref().unwrap_or_default(),
            home: None,
        };
        let found = if event.mcp_server.is_some() { ToolCall::mcp(&call) } else { ToolCall::classify(&call) };
        let kind = serde_json::to_value(found.kind).expect("a word");
        assert_eq!(&kind, class, "{file}");
        checked += 1;
    }
    assert!(checked > 50);
}
