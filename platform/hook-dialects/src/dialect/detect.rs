//! Finds the host behind a payload that no command line vouches for.

use dispatch_hook_module::same_name;
use serde_json::Value;

use super::fields::Fields;
use super::hints::Hints;
use super::{
    Dialect, claude_code, cline, codex, copilot_cli, crush, cursor, devin, factory_droid, gemini_cli, goose, kiro,
    opencode, qwen_code, vscode_copilot, windsurf,
};

type Found = Option<&'static Dialect>;

/// Tool names that only Kiro uses.
const KIRO_TOOLS: [&str; 6] = ["execute_bash", "fs_read", "fs_write", "use_aws", "shell", "aws"];

/// Tool names of Devin, whose payloads carry no directory.
const DEVIN_TOOLS: [&str; 10] =
    ["exec", "write", "edit", "apply_patch", "notebook_edit", "read", "grep", "glob", "webfetch", "run_subagent"];

/// The dialect a payload is written in, or `None` if nothing tells.
///
/// An unmistakable payload wins over the environment, which a process may have inherited from an
/// outer agent; the environment wins over likelihood.
#[must_use]
pub fn detect(payload: &Value, event_argument: Option<&str>, hints: &Hints) -> Found {
    let fields = Fields::new(payload.as_object()?);
    by_fields(fields, event_argument, hints)
}

pub(crate) fn by_fields(fields: Fields<'_>, event_argument: Option<&str>, hints: &Hints) -> Found {
    by_mark(fields).or_else(|| by_environment(hints)).or_else(|| by_likelihood(fields, event_argument))
}

/// Whether the host named on the command line is the one that really speaks.
///
/// VS Code and Copilot CLI read the same registration files, so each can start a command that was
/// written for the other; only between these two does the payload overrule the command line.
pub(crate) fn confirm(flagged: &'static Dialect, fields: Fields<'_>, hints: &Hints) -> &'static Dialect {
    let pair = [&vscode_copilot::DIALECT, &copilot_cli::DIALECT];
    if !pair.contains(&flagged) {
        return flagged;
    }
    by_mark(fields)
        .or_else(|| hints.has("COPILOT_CLI").then_some(&copilot_cli::DIALECT))
        .filter(|found| pair.contains(found))
        .unwrap_or(flagged)
}

