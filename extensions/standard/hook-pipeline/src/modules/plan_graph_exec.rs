//! Keeps work inside the plan, and bounds calls where their meaning stays the same.
//!
//! Pure.

mod rewrite;
mod scope;

#[cfg(test)]
mod tests;

use dispatch_hook_module::phase::Phase;
use dispatch_hook_module::{Context, Decision, EventName, HookAction, Module, ModuleError, ModuleSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::plan::{self, Plan, PlanLookup, PlanNode, PlanProgress, PlanSource};
use scope::ScopeObjection;

/// Holds calls against the open nodes of the plan, and owns the rewrites.
pub(crate) struct PlanGraphExec;

/// What can be set for the module.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PlanGraphExecSettings {
    /// What becomes of a call outside the open nodes.
    mode: ScopeMode,
    /// The bound that unbounded searches and logs get.
    max_count: u32,
    /// Whether calls are rewritten at all.
    rewrite: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ScopeMode {
    Deny,
    Warn,
}

impl Default for PlanGraphExecSettings {
    fn default() -> Self {
        Self { mode: ScopeMode::Warn, max_count: 200, rewrite: true }
    }
}

/// The facts of the module.
const SPEC: ModuleSpec<'static> = ModuleSpec {
    events: &[EventName::PreToolUse],
    priority: 20,
    hot_path_safe: true,
    on_by_default: true,
    rewrites_input: true,
    ..ModuleSpec::named("planGraph-exec")
};

impl Module for PlanGraphExec {
    fn spec(&self) -> ModuleSpec<'_> {
        SPEC
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        Ok(match plan::find(ctx.paths, ctx.state, ctx.session) {
            PlanLookup::Nothing => HookAction::none(),
            PlanLookup::Invalid { path, problems } => {
                let problems = plan::describe(&problems);
                HookAction::none().with_warning(format!("the plan {path} is not used:\n{problems}"))
            }
            PlanLookup::Valid { plan, source } => judge(ctx, &plan, &source),
        })
    }
}

fn judge(ctx: &Context<'_>, plan: &Plan, source: &PlanSource) -> HookAction {
    let settings: PlanGraphExecSettings = ctx.settings();
    let open = match ctx.phase() {
        Phase::Executing => plan::open_nodes(plan, &PlanProgress::of(ctx.state)),
        _ => Vec::new(),
    };
    let objection = match ctx.phase() {
        Phase::Executing => scope::objection(ctx, &open),
        _ => None,
    };
    let mut action = match objection {
        Some(objection) => object(ctx, &settings, &objection),
        None => HookAction::none(),
    };
    note_changed_plan(ctx, source);
    action.state_patch = pointers(ctx, source);
    if action.decision != Some(Decision::Deny) && settings.rewrite {
        add_rewrite(ctx, &open, settings.max_count, &mut action);
    }
    action
}

fn object(ctx: &Context<'_>, settings: &PlanGraphExecSettings, objection: &ScopeObjection) -> HookAction {
    let reason = objection.reason.as_str();
    match settings.mode {
        ScopeMode::Deny if !ctx.is_excused(objection.code) => HookAction::deny(objection.code, reason),
        ScopeMode::Deny => HookAction::none(),
        ScopeMode::Warn => HookAction::none()
            .with_warning(format!("{}: {reason}", objection.code))
            .with_context("planGraph-exec", reason),
    }
}

fn add_rewrite(ctx: &Context<'_>, open: &[&PlanNode], max_count: u32, action: &mut HookAction) {
    if let Some(rewrite) = rewrite::find(ctx, open, max_count) {
        action.updated_input = Some(rewrite.update);
        let note = dispatch_hook_module::ContextNote { key: "planGraph-exec".to_owned(), value: rewrite.note };
        action.additional_context.push(note);
    }
}

/// A plan that is edited while it is executed may widen its own scope, so people should know.
fn note_changed_plan(ctx: &Context<'_>, source: &PlanSource) {
    let same_file = ctx.state.plan_path() == Some(&source.path);
    let changed = ctx.state.text("plan", "hash").is_some_and(|hash| hash != source.hash);
    if same_file && changed && ctx.phase() == Phase::Executing {
        ctx.warn(format!("the plan {} changed while it is being executed", source.path));
    }
}

/// A patch with where the plan is, if the state does not say so yet.
fn pointers(ctx: &Context<'_>, source: &PlanSource) -> Option<Value> {
    let known = ctx.state.plan_path() == Some(&source.path)
        && ctx.state.get("plan", "mtime").and_then(Value::as_i64) == Some(source.mtime_ms)
        && ctx.state.text("plan", "hash") == Some(&source.hash);
    (!known).then(|| json!({"plan": {"currentPath": source.path, "mtime": source.mtime_ms, "hash": source.hash}}))
}
