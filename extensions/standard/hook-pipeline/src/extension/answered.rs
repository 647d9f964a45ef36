//! Modules whose questions the permission rules answer, at once: whoever judges after them still judges.

use std::ops::Deref;
use std::time::Duration;

use dispatch_contracts::permission::{PermissionDecision, PermissionRequest, Verdict};
use dispatch_hook_module::{Context, Decision, HookAction, Module, ModuleError, ModuleSpec, Paths};

use crate::run::{FoundScript, ScriptModules};

/// Answers the permission rules.
pub(super) type Rules<'r> = &'r dyn Fn(&PermissionRequest) -> PermissionDecision;

/// The start of the permission that a question is put to the rules under. Not the tool's name: who
/// permits a tool has not permitted what a guard asks about.
const QUESTION: &str = "guard:";
/// What a rule without a code of its own is called.
const NO_CODE: &str = "POLICY";

/// A module that never leaves a question open, unless the manifest says what becomes of questions.
pub(super) struct Answered<'r, M> {
    pub(super) inner: M,
    pub(super) rules: Rules<'r>,
}

impl<M> Module for Answered<'_, M>
where
    M: Deref,
    M::Target: Module,
{
    fn spec(&self) -> ModuleSpec<'_> {
        self.inner.spec()
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        let action = self.inner.handle(ctx)?;
        let is_question = action.decision == Some(Decision::Ask) && ctx.is_before_tool() && ctx.unattended.is_none();
        Ok(if is_question { answer(action, &target(ctx), self.rules) } else { action })
    }
}

fn answer(mut action: HookAction, target: &str, rules: Rules<'_>) -> HookAction {
    let code = action.code.as_deref().unwrap_or(NO_CODE);
    let permission = format!("{QUESTION}{code}");
    let found = rules(&PermissionRequest { permission: permission.clone(), target: target.to_owned() });
    let why = match found.verdict {
        Verdict::Allow => {
            let question = action.deny_reason.take().unwrap_or_default();
            action.decision = None;
            action.code = None;
            return action.with_warning(format!("a permission rule for `{permission}` answered: {question}"));
        }
        Verdict::Deny => found.reason,
        Verdict::Ask => format!("Nobody can be asked here; a permission rule for `{permission}` would answer."),
    };
    let question = action.deny_reason.take().unwrap_or_default();
    action.decision = Some(Decision::Deny);
    action.deny_reason = Some(format!("{question} {why}").trim().to_owned());
    action
}

/// What the question is about: the command, else the first path, else the tool.
fn target(ctx: &Context<'_>) -> String {
    let named = ctx.call.and_then(|call| call.command.clone().or_else(|| Some(call.paths.first()?.path.clone())));
    named.or_else(|| ctx.event.tool_name.clone()).unwrap_or_default()
}

/// Script modules whose questions are answered the same way.
pub(super) struct AnsweredScripts<'r, S> {
    pub(super) inner: S,
    pub(super) rules: Rules<'r>,
}

impl<S: ScriptModules> ScriptModules for AnsweredScripts<'_, S> {
    fn was_critical(&self, name: &str, paths: &Paths) -> bool {
        self.inner.was_critical(name, paths)
    }

    fn find<'s>(&'s self, name: &str, paths: &Paths, time_left: Duration) -> FoundScript<'s> {
        match self.inner.find(name, paths, time_left) {
            FoundScript::Module(inner) => FoundScript::Module(Box::new(Answered { inner, rules: self.rules })),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(verdict: Verdict) -> HookAction {
        let rules = |request: &PermissionRequest| {
            assert_eq!((request.permission.as_str(), request.target.as_str()), ("guard:SG01", "ls"));
            PermissionDecision { verdict, rule: None, reason: "The rules say no.".to_owned() }
        };
        answer(HookAction::ask("SG01", "It edits the rules."), "ls", &rules)
    }

    #[test]
    fn a_question_is_answered_by_a_rule_or_by_no() {
        let yes = answered(Verdict::Allow);
        assert_eq!((yes.decision, yes.deny_reason, yes.code), (None, None, None));
        assert_eq!(yes.warnings, ["a permission rule for `guard:SG01` answered: It edits the rules."]);
        let nobody = "Nobody can be asked here; a permission rule for `guard:SG01` would answer.";
        for (verdict, why) in [(Verdict::Deny, "The rules say no."), (Verdict::Ask, nobody)] {
            let no = answered(verdict);
            let reason = format!("It edits the rules. {why}");
            assert_eq!((no.decision, no.code.as_deref()), (Some(Decision::Deny), Some("SG01")));
            assert_eq!(no.deny_reason, Some(reason));
        }
    }
}
