//! What hosts send, as far as they agree: every field in both spellings, none of them certain.

use schemars::JsonSchema;
use serde_json::Value;

/// The payload of a hook event. Hosts differ in which fields they send and how they spell them, so a
/// field is missing or `null` wherever a host has nothing to say, and every other field is passed on.
#[derive(JsonSchema)]
#[schemars(extend("minProperties" = 1))]
#[allow(dead_code, reason = "only its schema is used")]
pub(super) struct HookInput {
    /// The event, in the host's spelling.
    #[schemars(default)]
    hook_event_name: Option<String>,
    /// The same, in older payloads.
    #[schemars(default, rename = "hookEventName")]
    hook_event_name_camel: Option<String>,
    /// The same, of hosts that call it so.
    #[schemars(default, rename = "hookName")]
    hook_name: Option<String>,
    /// The same, of hosts that call it so.
    #[schemars(default)]
    agent_action_name: Option<String>,
    /// The conversation.
    #[schemars(default)]
    session_id: Option<String>,
    /// The same, in camel case.
    #[schemars(default, rename = "sessionId")]
    session_id_camel: Option<String>,
    /// Where the conversation is kept.
    #[schemars(default)]
    transcript_path: Option<String>,
    /// The working directory.
    #[schemars(default)]
    cwd: Option<String>,
    /// When it happened, as text or as milliseconds.
    #[schemars(default)]
    timestamp: Option<TextOrNumber>,
    /// The tool, as the host calls it.
    #[schemars(default)]
    tool_name: Option<String>,
    /// The same, in camel case.
    #[schemars(default, rename = "toolName")]
    tool_name_camel: Option<String>,
    /// The tool's input: an object, or text for tools that take a bare patch.
    #[schemars(default)]
    tool_input: Option<ObjectOrText>,
    /// The same, in camel case.
    #[schemars(default, rename = "toolArgs")]
    tool_args: Option<ObjectOrText>,
    /// The host's id of this one call.
    #[schemars(default)]
    tool_use_id: Option<String>,
    /// What the tool returned.
    #[schemars(default)]
    tool_response: Option<Value>,
    /// The user's prompt.
    #[schemars(default)]
    prompt: Option<String>,
    /// Whether this stop was caused by a stop hook.
    #[schemars(default)]
    stop_hook_active: Option<bool>,
    /// The subagent.
    #[schemars(default)]
    agent_id: Option<String>,
    /// The subagent's kind.
    #[schemars(default)]
    agent_type: Option<String>,
    /// The host's permission mode.
    #[schemars(default)]
    permission_mode: Option<String>,
    /// Why the session started.
    #[schemars(default)]
    source: Option<Value>,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum TextOrNumber {
    Text(String),
    Number(f64),
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum ObjectOrText {
    Object(serde_json::Map<String, Value>),
    Text(String),
}
