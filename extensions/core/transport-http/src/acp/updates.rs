//! Pieces of a reply as updates for an editor, while they come and when a session is opened again.
//!
//! Pure.

use super::tool;
use crate::dispatch_follower::ReplyEvent;
use dispatch_contracts::conversation::{Role, ToolCall};
use dispatch_contracts::ids::CallId;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How much of what a running tool prints is shown.
const MAX_PRINTED_BYTES: usize = 4 * 1024;
/// A running tool's output is shown again when this much is new: an update holds all that is shown.
const PRINT_STEP_BYTES: usize = 1024;

/// Turns pieces into updates; remembers calls, because their end does not say what they were.
pub(super) struct ReplyUpdates {
    cwd: PathBuf,
    calls: BTreeMap<CallId, ToolCall>,
    printed: BTreeMap<CallId, ToolOutputTail>,
}

#[derive(Default)]
struct ToolOutputTail {
    tail: String,
    untold_bytes: usize,
    is_shown: bool,
}

impl ReplyUpdates {
    pub(super) fn new(cwd: PathBuf) -> Self {
        Self { cwd, calls: BTreeMap::new(), printed: BTreeMap::new() }
    }

    /// The update for one piece, if it shows.
    pub(super) fn update_for(&mut self, role: Role, reply: &ReplyEvent) -> Option<Value> {
        match reply {
            ReplyEvent::Text { text, .. } if role == Role::User => Some(said("user_message_chunk", text)),
            ReplyEvent::Text { text, .. } => Some(said("agent_message_chunk", text)),
            ReplyEvent::Thought { text, .. } => Some(said("agent_thought_chunk", text)),
            ReplyEvent::Called(call) => {
                self.calls.insert(call.id.clone(), call.clone());
                Some(tool::call(call, &self.cwd, "pending"))
            }
            ReplyEvent::Started(call) => Some(tool::started(call.as_str())),
            ReplyEvent::Printed { call, text } => self.print(call, text),
            ReplyEvent::Ended(result) => {
                self.printed.remove(&result.call);
                Some(tool::ended(result, self.calls.remove(&result.call).as_ref(), &self.cwd))
            }
            ReplyEvent::Notice(text) => Some(said("agent_thought_chunk", &format!("{text}\n"))),
            ReplyEvent::Asked(_) => None,
        }
    }

    fn print(&mut self, call: &CallId, text: &str) -> Option<Value> {
        let printed = self.printed.entry(call.clone()).or_default();
        printed.tail.push_str(text);
        let excess = printed.tail.len().saturating_sub(MAX_PRINTED_BYTES);
        printed.tail.drain(..printed.tail.ceil_char_boundary(excess));
        printed.untold_bytes += text.len();
        if printed.is_shown && printed.untold_bytes < PRINT_STEP_BYTES {
            return None;
        }
        printed.is_shown = true;
        printed.untold_bytes = 0;
        Some(tool::printed(call.as_str(), &printed.tail))
    }
}

fn said(kind: &str, text: &str) -> Value {
    json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chatty_tool_is_told_in_bounded_pieces() {
        let mut updates = ReplyUpdates::new(PathBuf::from("/w"));
        let line = "0123456789\u{e9}\n".repeat(8);
        let mut told_bytes = 0;
        for _ in 0..1_000 {
            let reply = ReplyEvent::Printed { call: "c".into(), text: line.clone() };
            if let Some(update) = updates.update_for(Role::Tool, &reply) {
                let shown = update["content"][0]["content"]["text"].as_str().unwrap().len();
                assert!(shown <= MAX_PRINTED_BYTES);
                told_bytes += shown;
            }
        }
        assert!(told_bytes <= 5 * 1_000 * line.len(), "an update repeats what is shown, but not for every line");
    }
}
