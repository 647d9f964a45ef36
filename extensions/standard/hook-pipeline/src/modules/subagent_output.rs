//! What modules that ask subagents for files share: where the files go, and how often a stop is blocked.
//!
//! Pure.

use std::path::PathBuf;

use dispatch_hook_dialects::dialect::{Abilities, by_name};
use dispatch_hook_module::{Context, Decision, Record, RecordType};
use dispatch_os::paths::safe_file_name;
use serde_json::Value;

/// The largest file that is read from a subagent.
pub(super) const FILE_LIMIT_BYTES: u64 = 1024 * 1024;
const MAX_TYPE_BYTES: usize = 40;

/// The folder of one subagent.
pub(super) struct SubagentOutputFolder {
    /// Below the module's output folder, with `/` between the parts.
    pub(super) below_output: String,
    /// As an absolute path.
    pub(super) path: PathBuf,
    /// Below the workspace, as the subagent sees it.
    pub(super) shown: String,
}

impl SubagentOutputFolder {
    /// The folder of the subagent that the event is about.
    pub(super) fn of(ctx: &Context<'_>, agent_type: &str) -> Self {
        let below_output = format!("sa/{}/{}", type_name(agent_type), safe_file_name(&ctx.ids.agent_id));
        let path = ctx.folders.output.join(&below_output);
        let shown = ctx.paths.repo_relative(&path).unwrap_or_else(|| path.to_string_lossy().into_owned());
        Self { below_output, path, shown }
    }
}

/// A type of agent as the name of a folder: unchanged where possible, else made safe.
fn type_name(agent_type: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let harmless = !agent_type.is_empty() && agent_type.len() <= MAX_TYPE_BYTES && agent_type.bytes().all(plain);
    if harmless && !agent_type.starts_with('-') { agent_type.to_owned() } else { safe_file_name(agent_type) }
}

/// Whether the stop of this subagent can be blocked once more for this reason.
pub(super) fn can_block(ctx: &Context<'_>, code: &str, max_blocks: usize) -> bool {
    let able = by_name(ctx.event.host)
        .is_some_and(|dialect| dialect.support().abilities(&ctx.event.host_event).has(Abilities::DENY));
    able && !ctx.event.stop_hook_active && times_blocked(ctx, code) < max_blocks
}

/// How often the stop was blocked since the subagent began, from the log.
fn times_blocked(ctx: &Context<'_>, code: &str) -> usize {
    let own = |record: &&Record| record.agent_id == ctx.ids.agent_id;
    let records = ctx.session.history().iter().rev().filter(own);
    let this_run = records.take_while(|record| record.kind != RecordType::SubagentStarted);
    let blocked = |record: &&Record| {
        let text = |field: &str| record.data.get(field).and_then(Value::as_str);
        let denied = record.decision == Some(Decision::Deny) || text("decision") == Some("deny");
        record.kind == RecordType::HookRun && denied && text("code") == Some(code)
    };
    this_run.filter(blocked).count()
}

/// Whether a file is older than the subagent that should have written it.
pub(super) fn is_left_over(ctx: &Context<'_>, file: &std::path::Path) -> bool {
    let begun = ctx
        .session
        .history()
        .iter()
        .rev()
        .find(|record| record.kind == RecordType::SubagentStarted && record.agent_id == ctx.ids.agent_id);
    let begun = begun.and_then(|record| dispatch_os::time::parse_rfc3339(&record.ts));
    let changed = ctx.session.modified_ms(file);
    matches!((begun, changed), (Some(begun), Some(changed)) if changed + CLOCK_SLACK_MS < begun)
}

/// Some file systems keep times in steps of two seconds.
const CLOCK_SLACK_MS: i64 = 2_000;
