//! What a script module gets as `ctx`; the functions it also has cannot be told in a schema.

use dispatch_hook_module::{Capabilities, Ids};
use schemars::JsonSchema;
use serde_json::{Map, Value};

/// The context of one hook event.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
pub(super) struct Ctx {
    /// Who and when.
    ids: Ids,
    /// What happened.
    event: CtxEvent,
    /// Where everything is; absolute paths.
    paths: CtxPaths,
    /// The session's state; read only.
    state: super::files::StateFile,
    /// The module's own section of `config.json`.
    config: Map<String, Value>,
    /// The module's own folders.
    feature: CtxFeature,
    /// What is known of optional services.
    cap: Capabilities,
    /// How much time there is.
    timers: CtxTimers,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[allow(dead_code, reason = "only its schema is used")]
struct CtxEvent {
    /// One of the eight events, or the host's own name for another.
    name: String,
    /// The dialect it came in.
    host: String,
    /// The tool, as the host calls it.
    tool_name: Option<String>,
    /// The tool's input in force.
    tool_input: Value,
    /// The host's id of this one call.
    tool_use_id: Option<String>,
    /// What the tool is for.
    kind: Option<CtxKind>,
    /// What the call touches.
    paths: Option<Vec<CtxPath>>,
    /// The command line it runs.
    command: Option<String>,
    /// What the tool returned.
    tool_response: Value,
    /// The user's prompt.
    prompt: Option<String>,
    /// Where the host keeps the conversation.
    transcript_path: Option<String>,
    /// The working directory.
    cwd: Option<String>,
    /// The payload as received.
    raw: Value,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[allow(dead_code, reason = "only its schema is used")]
enum CtxKind {
    Read,
    Search,
    Write,
    Execute,
    Fetch,
    Agent,
    Mcp,
    Other,
}

#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct CtxPath {
    /// Absolute.
    path: String,
    /// How it is touched.
    access: CtxAccess,
    /// Whether it is a pattern.
    #[schemars(default)]
    glob: bool,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[allow(dead_code, reason = "only its schema is used")]
enum CtxAccess {
    Read,
    Write,
    Create,
    Delete,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[allow(dead_code, reason = "only its schema is used")]
struct CtxPaths {
    repo_root: String,
    hooks_root: String,
    work_root: String,
    session_root: String,
    state_file: String,
    events_file: String,
    registry_file: String,
    config_file: String,
    policy_file: String,
    followup_rules_file: String,
    manifest_file: String,
    schema_dir: String,
}

#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct CtxFeature {
    root: String,
    logs: String,
    output: String,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[allow(dead_code, reason = "only its schema is used")]
struct CtxTimers {
    /// When the invocation began, in Unix milliseconds.
    start_ms: i64,
    /// How long it may take.
    budget_ms: u64,
}
