//! Work that must be delegated: rules of the user that bind the main agent until a subagent delivered.
//!
//! Pure.

mod before;
mod outputs;
mod policy;
mod schema;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use dispatch_hook_module::{Context, EventName, FileWrite, HookAction, Module, ModuleError, ModuleSpec, RecordType};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::subagent_output::{SubagentOutputFolder, can_block};
use policy::DelegationPolicy;

pub(crate) use policy::DelegationRule;

const NAME: &str = "rlm-work";
/// The rule that blocks a stop.
const OUTPUT_CODE: &str = "RLM-OUTPUT";

/// Makes sure that delegated work is delegated.
pub(crate) struct RlmWork;

/// What can be set for the module.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RlmWorkSettings {
    /// How often a stop without the required output is blocked.
    max_blocks: usize,
}

impl Default for RlmWorkSettings {
    fn default() -> Self {
        Self { max_blocks: 2 }
    }
}

/// The facts of the module.
const SPEC: ModuleSpec<'static> = ModuleSpec {
    events: &[EventName::PreToolUse, EventName::SubagentStart, EventName::SubagentStop],
    priority: 40,
    hot_path_safe: true,
    ..ModuleSpec::named(NAME)
};

impl Module for RlmWork {
    fn spec(&self) -> ModuleSpec<'_> {
        SPEC
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        let policy = DelegationPolicy::read(ctx);
        if policy.rules.is_empty() {
            return Ok(HookAction::none());
        }
        Ok(match ctx.event.name {
            EventName::PreToolUse => before::judge(ctx, &policy),
            EventName::SubagentStart => begin(ctx, &policy),
            EventName::SubagentStop => end(ctx, &policy),
            _ => HookAction::none(),
        })
    }
}

/// Whether a rule was met for the work at hand.
fn is_satisfied(ctx: &Context<'_>, rule: &DelegationRule) -> bool {
    let satisfied = ctx.state.get("rlm", "satisfied").and_then(|rules| rules.get(&rule.id));
    satisfied.and_then(Value::as_str) == Some(&ctx.ids.work_id)
}

fn unmet<'p>(ctx: &Context<'_>, policy: &'p DelegationPolicy, agent_type: &str) -> Vec<&'p DelegationRule> {
    let wanted = |rule: &&DelegationRule| rule.require.subagent.iter().any(|kind| kind == agent_type);
    policy.rules.iter().filter(wanted).filter(|rule| !is_satisfied(ctx, rule)).collect()
}

fn begin(ctx: &Context<'_>, policy: &DelegationPolicy) -> HookAction {
    let kind = ctx.event.agent_type.as_deref().unwrap_or_default();
    let rules = unmet(ctx, policy, kind);
    if rules.is_empty() {
        return HookAction::none();
    }
    let folder = SubagentOutputFolder::of(ctx, kind);
    let mut lines = vec![format!("Write your results as JSON files into {}/:", folder.shown)];
    lines.extend(rules.iter().map(|rule| {
        let files = rule.require.output.as_ref().map_or("any `*.json` you need", |output| output.glob.as_str());
        let schema = rule.require.output.as_ref().and_then(|output| schema::summary(ctx, output.schema.as_ref()?));
        let shape = schema.map_or_else(String::new, |schema| format!(", each {schema}"));
        format!("- for `{}` ({}): {files}{shape}", rule.id, rule.message)
    }));
    let text = lines.join("\n");
    HookAction::none()
        .with_file(FileWrite::replace(format!("{}/contract.md", folder.below_output), format!("{text}\n")))
        .with_context(NAME, text)
}

fn end(ctx: &Context<'_>, policy: &DelegationPolicy) -> HookAction {
    let kind = ctx.event.agent_type.as_deref().unwrap_or_default();
    let rules = unmet(ctx, policy, kind);
    let folder = SubagentOutputFolder::of(ctx, kind);
    let mut action = HookAction::none();
    let mut met = Map::new();
    let mut artifacts = BTreeMap::new();
    let mut missing = Vec::new();
    for rule in rules {
        match outputs::check(ctx, &folder, rule) {
            Ok(found) => {
                let paths: Vec<&str> = found.iter().map(|artifact| artifact.path.as_str()).collect();
                let data = json!({"rule": rule.id, "agent": ctx.ids.agent_id, "agentType": kind, "outputs": paths});
                action = action.with_record(RecordType::RlmSatisfied, data);
                met.insert(rule.id.clone(), ctx.ids.work_id.as_str().into());
                artifacts.extend(found.into_iter().map(|artifact| (artifact.path.clone(), artifact)));
            }
            Err(problems) => missing.extend(problems),
        }
    }
    if !met.is_empty() {
        action.state_patch = Some(json!({"rlm": {"satisfied": met}}));
    }
    action.register_artifacts = artifacts.into_values().collect();
    if missing.is_empty() {
        return action;
    }
    let settings: RlmWorkSettings = ctx.settings();
    let list = missing.iter().map(|problem| format!("- {problem}")).collect::<Vec<_>>().join("\n");
    let text = format!("The required output is not delivered yet. In {}:\n{list}", folder.shown);
    if can_block(ctx, OUTPUT_CODE, settings.max_blocks) {
        let held = HookAction::deny(OUTPUT_CODE, text);
        return HookAction { decision: held.decision, code: held.code, deny_reason: held.deny_reason, ..action };
    }
    action.with_warning(text)
}
