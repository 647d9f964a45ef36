//! What the rehearsal says to a history, and which tools it calls.
//!
//! Pure.

use super::action::{FORMS, RehearsedAction, actions};
use super::{report, schema};
use dispatch_contracts::conversation::{Chunk, Message, Role};
use dispatch_contracts::provider::ModelRequest;
use dispatch_contracts::tool::ToolSpec;
use serde_json::{Value, json};

/// The first line of every answer, so that it is not mistaken for a model's.
pub(super) const LABEL: &str = "rehearsal: no model is configured, so this answer is made by rule.";

/// How many letters of a message are quoted.
const QUOTED_LETTERS: usize = 400;

/// Everything of one step.
#[derive(Debug, Default, PartialEq)]
pub(super) struct RehearsedReply {
    pub(super) text: String,
    pub(super) calls: Vec<RehearsedCall>,
}

/// A tool call to make.
#[derive(Debug, PartialEq)]
pub(super) struct RehearsedCall {
    pub(super) tool: String,
    pub(super) arguments: Value,
}

/// The answer to the end of a history.
pub(super) fn reply(request: &ModelRequest) -> RehearsedReply {
    match request.messages.last() {
        Some(last) if last.role == Role::Tool => after_tools(request, last),
        Some(last) => to_user(request, &text_of(last)),
        None => RehearsedReply { text: LABEL.to_owned(), calls: Vec::new() },
    }
}

fn after_tools(request: &ModelRequest, results: &Message) -> RehearsedReply {
    let asked = request.messages.iter().rev().nth(1);
    let mut text = report::report(asked, results);
    let steered = text_of(results);
    if !steered.is_empty() {
        text.push_str(&format!("\n\nMeanwhile you said: \"{}\"", quoted(&steered)));
    }
    RehearsedReply { text, calls: Vec::new() }
}

fn to_user(request: &ModelRequest, message: &str) -> RehearsedReply {
    let mut lines = vec![LABEL.to_owned()];
    let mut calls = Vec::new();
    for action in actions(message) {
        match tool_call(&action, &request.tools) {
            Some(Ok(call)) => {
                lines.push(format!("I call `{}`.", call.tool));
                calls.push(call);
            }
            Some(Err(why)) => lines.push(why),
            None => lines.push(talk(request, &action, message)),
        }
    }
    RehearsedReply { text: lines.join("\n\n"), calls }
}

fn talk(request: &ModelRequest, action: &RehearsedAction, message: &str) -> String {
    match action {
        RehearsedAction::Incomplete { form } => format!("Something is missing; the form is: {form}"),
        RehearsedAction::Recall => {
            let said: Vec<String> = request.messages.iter().filter(|it| it.role == Role::User).map(text_of).collect();
            match said.iter().rev().nth(1) {
                Some(before) => format!("Before this you said: \"{}\"", quoted(before)),
                None => "You have not said anything before this.".to_owned(),
            }
        }
        _ => help(message, &request.tools),
    }
}

fn help(message: &str, tools: &[ToolSpec]) -> String {
    let forms: String = FORMS.iter().map(|form| format!("\n- {form}")).collect();
    let offered = if tools.is_empty() {
        "No tool is offered in this session.".to_owned()
    } else {
        format!("Offered tools: {}.", tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(", "))
    };
    format!(
        "You said: \"{}\"\n\nI understand these, one per line:{forms}\n- what did I say before?\n\n{offered}\n\nFor a real \
         model set model.base_url and model.model, or start a local server such as Ollama.",
        quoted(message)
    )
}

/// The call for an action; `None` if it needs no tool, an error message if the tool does not exist.
fn tool_call(action: &RehearsedAction, tools: &[ToolSpec]) -> Option<Result<RehearsedCall, String>> {
    const PATH: &[&str] = &["path", "file_path", "file", "filename"];
    const PATTERN: &[&str] = &["pattern", "query", "regex", "text", "glob"];
    let (names, values): (&[&str], Vec<(&[&str], &str)>) = match action {
        RehearsedAction::Read { path } => (&["read_file", "read"], vec![(PATH, path)]),
        RehearsedAction::List { path } => {
            let place = path.as_deref().map(|path| (PATH, path));
            (&["list_files", "list_directory", "list"], place.into_iter().collect())
        }
        RehearsedAction::Search { pattern } => (&["search_files", "search", "grep"], vec![(PATTERN, pattern)]),
        RehearsedAction::Find { pattern } => (&["find_files", "glob", "find"], vec![(PATTERN, pattern)]),
        RehearsedAction::Run { command } => (&["run_shell", "shell", "bash"], vec![(&["command", "cmd"], command)]),
        RehearsedAction::Write { path, content } => {
            (&["write_file", "write"], vec![(PATH, path), (&["content", "text"], content)])
        }
        RehearsedAction::Replace { path, old, new } => (
            &["edit_file", "edit"],
            vec![(PATH, path), (&["old_text", "old_string", "old"], old), (&["new_text", "new_string", "new"], new)],
        ),
        RehearsedAction::Todo { text } => return Some(by_schema(tools, "todo", text)),
        RehearsedAction::Call { tool, arguments } => return Some(by_name(tools, tool, arguments)),
        RehearsedAction::Recall | RehearsedAction::Incomplete { .. } | RehearsedAction::Talk => return None,
    };
    let Some(tool) = schema::offered(tools, names) else { return Some(Err(missing(names, tools))) };
    let called = schema::arguments(tool, &values).map(|arguments| RehearsedCall { tool: tool.name.clone(), arguments });
    Some(called.ok_or_else(|| format!("I do not understand the parameters of `{}`.", tool.name)))
}

fn by_schema(tools: &[ToolSpec], name: &str, text: &str) -> Result<RehearsedCall, String> {
    let found = tools.iter().find(|tool| tool.name.contains(name)).ok_or_else(|| missing(&[name], tools))?;
    Ok(RehearsedCall { tool: found.name.clone(), arguments: schema::filled(&found.parameters, text) })
}

fn by_name(tools: &[ToolSpec], name: &str, arguments: &str) -> Result<RehearsedCall, String> {
    let found = schema::offered(tools, &[name]).ok_or_else(|| missing(&[name], tools))?;
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    if !arguments.is_object() {
        return Err(format!(
            "The arguments of `{name}` must be a JSON object, for example {}",
            json!({ "path": "a.txt" })
        ));
    }
    Ok(RehearsedCall { tool: found.name.clone(), arguments })
}

fn missing(names: &[&str], tools: &[ToolSpec]) -> String {
    let wanted = names.first().copied().unwrap_or_default();
    let offered: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let offered = if offered.is_empty() { "none".to_owned() } else { offered.join(", ") };
    format!("That needs the tool `{wanted}`, which is not offered in this session. Offered: {offered}.")
}

fn text_of(message: &Message) -> String {
    let texts = message.chunks.iter().filter_map(|chunk| match chunk {
        Chunk::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED_LETTERS) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
