//! The unbounded guard: stops a call whose effect or cost has no bound, before it runs.
//!
//! Pure.

mod background;
mod code;
mod configuration;
mod exfiltration;
mod flow;
mod git;
mod location;
mod opaque;
mod options;
mod queries;
mod remote;
mod rules;
mod search;
mod settings;
mod system;
mod unbounded;

#[cfg(test)]
mod tests;

use dispatch_hook_module::{Context, Decision, EventName, HookAction, Module, ModuleError, ModuleSpec};
use dispatch_toolcall::{ShellEffects, ToolCall};
use serde_json::Value;

use location::WorkspaceBounds;
use rules::{RuleFinding, RuleFindings, RuleSeverity};
use settings::GraphPretooluseSettings;

/// Judges what a call does, as far as it is known; a call whose effect is not known is not refused for that.
pub(crate) struct GraphPretooluse;

/// The codes of its rules.
pub(crate) fn guard_rule_codes() -> impl Iterator<Item = &'static str> {
    rules::ALL.iter().map(|rule| rule.code)
}

/// The facts of the module.
const SPEC: ModuleSpec<'static> = ModuleSpec {
    events: &[EventName::PreToolUse],
    priority: 10,
    hot_path_safe: true,
    critical: true,
    on_by_default: true,
    ..ModuleSpec::named("graph-pretooluse")
};

impl Module for GraphPretooluse {
    fn spec(&self) -> ModuleSpec<'_> {
        SPEC
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        let Some(call) = ctx.call.filter(|_| ctx.is_before_tool()) else {
            return Ok(HookAction::none());
        };
        let settings: GraphPretooluseSettings = ctx.settings();
        let workspace = WorkspaceBounds::new(&ctx.paths.repo_root, ctx.home, &settings.scratch, ctx.session);
        let mut findings = RuleFindings::default();
        if let Some(effects) = &call.effects {
            JudgedCommand::new(call, effects, &workspace, &ctx.event.tool_input).judge(&mut findings);
        } else {
            unbounded::judge_paths(call, &workspace, &mut findings);
            configuration::judge_paths(call, &workspace, &mut findings);
            queries::judge_fields(call, &ctx.event.tool_input, &mut findings);
        }
        let estimate = search::judge(ctx, call, &workspace, &settings, &mut findings);
        let objection = decide(ctx, &settings, findings);
        Ok(match estimate {
            Some(patch) => objection.with_state(patch),
            None => objection,
        })
    }
}

/// A command with what the rules need to judge it.
struct JudgedCommand<'a> {
    effects: &'a ShellEffects,
    /// The command as written: evidence in addition to what was parsed.
    text: &'a str,
    workspace: &'a WorkspaceBounds<'a>,
    /// The tool's input, for the host's own time limit and background switch.
    input: &'a Value,
}

impl<'a> JudgedCommand<'a> {
    fn new(
        call: &'a ToolCall,
        effects: &'a ShellEffects,
        workspace: &'a WorkspaceBounds<'a>,
        input: &'a Value,
    ) -> Self {
        Self { effects, text: call.command.as_deref().unwrap_or_default(), workspace, input }
    }

    fn judge(&self, findings: &mut RuleFindings) {
        unbounded::judge(self, findings);
        let mut known = remote::KnownActions::default();
        for (index, command) in self.effects.commands.iter().enumerate() {
            match command.program.as_str() {
                "git" | "hub" => git::judge(self, command, findings),
                "bfg" | "git-filter-repo" => findings.push(&rules::GT08, &command.program),
                _ => queries::judge_command(self, index, command, findings),
            }
            code::judge(self, index, command, findings);
            remote::judge(self, index, command, &mut known, findings);
            system::judge(&self.effects.commands, index, command, findings);
        }
        code::judge_decoded(self, findings);
        exfiltration::judge(self, findings);
        configuration::judge(self, findings);
        opaque::judge(self, findings);
    }
}

/// The strongest finding that the user did not switch off or excuse; of equals, the first.
fn decide(ctx: &Context<'_>, settings: &GraphPretooluseSettings, findings: RuleFindings) -> HookAction {
    let mut judged: Vec<(RuleSeverity, RuleFinding)> =
        findings.into_iter().map(|finding| (settings.severity(finding.rule), finding)).collect();
    judged.sort_by_key(|(severity, _)| std::cmp::Reverse(*severity));
    for (severity, finding) in judged {
        let decision = match severity {
            RuleSeverity::Off => continue,
            RuleSeverity::Ask => Decision::Ask,
            RuleSeverity::Deny => Decision::Deny,
        };
        if !ctx.is_excused(finding.rule.code) {
            return HookAction::objection(decision, finding.rule.code, finding.reason());
        }
    }
    HookAction::none()
}