/// The host by its variables; aliases that several hosts set come last.
pub(crate) fn by_environment(hints: &Hints) -> Found {
    let marks: [(&str, &'static Dialect); 7] = [
        ("CURSOR_VERSION", &cursor::DIALECT),
        ("QWEN_PROJECT_DIR", &qwen_code::DIALECT),
        ("GEMINI_SESSION_ID", &gemini_cli::DIALECT),
        ("FACTORY_PROJECT_DIR", &factory_droid::DIALECT),
        ("DEVIN_PROJECT_DIR", &devin::DIALECT),
        ("CRUSH", &crush::DIALECT),
        ("COPILOT_CLI", &copilot_cli::DIALECT),
    ];
    marks.into_iter().find(|(name, _)| hints.has(name)).map(|(_, dialect)| dialect)
}

/// What only one host writes.
fn by_mark(fields: Fields<'_>) -> Found {
    if fields.has("agent_action_name") {
        return Some(&windsurf::DIALECT);
    }
    if fields.has("hookName") && (fields.has("clineVersion") || fields.has("taskId")) {
        return Some(&cline::DIALECT);
    }
    if fields.has("cursor_version") || (fields.has("conversation_id") && fields.has("generation_id")) {
        return Some(&cursor::DIALECT);
    }
    match event_field(fields) {
        Some(name) => by_named_event(fields, name),
        None => by_unnamed_event(fields),
    }
}

fn event_field(fields: Fields<'_>) -> Option<&str> {
    fields.str("hook_event_name").or_else(|| fields.str("hookEventName"))
}

fn by_named_event(fields: Fields<'_>, name: &str) -> Found {
    const GEMINI_ONLY: [&str; 8] = [
        "BeforeTool",
        "AfterTool",
        "BeforeAgent",
        "AfterAgent",
        "BeforeModel",
        "AfterModel",
        "BeforeToolSelection",
        "PreCompress",
    ];
    if GEMINI_ONLY.contains(&name) {
        return Some(&gemini_cli::DIALECT);
    }
    if let Some(found) = by_transcript(fields) {
        return Some(found);
    }
    let call = fields.str("tool_use_id").unwrap_or_default();
    if call.contains("__vscode-") {
        return Some(&vscode_copilot::DIALECT);
    }
    if fields.has("tool_result") || fields.has("initial_prompt") || numeric_timestamp(fields) {
        return Some(&copilot_cli::DIALECT);
    }
    if fields.has("turn_id") && !fields.has("message_id") {
        return Some(&codex::DIALECT);
    }
    let mode = fields.str("permission_mode").unwrap_or_default();
    if mode == "off" || mode == "spec" || mode.starts_with("auto-") {
        return Some(&factory_droid::DIALECT);
    }
    if call.starts_with("toolu_") {
        return Some(&claude_code::DIALECT);
    }
    name.starts_with(|first: char| first.is_ascii_lowercase()).then_some(&kiro::DIALECT)
}

fn by_transcript(fields: Fields<'_>) -> Found {
    let path = fields.str("transcript_path").or_else(|| fields.str("transcriptPath"))?;
    if path.contains("GitHub.copilot-chat") {
        return Some(&vscode_copilot::DIALECT);
    }
    let folders: [(&str, &'static Dialect); 6] = [
        (".qwen", &qwen_code::DIALECT),
        (".copilot", &copilot_cli::DIALECT),
        (".gemini", &gemini_cli::DIALECT),
        (".codex", &codex::DIALECT),
        (".factory", &factory_droid::DIALECT),
        (".claude", &claude_code::DIALECT),
    ];
    folders
        .into_iter()
        .find(|(folder, _)| path.split(['/', '\\']).any(|part| part == *folder))
        .map(|(_, dialect)| dialect)
}

fn by_unnamed_event(fields: Fields<'_>) -> Found {
    if let Some(name) = fields.str("event") {
        let crush = same_name(name, "PreToolUse") && !fields.has("matcher_context") && !fields.has("working_dir");
        return Some(if crush { &crush::DIALECT } else { &goose::DIALECT });
    }
    if fields.object("event").is_some() || (fields.has("input") && fields.has("output")) {
        return Some(&opencode::DIALECT);
    }
    if fields.str("type") == Some(codex::TURN_COMPLETE) {
        return Some(&codex::DIALECT);
    }
    let camel = fields.has("sessionId") || fields.has("toolName") || fields.has("toolArgs");
    camel.then_some(&copilot_cli::DIALECT)
}

fn numeric_timestamp(fields: Fields<'_>) -> bool {
    fields.value(&["timestamp"]).is_some_and(|timestamp| timestamp.is_number())
}

/// What is left when nothing is certain.
fn by_likelihood(fields: Fields<'_>, event_argument: Option<&str>) -> Found {
    let name = event_field(fields).or(event_argument)?;
    let tool = fields.str("tool_name").or_else(|| fields.str("toolName"));
    let claude_tool = tool.is_some_and(|tool| tool.starts_with(|c: char| c.is_ascii_uppercase()));
    if fields.has("hookEventName") {
        return Some(if fields.has("timestamp") { &vscode_copilot::DIALECT } else { &factory_droid::DIALECT });
    }
    if fields.has("timestamp") {
        return Some(timestamped(fields, name, claude_tool));
    }
    if tool.is_some_and(|tool| KIRO_TOOLS.contains(&tool) || tool.starts_with('@')) {
        return Some(&kiro::DIALECT);
    }
    if !fields.has("cwd") && fields.has("session_id") {
        let devin_tool = |tool: &str| DEVIN_TOOLS.contains(&tool) || tool.starts_with("mcp__");
        if tool.is_none_or(devin_tool) {
            return Some(&devin::DIALECT);
        }
    }
    if fields.has("transcript_path") {
        let unsaved = fields.value(&["transcript_path"]).is_none();
        return Some(if unsaved { &codex::DIALECT } else { &claude_code::DIALECT });
    }
    if claude_tool || fields.has("permission_mode") || fields.has("prompt_id") {
        return Some(&claude_code::DIALECT);
    }
    let kiro_shape = fields.has("assistant_response")
        || (tool.is_none() && !fields.has("source") && fields.has("session_id"))
        || fields.object("tool_response").is_some_and(|response| response.has("success") && response.has("result"));
    if kiro_shape {
        return Some(&kiro::DIALECT);
    }
    tool.map(|_| &vscode_copilot::DIALECT)
}

/// VS Code and Copilot CLI stamp their payloads alike; Copilot names its tools as Claude does and
/// leaves the transcript out of the first events of a session.
fn timestamped(fields: Fields<'_>, name: &str, claude_tool: bool) -> &'static Dialect {
    let copilot_only =
        ["stop_reason", "agent_name", "error_context", "recoverable"].into_iter().any(|key| fields.has(key));
    let early = ["SessionStart", "UserPromptSubmit"].contains(&name);
    let unfired = ["SessionEnd", "ErrorOccurred", "PermissionRequest", "PostToolUseFailure"].contains(&name);
    if copilot_only || claude_tool || unfired || (early && !fields.has("transcript_path")) {
        &copilot_cli::DIALECT
    } else {
        &vscode_copilot::DIALECT
    }
}
