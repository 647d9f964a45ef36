//! A hook event without its host: what every module sees, whatever dialect it arrived in.

use std::fmt;

use serde_json::Value;

use crate::digest::sha256_start;

/// Length of a host session id in hex digits.
const SID_HEX_DIGITS: usize = 8;

/// The hook events every module can rely on, and a place for the ones only some hosts fire.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum EventName {
    /// A conversation begins or is resumed.
    SessionStart,
    /// The user sent a prompt.
    UserPromptSubmit,
    /// A tool is about to run.
    PreToolUse,
    /// A tool ran.
    PostToolUse,
    /// The conversation is about to be compacted.
    PreCompact,
    /// The agent is about to end its turn.
    Stop,
    /// A subagent begins.
    SubagentStart,
    /// A subagent is about to end.
    SubagentStop,
    /// An event outside the eight, under the host's own name.
    Other(String),
}

impl EventName {
    /// The eight events that have a name of their own.
    pub const KNOWN: [Self; 8] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::PreCompact,
        Self::Stop,
        Self::SubagentStart,
        Self::SubagentStop,
    ];

    /// The name as modules and registrations write it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::PreCompact => "PreCompact",
            Self::Stop => "Stop",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
            Self::Other(name) => name,
        }
    }

    /// One of the eight, compared without case, `_` and `-`; `None` for anything else.
    #[must_use]
    pub fn known(name: &str) -> Option<Self> {
        Self::KNOWN.into_iter().find(|known| same_name(known.as_str(), name))
    }

    /// Whether this is the end of an agent's or a subagent's turn.
    #[must_use]
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Stop | Self::SubagentStop)
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Compares two event names the way hosts spell them: `pre_tool_use` is `PreToolUse`.
#[must_use]
pub fn same_name(left: &str, right: &str) -> bool {
    fn letters(text: &str) -> impl Iterator<Item = u8> + '_ {
        text.bytes().filter(|byte| !matches!(byte, b'_' | b'-')).map(|byte| byte.to_ascii_lowercase())
    }
    left == right || letters(left).eq(letters(right))
}

/// One hook event, host-neutral.
#[derive(Debug, Clone, PartialEq)]
pub struct HookEvent {
    /// Which event this is.
    pub name: EventName,
    /// The id of the dialect it arrived in.
    pub host: &'static str,
    /// The event as the host spells it.
    pub host_event: String,
    /// The host's own session id.
    pub session_id: Option<String>,
    /// The tool as the host names it.
    pub tool_name: Option<String>,
    /// Whose tool names `tool_name` uses, where they are not the host's own.
    pub tool_table: Option<&'static str>,
    /// The server behind the tool, for hosts that name it apart from the tool.
    pub mcp_server: Option<String>,
    /// The tool's input; `Null` for events without a tool, text for a bare patch.
    pub tool_input: Value,
    /// The host's id of this one tool call.
    pub tool_use_id: Option<String>,
    /// What the tool returned; `Null` when the host did not say.
    pub tool_response: Value,
    /// The failure a host reports in place of a tool's result.
    pub error: Option<String>,
    /// The user's prompt.
    pub prompt: Option<String>,
    /// Where the host keeps the conversation.
    pub transcript_path: Option<String>,
    /// The working directory of the session.
    pub cwd: Option<String>,
    /// Whether this stop was itself caused by a stop hook.
    pub stop_hook_active: bool,
    /// The subagent's id.
    pub agent_id: Option<String>,
    /// The subagent's kind or name.
    pub agent_type: Option<String>,
    /// The host's permission mode.
    pub permission_mode: Option<String>,
    /// Why the session started or ended, or what set off the compaction.
    pub source: Option<String>,
    /// The model in use.
    pub model: Option<String>,
    /// What the agent said last, at the end of a turn.
    pub last_message: Option<String>,
    /// When the host says it happened, as the host writes it.
    pub timestamp: Option<String>,
    /// The payload as received.
    pub raw: Value,
}

impl HookEvent {
    /// An event with nothing but its identity and its payload.
    #[must_use]
    pub fn new(name: EventName, host: &'static str, host_event: String, raw: Value) -> Self {
        Self {
            name,
            host,
            host_event,
            session_id: None,
            tool_name: None,
            tool_table: None,
            mcp_server: None,
            tool_input: Value::Null,
            tool_use_id: None,
            tool_response: Value::Null,
            error: None,
            prompt: None,
            transcript_path: None,
            cwd: None,
            stop_hook_active: false,
            agent_id: None,
            agent_type: None,
            permission_mode: None,
            source: None,
            model: None,
            last_message: None,
            timestamp: None,
            raw,
        }
    }
}

impl HookEvent {
    /// Whose tool names `tool_name` uses.
    #[must_use]
    pub fn tool_host(&self) -> &'static str {
        self.tool_table.unwrap_or(self.host)
    }
}

/// The short id of the host session: every process of one session finds the same one by itself.
#[must_use]
pub fn sid(event: &HookEvent) -> String {
    match (&event.session_id, &event.transcript_path) {
        (Some(name), _) | (None, Some(name)) => sha256_start(name.as_bytes(), SID_HEX_DIGITS),
        (None, None) => {
            let place = format!("{}{}", event.cwd.as_deref().unwrap_or_default(), event.host);
            sha256_start(place.as_bytes(), SID_HEX_DIGITS)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> HookEvent {
        HookEvent::new(EventName::Stop, "claude-code", "Stop".to_owned(), Value::Null)
    }

    #[test]
    fn sid_is_the_start_of_the_sha256_of_the_session_id() {
        let mut with_session = event();
        with_session.session_id = Some("abc".to_owned());
        assert_eq!(sid(&with_session), "ba7816bf");
    }

    #[test]
    fn sid_falls_back_to_transcript_then_to_directory_and_host() {
        let mut by_transcript = event();
        by_transcript.transcript_path = Some("abc".to_owned());
        assert_eq!(sid(&by_transcript), "ba7816bf");

        let mut by_directory = event();
        by_directory.cwd = Some("/home/dev/shop".to_owned());
        let mut other_host = by_directory.clone();
        other_host.host = "codex";
        assert_ne!(sid(&by_directory), sid(&other_host));
        assert_eq!(sid(&by_directory).len(), SID_HEX_DIGITS);
    }

    #[test]
    fn known_names_ignore_case_and_separators() {
        for spelling in ["PreToolUse", "preToolUse", "pre_tool_use", "pre-tool-use"] {
            assert_eq!(EventName::known(spelling), Some(EventName::PreToolUse));
        }
        assert_eq!(EventName::known("agentStop"), None);
        assert_eq!(EventName::known(""), None);
    }
}
