//! Tells a planning subagent what it owes, and does not let it stop before it delivered.
//!
//! Pure.

mod delivery;

#[cfg(test)]
mod tests;

use dispatch_hook_module::{Context, EventName, FileWrite, HookAction, Module, ModuleError, ModuleSpec, RecordType};
use serde::Deserialize;
use serde_json::json;

use super::subagent_output::{SubagentOutputFolder, can_block};
use crate::plan::{self, PLAN_FILE_NAME, PlanSource, WorkStatus};
use delivery::{MANIFEST_FILE_NAME, PlanDelivery};

/// The rule that blocks a stop.
const CODE: &str = "PC01";
const NAME: &str = "plan-subagent-contract";

/// Holds planning subagents to their contract.
pub(crate) struct PlanSubagentContract;

/// What can be set for the module.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PlanSubagentContractSettings {
    /// Types of subagents that plan.
    plan_agent_types: Vec<String>,
    /// How often a stop is blocked.
    max_blocks: usize,
    /// Whether a valid plan is put in force at once.
    auto_accept: bool,
}

impl Default for PlanSubagentContractSettings {
    fn default() -> Self {
        let plan_agent_types = ["Plan", "plan"].map(str::to_owned).to_vec();
        Self { plan_agent_types, max_blocks: 2, auto_accept: false }
    }
}

/// The facts of the module.
const SPEC: ModuleSpec<'static> = ModuleSpec {
    events: &[EventName::SubagentStart, EventName::SubagentStop],
    priority: 30,
    ..ModuleSpec::named(NAME)
};

impl Module for PlanSubagentContract {
    fn spec(&self) -> ModuleSpec<'_> {
        SPEC
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        let settings: PlanSubagentContractSettings = ctx.settings();
        let kind = ctx.event.agent_type.as_deref().unwrap_or_default();
        if !settings.plan_agent_types.iter().any(|wanted| wanted == kind) {
            return Ok(HookAction::none());
        }
        let folder = SubagentOutputFolder::of(ctx, kind);
        Ok(match ctx.event.name {
            EventName::SubagentStart => begin(&folder),
            EventName::SubagentStop => end(ctx, &settings, &folder),
            _ => HookAction::none(),
        })
    }
}

fn begin(folder: &SubagentOutputFolder) -> HookAction {
    let contract = contract(&folder.shown);
    // The file makes the folder, so that the subagent finds it.
    HookAction::none()
        .with_file(FileWrite::replace(format!("{}/contract.md", folder.below_output), format!("{contract}\n")))
        .with_context(NAME, contract)
}

fn contract(folder: &str) -> String {
    format!(
        "Write two JSON files; you cannot stop before both are valid:\n\
         1. {folder}/{PLAN_FILE_NAME}: {{\"version\": 1, \"nodes\": [{{\"id\": \"n1\", \"title\": \"what\", \
         \"scope\": [\"src/a/**\"], \"dependsOn\": [], \"tools\"?: [\"name\"], \"validations\"?: [\"command\"], \
         \"decision\"?: \"what was decided\"}}]}}\n\
         2. {folder}/{MANIFEST_FILE_NAME}: {{\"version\": 1, \"files\": [{{\"path\": \"{PLAN_FILE_NAME}\", \
         \"sha256\"?: \"hex\"}}]}}: every file you leave in that folder, {PLAN_FILE_NAME} among them, with paths \
         relative to it.\n\
         Rules: ids are unique and contain only letters, digits, `.`, `_`, `-`; dependsOn names ids of this plan and \
         has no cycle; scope globs are relative to the workspace and must not leave it; validations are commands that \
         exit with 0 when the node is done. Write nothing outside {folder}."
    )
}

fn end(ctx: &Context<'_>, settings: &PlanSubagentContractSettings, folder: &SubagentOutputFolder) -> HookAction {
    match delivery::check(ctx, folder) {
        Ok(delivery) => delivered(ctx, settings, delivery),
        Err(problems) => owing(ctx, settings, folder, &problems),
    }
}

fn delivered(ctx: &Context<'_>, settings: &PlanSubagentContractSettings, delivery: PlanDelivery) -> HookAction {
    let PlanDelivery { plan, source, artifacts } = delivery;
    let mut action = if settings.auto_accept { accepted(ctx, &plan, &source) } else { offered(&source) };
    action.register_artifacts = artifacts;
    action
}

fn accepted(ctx: &Context<'_>, plan: &plan::Plan, source: &PlanSource) -> HookAction {
    let standing = WorkStatus::of(ctx.state, ctx.timers.start_ms);
    match plan::accept(plan, source, standing) {
        Ok(step) => step.into_action().with_context(NAME, format!("The plan {} is accepted.", source.path)),
        Err(error) => offered(source).with_warning(format!("the plan {} is not accepted: {error}", source.path)),
    }
}

fn offered(source: &PlanSource) -> HookAction {
    let path = &source.path;
    HookAction::none()
        .with_context(NAME, format!("A valid plan is at {path}. Accept it with `dispatch plan submit {path}`."))
}

fn owing(
    ctx: &Context<'_>,
    settings: &PlanSubagentContractSettings,
    folder: &SubagentOutputFolder,
    problems: &[String],
) -> HookAction {
    let list = problems.iter().map(|problem| format!("- {problem}")).collect::<Vec<_>>().join("\n");
    if can_block(ctx, CODE, settings.max_blocks) {
        return HookAction::deny(CODE, format!("The plan is not delivered yet. In {}:\n{list}", folder.shown));
    }
    let data = json!({"agent": ctx.ids.agent_id, "folder": folder.shown, "problems": problems});
    HookAction::none()
        .with_record(RecordType::PlanRejected, data)
        .with_warning(format!("{} delivered no valid plan:\n{list}", ctx.ids.agent_id))
}
