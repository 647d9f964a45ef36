//! Says what tools answered, no better and no worse than it was.
//!
//! Pure.

use dispatch_contracts::conversation::{Message, ResultStatus, ToolCall, ToolResult};
use serde_json::Value;

/// How much of one answer is repeated.
const SHOWN_LINES: usize = 20;
const SHOWN_LETTERS: usize = 2_000;

/// A report on every result of a message; `asked` holds the calls.
pub(super) fn report(asked: Option<&Message>, results: &Message) -> String {
    let told = results.results().map(|result| {
        let call = asked.and_then(|message| message.calls().find(|call| call.id == result.call));
        one(call, result)
    });
    told.collect::<Vec<_>>().join("\n\n")
}

fn one(call: Option<&ToolCall>, result: &ToolResult) -> String {
    let name = call.map_or("the tool", |call| call.name.as_str());
    let subject = call.map(subject).unwrap_or_default();
    let shown = shown(&result.text);
    match result.status {
        ResultStatus::Succeeded => {
            let lines = result.text.lines().count();
            let unit = if lines == 1 { "line" } else { "lines" };
            format!("`{name}`{subject} answered with {lines} {unit}:\n{shown}")
        }
        ResultStatus::Failed => format!("`{name}`{subject} failed: {shown}"),
        ResultStatus::Denied => format!("The guard refused `{name}`{subject}: {shown}"),
        ResultStatus::NotRun => format!("`{name}`{subject} did not run: {shown}"),
        ResultStatus::Unknown => {
            format!("It is unknown whether `{name}`{subject} had its effect, so look before trying again: {shown}")
        }
    }
}

/// What the call was about: its first text argument.
fn subject(call: &ToolCall) -> String {
    let keys = ["path", "file_path", "command", "pattern"];
    let found = keys.iter().find_map(|key| call.arguments.get(*key).and_then(Value::as_str));
    found.map(|text| format!(" ({})", cut(text.lines().next().unwrap_or_default(), 80))).unwrap_or_default()
}

fn shown(text: &str) -> String {
    let lines: Vec<&str> = text.lines().take(SHOWN_LINES).collect();
    let all = text.lines().count();
    let mut shown = cut(&lines.join("\n"), SHOWN_LETTERS);
    if all > SHOWN_LINES {
        shown.push_str(&format!("\n({} more lines)", all - SHOWN_LINES));
    }
    shown
}

fn cut(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
