//! Tool calls as an editor shows them: what kind, where, and what changes.
//!
//! Pure.

use dispatch_contracts::conversation::{ResultStatus, ToolCall, ToolResult};
use dispatch_toolcall::{Access, ReportedCall, ToolCall as Seen, ToolKind};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The host name under which our own tools are known.
const OWN_TOOLS: &str = "dispatch";
/// The longest title.
const MAX_TITLE_CHARS: usize = 120;
/// The most text of a result that is shown; the model has it all.
const MAX_SHOWN_BYTES: usize = 64 * 1024;

/// A call that was made, with its state.
pub(super) fn call(call: &ToolCall, cwd: &Path, status: &str) -> Value {
    let mut fields = describe(call, cwd);
    fields.insert("sessionUpdate".to_owned(), "tool_call".into());
    fields.insert("status".to_owned(), status.into());
    Value::Object(fields)
}

/// The fields that say what a call is.
pub(super) fn describe(call: &ToolCall, cwd: &Path) -> Map<String, Value> {
    let input = Value::Object(call.arguments.clone());
    let cwd_text = cwd.to_string_lossy();
    let seen =
        Seen::classify(&ReportedCall { host: OWN_TOOLS, tool: &call.name, input: &input, cwd: &cwd_text, home: None });
    let line = call.arguments.get("line").or_else(|| call.arguments.get("offset")).and_then(Value::as_u64);
    let locations: Vec<Value> = seen
        .paths
        .iter()
        .filter(|path| !path.glob && seen.kind != ToolKind::Execute)
        .map(|path| match line {
            Some(line) => json!({"path": path.path, "line": line}),
            None => json!({"path": path.path}),
        })
        .collect();
    let mut fields = Map::new();
    fields.insert("toolCallId".to_owned(), call.id.as_str().into());
    fields.insert("title".to_owned(), title(call, &seen).into());
    fields.insert("kind".to_owned(), kind(&seen).into());
    fields.insert("locations".to_owned(), locations.into());
    fields.insert("rawInput".to_owned(), input);
    if let Some(diff) = diff(call, &seen) {
        fields.insert("content".to_owned(), json!([diff]));
    }
    fields
}

/// A call that runs.
pub(super) fn started(id: &str) -> Value {
    json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "in_progress"})
}

/// What a call has printed so far.
pub(super) fn printed(id: &str, text: &str) -> Value {
    json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "content": [content(text)]})
}

/// A call that has its outcome. A change that was made stays visible as such.
pub(super) fn ended(result: &ToolResult, made: Option<&ToolCall>, cwd: &Path) -> Value {
    let succeeded = result.status == ResultStatus::Succeeded;
    let status = if succeeded { "completed" } else { "failed" };
    let shown = cut(&result.text);
    let diff = made.filter(|_| succeeded).and_then(|call| describe(call, cwd).remove("content"));
    let content = diff.unwrap_or_else(|| json!([content(shown)]));
    json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": result.call,
        "status": status,
        "content": content,
        "rawOutput": {"status": result.status, "text": shown},
    })
}

fn content(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text}})
}

fn cut(text: &str) -> &str {
    if text.len() <= MAX_SHOWN_BYTES {
        text
    } else {
        text.get(..text.floor_char_boundary(MAX_SHOWN_BYTES)).unwrap_or_default()
    }
}

fn kind(seen: &Seen) -> &'static str {
    match seen.kind {
        ToolKind::Read => "read",
        ToolKind::Search => "search",
        ToolKind::Write if seen.paths.iter().all(|path| path.access == Access::Delete) && !seen.paths.is_empty() => {
            "delete"
        }
        ToolKind::Write => "edit",
        ToolKind::Execute => "execute",
        ToolKind::Fetch => "fetch",
        ToolKind::Agent | ToolKind::Mcp | ToolKind::Other => "other",
    }
}

fn title(call: &ToolCall, seen: &Seen) -> String {
    let about = match (&seen.command, seen.paths.first()) {
        (Some(command), _) => command.lines().next().unwrap_or_default().to_owned(),
        (None, Some(path)) => format!("{} {}", call.name, path.path),
        (None, None) => call.name.clone(),
    };
    about.chars().take(MAX_TITLE_CHARS).collect()
}

/// What an edit changes, where the arguments say it.
fn diff(call: &ToolCall, seen: &Seen) -> Option<Value> {
    if seen.kind != ToolKind::Write {
        return None;
    }
    let path = &seen.paths.first()?.path;
    let text = |names: &[&str]| names.iter().find_map(|name| call.arguments.get(*name)?.as_str());
    let new = text(&["content", "new_text", "new_string", "new"])?;
    let old = text(&["old_text", "old_string", "old"]);
    Some(json!({"type": "diff", "path": path, "oldText": old, "newText": new}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(name: &str, arguments: Value) -> ToolCall {
        ToolCall { id: "c".into(), name: name.to_owned(), arguments: arguments.as_object().unwrap().clone() }
    }

    #[test]
    fn calls_have_kinds_places_and_changes() {
        let cwd = Path::new("/repo");
        let edit = call(&made("edit_file", json!({"path": "a.rs", "old_text": "x", "new_text": "y"})), cwd, "pending");
        assert_eq!(edit["kind"], "edit");
        assert_eq!(edit["locations"], json!([{"path": "/repo/a.rs"}]));
        let diff = json!({"type": "diff", "path": "/repo/a.rs", "oldText": "x", "newText": "y"});
        assert_eq!(edit["content"], json!([diff]));
        let shell = call(&made("run_shell", json!({"command": "cargo test\n# x"})), cwd, "pending");
        assert_eq!((shell["kind"].as_str(), shell["title"].as_str()), (Some("execute"), Some("cargo test")));
        let read = call(&made("read_file", json!({"path": "/x/y", "line": 7})), cwd, "pending");
        assert_eq!(read["locations"], json!([{"path": "/x/y", "line": 7}]));
        let other = call(&made("unknown", json!({})), cwd, "pending");
        assert_eq!((other["kind"].as_str(), other["title"].as_str()), (Some("other"), Some("unknown")));
    }

    #[test]
    fn a_refused_change_is_not_shown_as_made() {
        let edit = made("write_file", json!({"path": "a", "content": "x"}));
        let result = |status| ToolResult { call: "c".into(), status, text: "said".into(), images: Vec::new() };
        let done = ended(&result(ResultStatus::Succeeded), Some(&edit), Path::new("/w"));
        assert_eq!((done["status"].as_str(), done["content"][0]["type"].as_str()), (Some("completed"), Some("diff")));
        let denied = ended(&result(ResultStatus::Denied), Some(&edit), Path::new("/w"));
        assert_eq!(denied["status"], "failed");
        assert_eq!(denied["content"][0]["content"]["text"], "said");
    }
}
