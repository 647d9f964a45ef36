//! Keeps an agent from editing the rules it is under: files, registrations, our own commands that change policy.

mod pattern;
mod protected;

#[cfg(test)]
mod tests;

use std::path::Path;

use dispatch_hook_module::{
    Context, Decision, EventName, HookAction, Module, ModuleError, ModuleSpec, OwnCommand, is_own_mcp_tool, own_command,
};
use dispatch_toolcall::{Access, PathAccess, ShellEffects, ToolCall, ToolKind, UnknownReason};
use serde::Deserialize;

use protected::ProtectedPaths;

/// A write to a protected file.
const WRITE_CODE: &str = "SG01";
/// One of our own commands that changes policy.
const COMMAND_CODE: &str = "SG02";
/// Code that cannot be judged and names a protected file.
const OPAQUE_CODE: &str = "SG03";

/// Parts of a tool's name that say it only looks.
const LOOKING: [&str; 6] = ["read", "get", "list", "search", "find", "query"];

/// Protects the rules.
pub(crate) struct SelfGuard;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SelfGuardSettings {
    /// More paths to protect, absolute or relative to the workspace.
    protect: Vec<String>,
}

/// The facts of the module.
const SPEC: ModuleSpec<'static> = ModuleSpec {
    events: &[EventName::PreToolUse],
    priority: 5,
    hot_path_safe: true,
    critical: true,
    on_by_default: true,
    ..ModuleSpec::named("self-guard")
};

impl Module for SelfGuard {
    fn spec(&self) -> ModuleSpec<'_> {
        SPEC
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        let Some(call) = ctx.call.filter(|call| may_change(call)) else {
            return Ok(HookAction::none());
        };
        let settings: SelfGuardSettings = ctx.settings();
        let protected = ProtectedPaths::new(ctx, &settings.protect);
        let findings = [
            written(ctx, call, &protected).map(|path| (WRITE_CODE, wording_of_write(&path))),
            policy_command(call).map(|words| (COMMAND_CODE, wording_of_command(&words))),
            opaque(ctx, call, &protected).map(|path| (OPAQUE_CODE, wording_of_opaque(&path))),
        ];
        let objection = findings.into_iter().flatten().find(|(code, _)| !ctx.is_excused(code));
        Ok(objection.map_or_else(HookAction::none, |(code, reason)| {
            let decision = if ctx.unattended.is_some() { Decision::Deny } else { Decision::Ask };
            HookAction::objection(decision, code, reason)
        }))
    }
}

/// Everything but a call that is known to look only.
fn may_change(call: &ToolCall) -> bool {
    !call.is_read_only() && !matches!(call.kind, ToolKind::Read | ToolKind::Search)
        || call.paths.iter().any(|path| path.access != Access::Read)
}

/// The first protected path that the call changes, by its text or by where its links lead.
fn written(ctx: &Context<'_>, call: &ToolCall, protected: &ProtectedPaths<'_>) -> Option<String> {
    call.paths.iter().filter(|path| path.access != Access::Read).find_map(|path| {
        let real = real_path(ctx, path);
        let hit = protected.is_hit(&path.path, path.access) || protected.is_hit(&real, path.access);
        hit.then(|| path.path.clone())
    })
}

/// Follows the links of a path; of a pattern, those of its part before the first wildcard.
fn real_path(ctx: &Context<'_>, path: &PathAccess) -> String {
    let (fixed, rest) = if path.glob { pattern::split_at_wildcard(&path.path) } else { (path.path.as_str(), "") };
    let real = ctx.session.real_path(&ctx.paths.repo_root.join(Path::new(fixed)));
    let real = real.to_string_lossy();
    if rest.is_empty() { real.into_owned() } else { format!("{}/{rest}", real.trim_end_matches('/')) }
}

fn policy_command(call: &ToolCall) -> Option<String> {
    let effects = call.effects.as_ref()?;
    let command = effects.commands.iter().find(|command| own_command(command) == OwnCommand::ChangesPolicy)?;
    Some(command.argv.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(" "))
}

/// A protected name in a call whose effect is not known.
fn opaque(ctx: &Context<'_>, call: &ToolCall, protected: &ProtectedPaths<'_>) -> Option<String> {
    let text = match (&call.effects, call.kind) {
        (Some(effects), _) if hides_effects(effects) => call.command.clone()?,
        (None, ToolKind::Mcp | ToolKind::Other) if !is_own_mcp_tool(ctx.event) && !only_looks(&call.name) => {
            ctx.event.tool_input.to_string()
        }
        _ => return None,
    };
    protected.mentioned_in(&text)
}

fn hides_effects(effects: &ShellEffects) -> bool {
    effects.unknown.iter().any(|unknown| {
        !matches!(
            unknown.reason,
            UnknownReason::ProjectCode
                | UnknownReason::Environment
                | UnknownReason::SystemState
                | UnknownReason::Remote
        )
    }) && effects.commands.iter().any(|command| own_command(command) == OwnCommand::Foreign)
}

fn only_looks(tool: &str) -> bool {
    let name = tool.rsplit("__").next().unwrap_or(tool).to_ascii_lowercase();
    LOOKING.iter().any(|verb| name.starts_with(verb))
}

fn wording_of_write(path: &str) -> String {
    format!(
        "`{path}` is part of the rules this agent works under; only the user may change it. Ask the user to make the change."
    )
}

fn wording_of_command(words: &str) -> String {
    format!("`{words}` changes the rules this agent works under; only the user may run it. Ask the user to run it.")
}

fn wording_of_opaque(path: &str) -> String {
    format!(
        "This call names `{path}`, which is part of the rules this agent works under, and the call's effect on it is not known. Read the file with a read tool, or ask the user."
    )
}
