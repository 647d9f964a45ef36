//! The files that have no single type behind them: state, registry and configuration.

use std::collections::BTreeMap;

use dispatch_hook_module::phase::Phase;
use dispatch_hook_module::{Artifact, Capabilities};
use schemars::JsonSchema;
use serde_json::{Map, Value};

/// The cached state of a session: pointers that may be written twice, never lists or counters.
/// Modules keep their own sections beside these.
#[derive(JsonSchema)]
#[schemars(default)]
#[allow(dead_code, reason = "only its schema is used")]
#[derive(Default, serde::Serialize)]
pub(super) struct StateFile {
    /// The session itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    core: Option<StateCore>,
    /// The plan in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<StatePlan>,
    /// What is known of optional services.
    #[serde(skip_serializing_if = "Option::is_none")]
    cap: Option<Capabilities>,
    /// The active intent.
    #[serde(skip_serializing_if = "Option::is_none")]
    intents: Option<Map<String, Value>>,
    /// Requirements that were met.
    #[serde(skip_serializing_if = "Option::is_none")]
    rlm: Option<Map<String, Value>>,
    /// Reminders that were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Map<String, Value>>,
}

#[derive(JsonSchema, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "only its schema is used")]
struct StateCore {
    /// 8 hex digits.
    #[schemars(default)]
    session_id: Option<String>,
    /// `w001` and on.
    #[schemars(default)]
    work_id: Option<String>,
    /// The number of prompts so far.
    #[schemars(default)]
    last_turn_id: Option<u64>,
    /// Where the work stands.
    #[schemars(default)]
    phase: Option<Phase>,
    /// When it came there, in Unix milliseconds.
    #[schemars(default)]
    phase_ts: Option<i64>,
    /// The phase that blocked work goes back to.
    #[schemars(default)]
    blocked_from: Option<Phase>,
    /// `policy violation`, `validation failure` or `budget cap`.
    #[schemars(default)]
    blocked_by: Option<String>,
    /// Why work is blocked, in words.
    #[schemars(default)]
    blocked_why: Option<String>,
    /// How far the log has been read.
    #[schemars(default)]
    last_event_offset: Option<u64>,
    /// Our id of each subagent of the host.
    #[schemars(default)]
    agents: Option<BTreeMap<String, String>>,
}

#[derive(JsonSchema, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "only its schema is used")]
struct StatePlan {
    /// Where it is.
    #[schemars(default)]
    current_path: Option<String>,
    /// When it was last changed.
    #[schemars(default)]
    mtime: Option<i64>,
    /// SHA-256 of its content.
    #[schemars(default)]
    hash: Option<String>,
    /// `started`, `completed` or `failed` by node.
    #[schemars(default)]
    nodes: Option<BTreeMap<String, String>>,
}

/// Something that a module made or checked.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[allow(dead_code, reason = "only its schema is used")]
pub(super) struct ArtifactRecord {
    /// When, in UTC with milliseconds.
    ts: String,
    /// The invocation it belongs to.
    hook_run_id: String,
    /// The host session.
    session_id: String,
    /// The piece of work.
    work_id: String,
    /// The agent.
    agent_id: String,
    /// The turn.
    turn_id: u64,
    /// The module that says so.
    module: String,
    #[schemars(flatten)]
    artifact: Artifact,
}

/// The configuration: a few settings of the pipeline, and one section for each module.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
pub(super) struct ConfigFile {
    /// What `p.jsonl` keeps of a prompt.
    #[schemars(default)]
    prompts: Option<PromptsKept>,
    /// Secrets of your own.
    #[schemars(default)]
    redact: Option<RedactSection>,
    /// Rules of your own: what to do about a command, a path or a tool.
    #[schemars(default)]
    rules: Vec<crate::own_rules::OwnRule>,
    /// The graph database, if there is one.
    #[schemars(default)]
    neo4j: Option<Neo4jSection>,
    /// The settings of modules, by name.
    #[schemars(flatten)]
    modules: BTreeMap<String, Value>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[allow(dead_code, reason = "only its schema is used")]
enum PromptsKept {
    /// The text, redacted.
    Text,
    /// Only its hash.
    Hash,
}

/// Where the graph database is. Without an address nothing is checked.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is used")]
struct Neo4jSection {
    /// Such as `bolt://localhost:7687`.
    #[schemars(default)]
    url: Option<String>,
    /// Accepted and not used: the check does not log in.
    #[schemars(default)]
    user: Option<String>,
    /// Accepted and not used: the check does not log in.
    #[schemars(default)]
    password_env: Option<String>,
}

#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct RedactSection {
    /// What is taken out of everything that is written.
    #[schemars(default)]
    patterns: Vec<SecretPattern>,
    /// What looks like a secret and is none.
    #[schemars(default)]
    allow: Vec<String>,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum SecretPattern {
    /// A regular expression.
    Regex(String),
    /// One with a name, and words without which it is not tried.
    Named {
        #[schemars(default)]
        name: String,
        regex: String,
        #[schemars(default)]
        keywords: Vec<String>,
    },
}
