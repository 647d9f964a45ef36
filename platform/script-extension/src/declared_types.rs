//! Compares `sdk/extension.d.ts` with the contracts: what an author reads of a value is what the kernel sends.

use dispatch_contracts::conversation::{ResultStatus, ToolCall, ToolResult};
use dispatch_contracts::fault::{Disabled, Fault, FaultKind};
use dispatch_contracts::hooks::{
    Denial, EXTENSION_DISABLED, EXTENSION_FAULTED, Question, REQUEST_BEFORE, RequestBefore, TOOL_AFTER, TOOL_BEFORE,
    TURN_SEALED, TURN_STARTED, ToolAfter, ToolBefore, TurnRef, TurnSealed, TurnStarted,
};
use dispatch_contracts::provider::{Finish, ModelEvent, ModelRequest, Usage};
use dispatch_contracts::tool::ToolSpec;
use dispatch_contracts::turn::TurnEnd;
use serde::Serialize;
use serde_json::{Map, Value, json};

const TYPES: &str = include_str!("../../../sdk/extension.d.ts");

/// The text of a declaration, from its name to the next one.
fn declaration(name: &str) -> &'static str {
    let starts = [format!("export interface {name} "), format!("export type {name} ")];
    let start = starts.iter().find_map(|start| TYPES.find(start)).unwrap_or_else(|| panic!("`{name}` is not declared"));
    let text = &TYPES[start..];
    text.find("\n\n").map_or(text, |end| &text[..end])
}

/// What a text of types names as fields, with the fields of a turn where it is one.
fn has_field(text: &str, field: &str) -> bool {
    let named = |text: &str| {
        let words = text.match_indices(field).map(|(at, _)| (&text[..at], &text[at + field.len()..]));
        words.into_iter().any(|(before, after)| {
            before.ends_with([' ', '{']) && [":", "?:"].iter().any(|mark| after.starts_with(mark))
        })
    };
    named(text) || (text.contains("TurnRef") && !text.contains("interface TurnRef") && named(declaration("TurnRef")))
}

fn check(what: &str, text: &str, value: &impl Serialize) {
    let value = serde_json::to_value(value).unwrap();
    let missing: Vec<&String> =
        value.as_object().unwrap().keys().filter(|field| !has_field(text, field.as_str())).collect();
    assert!(missing.is_empty(), "`{what}` in extension.d.ts lacks {missing:?}: {text}");
}

/// The type of an event or filter by its id.
fn hook(kind: &str, id: &str) -> &'static str {
    let name = format!("\"{}\": ", id.trim_start_matches("kernel/"));
    let text = declaration(kind);
    let start = text.find(&name).unwrap_or_else(|| panic!("{kind} lacks {name}"));
    text[start..].lines().next().unwrap()
}

fn turn() -> TurnRef {
    TurnRef { session: "s".into(), turn: "t".into(), workdir: "/w".into() }
}

fn call() -> ToolCall {
    ToolCall { id: "c".into(), name: "n".to_owned(), arguments: Map::new() }
}

fn request() -> ModelRequest {
    let tool =
        ToolSpec { name: "n".to_owned(), description: "d".to_owned(), parameters: json!({}), concurrency_safe: false };
    let (model, system) = ("m".to_owned(), Vec::new());
    ModelRequest { model, system, messages: Vec::new(), tools: vec![tool], options: Map::new() }
}

#[test]
fn values_of_filters_have_every_field_of_the_contracts() {
    let (code, reason) = ("c".to_owned(), "r".to_owned());
    let denied = Some(Denial { code: code.clone(), reason: reason.clone() });
    let before = ToolBefore { turn: turn(), call: call(), denied, questions: vec![Question { code, reason }] };
    let result =
        ToolResult { call: "c".into(), status: ResultStatus::Succeeded, text: "t".to_owned(), images: Vec::new() };
    check("TurnRef", declaration("TurnRef"), &turn());
    check("ToolCall", declaration("ToolCall"), &call());
    check("ToolBefore", declaration("ToolBefore"), &before);
    check("ToolAfter", declaration("ToolAfter"), &ToolAfter { turn: turn(), call: call(), result });
    check("request.before", hook("Filters", REQUEST_BEFORE.id()), &RequestBefore { turn: turn(), request: request() });
    assert!(hook("Filters", TOOL_BEFORE.id()).contains("ToolBefore"));
    assert!(hook("Filters", TOOL_AFTER.id()).contains("ToolAfter"));
}

#[test]
fn payloads_of_events_have_every_field_of_the_contracts() {
    let payload = |id: &str, value: Value| check(id, hook("Events", id), &value);
    let started = TurnStarted { turn: turn(), model: "m".to_owned() };
    let sealed = TurnSealed { turn: turn(), end: TurnEnd::Finished, usage: Usage::default() };
    let (place, message) = ("p".to_owned(), "m".to_owned());
    let fault = Fault { extension: "e".into(), place, kind: FaultKind::Error, message, at_ms: 1 };
    let filters = vec!["kernel/tool.before".to_owned()];
    let disabled = Disabled { extension: "e".into(), reason: "r".to_owned(), at_ms: 1, filters };
    payload(TURN_STARTED.id(), serde_json::to_value(started).unwrap());
    payload(TURN_SEALED.id(), serde_json::to_value(sealed).unwrap());
    payload(EXTENSION_FAULTED.id(), serde_json::to_value(fault).unwrap());
    payload(EXTENSION_DISABLED.id(), serde_json::to_value(disabled).unwrap());
}

#[test]
fn a_model_request_and_what_a_model_streams_have_every_field_of_the_contracts() {
    let asked = request();
    check("ModelRequest", declaration("ModelRequest"), &asked);
    check("ModelRequest.tools", declaration("ModelRequest"), &asked.tools[0]);
    let text = || "t".to_owned();
    let events = [
        ModelEvent::TextDelta { text: text() },
        ModelEvent::ReasoningDelta { text: text() },
        ModelEvent::ReasoningSealed { signature: text() },
        ModelEvent::ToolCall { id: text(), name: text(), arguments: text() },
        ModelEvent::Usage(Usage::default()),
        ModelEvent::Finished { finish: Finish::Stop },
    ];
    for event in events {
        let value = serde_json::to_value(&event).unwrap();
        let declared = declaration("ModelEvent");
        let kind = format!("type: {}", value["type"]);
        let start = declared.find(&kind).unwrap_or_else(|| panic!("ModelEvent lacks `{kind}`"));
        let end = declared[start..].find("\n  | ").map_or(declared.len(), |end| start + end);
        check(&kind, &format!(" {}", &declared[start..end]), &value);
    }
}
