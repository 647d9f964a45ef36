//! The beginning of a session.
//!
//! Pure.

use std::path::Path;

use dispatch_hook_module::state::BlockedWork;
use dispatch_hook_module::{Context, HookAction, RecordType, SessionView};
use serde_json::json;

const HEAD_LIMIT_BYTES: u64 = 4 * 1024;
const PACKED_REFS_LIMIT_BYTES: u64 = 1024 * 1024;

pub(super) fn session_start(ctx: &Context<'_>) -> HookAction {
    let event = ctx.event;
    let data = json!({
        "host": event.host,
        "source": event.source,
        "model": event.model,
        "cwd": event.cwd,
        "gitHead": git_head(ctx.session, &ctx.paths.repo_root),
    });
    HookAction::none().with_record(RecordType::SessionStarted, data).with_context("session", standing(ctx).join("\n"))
}

/// At most five lines that tell the model where it stands.
pub(super) fn standing(ctx: &Context<'_>) -> Vec<String> {
    let phase = ctx.phase().as_str();
    let mut lines = vec![format!("Dispatch session {} (work {}), phase {phase}.", ctx.ids.session_id, ctx.ids.work_id)];
    if let Some(work) = BlockedWork::of(ctx.state) {
        lines.push(format!("The work is blocked: {}. {}", work.why, work.way_out()));
    }
    if let Some(intent) = ctx.state.active_intent() {
        lines.push(format!("Active intent: {intent}."));
    }
    if let Some(plan) = ctx.state.plan_path() {
        lines.push(format!("Plan: {plan}."));
    }
    lines
}

/// The commit that is checked out, for a repository whose `.git` is in the workspace.
fn git_head(session: &dyn SessionView, root: &Path) -> Option<String> {
    let text = |path: &str, limit| {
        let bytes = session.read(&root.join(".git").join(path), limit)?;
        String::from_utf8(bytes).ok()
    };
    let head = text("HEAD", HEAD_LIMIT_BYTES)?;
    let Some(reference) = head.trim().strip_prefix("ref:").map(str::trim) else {
        return commit(head.trim());
    };
    // A name from a file is put into a path, so it must not climb out of the folder.
    if reference.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return None;
    }
    if let Some(found) = text(reference, HEAD_LIMIT_BYTES) {
        return commit(found.trim());
    }
    let packed = text("packed-refs", PACKED_REFS_LIMIT_BYTES)?;
    packed.lines().find_map(|line| commit(line.strip_suffix(reference)?.strip_suffix(' ')?))
}

fn commit(text: &str) -> Option<String> {
    let hex = text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    hex.then(|| text.to_owned())
}
