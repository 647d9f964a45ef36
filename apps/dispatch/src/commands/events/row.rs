//! One record as a line for a person.

use dispatch_hook_module::{Record, RecordType};

use crate::plain::one_line;
use ext_hook_pipeline::contract::{DecisionReport, ToolReport};
use serde_json::Value;
use std::path::Path;

/// What is shown of a command, a path or a prompt.
const SUBJECT_CHARS: usize = 100;

/// Whether a record has a line of its own. Those left out only repeat what the event's own line says.
pub(super) fn is_shown(kind: &RecordType) -> bool {
    use RecordType as R;
    !matches!(kind, R::ToolCall | R::ToolResult | R::SessionStarted | R::Compaction | R::Stop)
}

/// The line, without its day.
pub(super) fn row(record: &Record, root: &Path) -> String {
    let time = record.ts.get(11..23).unwrap_or(&record.ts);
    let (decision, took, subject) = match record.kind {
        RecordType::HookRun => (verdict(record), took(record), run_subject(record, root)),
        _ => ("·".to_owned(), String::new(), format!("{}: {}", record.kind, note(record))),
    };
    let session = one_line(&record.session_id, 8);
    let event = one_line(&record.event, 16);
    format!("{time}  {session:<8}  {event:<16}  {decision:<14}  {took:>9}  {subject}").trim_end().to_owned()
}

/// The decision and its rule.
fn verdict(record: &Record) -> String {
    let decision = record.decision.map_or("?", |decision| decision.as_str());
    let code = record.data.get("code").and_then(Value::as_str).map(|code| format!(" {}", one_line(code, 16)));
    format!("{decision}{}", code.unwrap_or_default())
}

fn took(record: &Record) -> String {
    record.ms.map(|ms| format!("{ms:.2} ms")).unwrap_or_default()
}

fn run_subject(record: &Record, root: &Path) -> String {
    let again = if record.data.get("redelivered").is_some() { " (delivered again)" } else { "" };
    let tool = DecisionReport::from_record(record).and_then(|report| report.tool);
    let named = || record.data.get("tool").and_then(Value::as_str).map(|name| one_line(name, SUBJECT_CHARS));
    let subject = tool.map(|tool| subject(&tool, root)).or_else(named).unwrap_or_default();
    let canary = if is_canary(record) { " (canary)" } else { "" };
    format!("{subject}{again}{canary}")
}

/// Whether `dispatch canary` made the call.
fn is_canary(record: &Record) -> bool {
    record.data.get("canary").and_then(Value::as_bool) == Some(true)
}

/// A tool call in short: the tool and its command, else what it touches.
pub(crate) fn subject(tool: &ToolReport, root: &Path) -> String {
    let about = match (&tool.command, tool.paths.as_slice()) {
        (Some(command), _) => command.clone(),
        (None, []) => return one_line(&tool.name, SUBJECT_CHARS),
        (None, [first, rest @ ..]) => {
            let path = Path::new(&first.path);
            let shown = path.strip_prefix(root).unwrap_or(path).display().to_string();
            let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            format!("{shown}{more}")
        }
    };
    format!("{}: {}", one_line(&tool.name, SUBJECT_CHARS), one_line(&about, SUBJECT_CHARS))
}

/// What a record says, in words where its facts have some.
fn note(record: &Record) -> String {
    let text = |name: &str| record.data.get(name).and_then(Value::as_str);
    let said = match record.kind {
        RecordType::PhaseChanged => {
            let change = format!("{} -> {}", text("from").unwrap_or("?"), text("to").unwrap_or("?"));
            text("reason").map_or(change.clone(), |reason| format!("{change}, {reason}"))
        }
        RecordType::ExceptionUsed => {
            let until = text("until").map(|until| format!(" until {until}")).unwrap_or_default();
            format!("{}{until} {}", text("code").unwrap_or("?"), text("reason").unwrap_or_default())
        }
        _ => ["message", "error", "text", "node", "intent", "rule", "path"]
            .into_iter()
            .find_map(text)
            .map_or_else(|| record.data.to_string(), str::to_owned),
    };
    one_line(&format!("{said} [{}]", record.module), SUBJECT_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(kind: &str, more: Value) -> Record {
        let mut line = json!({
            "v": 1, "id": "01A", "ts": "2026-01-02T03:04:05.678Z", "hookRunId": "PreToolUse-1-5", "sessionId": "a3f0c812",
            "workId": "w001", "agentId": "u00", "turnId": 1, "event": "PreToolUse", "type": kind, "module": "pipeline",
        });
        for (name, value) in more.as_object().cloned().unwrap_or_default() {
            line[name] = value;
        }
        Record::parse(line.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn a_run_shows_what_was_decided_about_what() {
        let denied = record(
            "HOOK_RUN",
            json!({"decision": "deny", "ms": 0.4249, "data": {
                "host": "claude-code", "code": "UB01", "tool": "Bash",
                "subject": {"toolName": "Bash", "toolInput": {"command": "rm -rf\n /"}, "cwd": "/repo", "hostEvent": "PreToolUse"},
            }}),
        );
        let expected = "03:04:05.678  a3f0c812  PreToolUse        deny UB01         0.42 ms  Bash: rm -rf /";
        assert_eq!(row(&denied, Path::new("/repo")), expected);
        let write = record(
            "HOOK_RUN",
            json!({"decision": "allow", "ms": 1.0, "data": {
                "host": "claude-code", "redelivered": true,
                "subject": {"toolName": "Write", "toolInput": {"file_path": "/repo/a.rs", "content": ""}, "cwd": "/repo", "hostEvent": "PreToolUse"},
            }}),
        );
        assert!(row(&write, Path::new("/repo")).ends_with("allow             1.00 ms  Write: a.rs (delivered again)"));
    }

    #[test]
    fn a_record_with_nothing_in_it_still_has_a_line() {
        let bare = record("HOOK_RUN", json!({}));
        assert_eq!(row(&bare, Path::new("/")), "03:04:05.678  a3f0c812  PreToolUse        ?");
        let strange = record("MINE", json!({"ts": "", "sessionId": "\u{1b}[31m", "data": [1]}));
        assert!(!row(&strange, Path::new("/")).contains('\u{1b}'));
    }

    #[test]
    fn notes_say_it_in_words() {
        let cases = [
            (
                "PHASE_CHANGED",
                json!({"from": "PLANNING", "to": "BLOCKED", "reason": "why"}),
                "PLANNING -> BLOCKED, why [pipeline]",
            ),
            ("EXCEPTION_USED", json!({"code": "UB01", "until": "soon", "reason": "x"}), "UB01 until soon x [pipeline]"),
            ("WARNING", json!({"message": "careful"}), "careful [pipeline]"),
            ("MINE", json!({"a": 1}), "{\"a\":1} [pipeline]"),
        ];
        for (kind, data, expected) in cases {
            assert_eq!(note(&record(kind, json!({ "data": data }))), expected);
        }
    }
}
