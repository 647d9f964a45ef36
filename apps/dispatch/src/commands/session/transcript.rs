//! A conversation as a person reads it.
//!
//! Pure.

use crate::plain::{lines, one_line};
use dispatch_contracts::conversation::{Chunk, Message, ResultStatus, Role};
use ext_conversation_store::contract::History;

/// How much of one text is shown.
const TEXT_LINES: usize = 400;
/// How much of a tool's answer is shown.
const RESULT_LINES: usize = 6;
/// The longest line about a call.
const CALL_CHARS: usize = 160;

/// The whole history.
pub(crate) fn told(history: &History) -> String {
    let messages = history.messages();
    if messages.is_empty() {
        return format!("no messages in {} yet", one_line(&history.session.label, CALL_CHARS));
    }
    messages.iter().map(message).collect::<Vec<_>>().join("\n\n")
}

/// What the person said last, and everything behind it; none in an empty history.
pub(crate) fn last_exchange(history: &History) -> Option<String> {
    let messages = history.messages();
    let from = messages.iter().rposition(|message| message.role == Role::User)?;
    let last = messages.iter().skip(from).map(message);
    Some(last.collect::<Vec<_>>().join("\n\n"))
}

fn message(message: &Message) -> String {
    let name = match message.role {
        Role::User => "you",
        Role::Assistant => "agent",
        Role::Tool => "tools",
    };
    let mut out = vec![format!("{name}:")];
    out.extend(message.chunks.iter().flat_map(|chunk| self::chunk(chunk, message.role)));
    out.join("\n")
}

fn chunk(chunk: &Chunk, role: Role) -> Vec<String> {
    let indented = |line: String| format!("  {line}").trim_end().to_owned();
    match chunk {
        Chunk::Text { text } if role == Role::Tool => vec![format!("  you, meanwhile: {}", one_line(text, CALL_CHARS))],
        Chunk::Text { text } => bounded(text, TEXT_LINES).into_iter().map(indented).collect(),
        Chunk::Reasoning { .. } => Vec::new(),
        Chunk::Image(image) => vec![format!("  (a picture, {})", one_line(&image.media_type, CALL_CHARS))],
        Chunk::ToolCall(call) => {
            let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
            vec![format!("  ● {} {}", one_line(&call.name, CALL_CHARS), one_line(&arguments, CALL_CHARS))]
        }
        Chunk::ToolResult(result) => {
            let status = match result.status {
                ResultStatus::Succeeded => "done",
                ResultStatus::Failed => "failed",
                ResultStatus::Denied => "refused",
                ResultStatus::NotRun => "did not run",
                ResultStatus::Unknown => "unknown whether it ran",
            };
            let text = bounded(&result.text, RESULT_LINES).into_iter().map(|line| format!("  │ {line}"));
            std::iter::once(format!("  {status}")).chain(text).collect()
        }
    }
}

/// The first lines, and how many more there are.
fn bounded(text: &str, max_lines: usize) -> Vec<String> {
    let mut shown = lines(text, max_lines);
    let more = text.lines().count().saturating_sub(max_lines);
    if more > 0 {
        shown.push(format!("({more} more lines)"));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_contracts::conversation::{ToolCall, ToolResult};
    use serde_json::json;

    #[test]
    fn a_conversation_reads_as_one() {
        let call = ToolCall {
            id: "c".into(),
            name: "read_file".to_owned(),
            arguments: json!({ "path": "a" }).as_object().cloned().unwrap(),
        };
        let text: String = (0..9).map(|number| format!("{number}\n")).collect();
        let result = ToolResult { call: "c".into(), status: ResultStatus::Succeeded, text, images: Vec::new() };
        let told = [
            Message::text(Role::User, "read a\u{1b}[2J"),
            Message { role: Role::Assistant, chunks: vec![Chunk::ToolCall(call)] },
            Message { role: Role::Tool, chunks: vec![Chunk::ToolResult(result)] },
        ];
        let told = told.iter().map(message).collect::<Vec<_>>().join("\n");
        let expected = "you:\n  read a\u{fffd}[2J\nagent:\n  ● read_file {\"path\":\"a\"}\ntools:\n  done\n  │ 0\n  │ 1\n  \
                        │ 2\n  │ 3\n  │ 4\n  │ 5\n  │ (3 more lines)";
        assert_eq!(told, expected);
    }
}
