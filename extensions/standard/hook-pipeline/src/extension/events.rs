//! The kernel's moments as hook events in our own dialect. Pure.

use dispatch_contracts::conversation::{Chunk, Message, ResultStatus, Role, ToolCall};
use dispatch_contracts::hook::HandlerError;
use dispatch_contracts::hooks::{RequestBefore, ToolAfter, ToolBefore, TurnRef};
use dispatch_hook_module::{EventName, HookEvent};
use serde_json::{Value, json};

/// The dialect of our own agent. Its tool names are looked for in every host's table, ours first.
const HOST: &str = "native";

pub(super) fn session_start(value: &RequestBefore) -> Result<HookEvent, HandlerError> {
    let mut event = event(EventName::SessionStart, &value.turn)?;
    event.source = Some("startup".to_owned());
    event.model = Some(value.request.model.clone());
    Ok(event)
}

pub(super) fn prompt(value: &RequestBefore) -> Result<HookEvent, HandlerError> {
    let mut event = event(EventName::UserPromptSubmit, &value.turn)?;
    event.model = Some(value.request.model.clone());
    event.prompt = value.request.messages.iter().rev().find(|message| message.role == Role::User).map(text_of);
    Ok(event)
}

pub(super) fn before_tool(value: &ToolBefore) -> Result<HookEvent, HandlerError> {
    about_call(EventName::PreToolUse, &value.turn, &value.call)
}

pub(super) fn after_tool(value: &ToolAfter) -> Result<HookEvent, HandlerError> {
    let mut event = about_call(EventName::PostToolUse, &value.turn, &value.call)?;
    let text = &value.result.text;
    event.tool_response = match value.result.status {
        ResultStatus::Succeeded => json!({ "output": text }),
        ResultStatus::Unknown => json!({ "interrupted": true, "output": text }),
        ResultStatus::Failed | ResultStatus::Denied | ResultStatus::NotRun => {
            event.error = Some(text.clone());
            json!({ "is_error": true, "error": text })
        }
    };
    Ok(event)
}

pub(super) fn stop(turn: &TurnRef) -> Result<HookEvent, HandlerError> {
    event(EventName::Stop, turn)
}

fn about_call(name: EventName, turn: &TurnRef, call: &ToolCall) -> Result<HookEvent, HandlerError> {
    let mut event = event(name, turn)?;
    event.tool_name = Some(call.name.clone());
    event.tool_use_id = Some(call.id.to_string());
    event.tool_input = Value::Object(call.arguments.clone());
    Ok(event)
}

/// A folder that cannot be told exactly is an error: rules looked for elsewhere would not be found.
fn event(name: EventName, turn: &TurnRef) -> Result<HookEvent, HandlerError> {
    let workdir = turn.workdir.to_str().filter(|_| turn.workdir.is_absolute());
    let workdir = workdir.ok_or_else(|| HandlerError("the working folder is no absolute path in UTF-8".to_owned()))?;
    let spelling = name.as_str().to_owned();
    let mut event = HookEvent::new(name, HOST, spelling, Value::Null);
    event.session_id = Some(turn.session.to_string());
    event.cwd = Some(workdir.to_owned());
    Ok(event)
}

fn text_of(message: &Message) -> String {
    let texts = message.chunks.iter().filter_map(|chunk| match chunk {
        Chunk::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(workdir: &str) -> TurnRef {
        TurnRef { session: "s".into(), turn: "t".into(), workdir: workdir.into() }
    }

    #[test]
    fn a_folder_that_is_not_known_exactly_is_an_error() {
        for workdir in ["", ".", "project"] {
            assert!(stop(&turn(workdir)).is_err(), "{workdir:?}");
        }
        assert_eq!(stop(&turn("/project")).unwrap().cwd.as_deref(), Some("/project"));
    }

    #[test]
    fn a_result_says_how_the_call_ended() {
        let call = ToolCall { id: "c".into(), name: "run_shell".to_owned(), arguments: serde_json::Map::new() };
        let event = |status| {
            let result = dispatch_contracts::conversation::ToolResult {
                call: "c".into(),
                status,
                text: "words".to_owned(),
                images: Vec::new(),
            };
            after_tool(&ToolAfter { turn: turn("/project"), call: call.clone(), result }).unwrap()
        };
        assert_eq!(event(ResultStatus::Succeeded).tool_response, json!({"output": "words"}));
        assert_eq!(event(ResultStatus::Succeeded).error, None);
        assert_eq!(event(ResultStatus::Failed).error.as_deref(), Some("words"));
        assert_eq!(event(ResultStatus::Unknown).tool_response["interrupted"], true);
    }
}
