//! May a call run: rules, what the sender's rights allow, and what guards want a person to decide.
//!
//! Pure.

use crate::contract::Ask;
use dispatch_contracts::conversation::ToolCall;
use dispatch_contracts::hooks::{Denial, Question};
use dispatch_contracts::permission::{PermissionDecision, PermissionRequest, PermissionRule, Verdict};
use dispatch_contracts::tool::{Effect, targets};
use dispatch_contracts::turn::Proposal;
use dispatch_kernel::services::permission::evaluate_all;
use dispatch_toolcall::{ShellContext, analyze};
use std::path::Path;

/// The code of a refusal by the permission rules.
pub(crate) const CODE: &str = "PERMISSION";

/// What is decided without a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallDecision {
    Run,
    Refuse(Denial),
    /// A person must say; with everything they should know.
    Ask(Vec<Question>),
}

/// Who asks for what, under which rules.
pub(crate) struct CallRights<'a> {
    pub(crate) configured: &'a [PermissionRule],
    /// The sender's own; they only make it stricter.
    pub(crate) sender: &'a [PermissionRule],
    pub(crate) ask: Ask,
    /// What was allowed for the rest of the session, as permission and target.
    pub(crate) remembered: &'a [(String, String)],
    pub(crate) workdir: &'a Path,
}

/// Decides over one call.
pub(crate) fn decide(proposal: &Proposal, rights: &CallRights<'_>) -> CallDecision {
    let PermissionQuestions { requests, certain } = asked(&proposal.call, rights.workdir);
    let mut configured = verdict(rights.configured, &requests, Some(proposal.effect));
    if let Some(decision) = configured.as_mut().filter(|it| it.verdict == Verdict::Allow && !certain) {
        decision.verdict = Verdict::Ask;
        decision.reason = "it is not certain what this command runs, so a rule cannot allow it".to_owned();
    }
    let sender = verdict(rights.sender, &requests, None);
    let strictest = [configured, sender].into_iter().flatten().max_by_key(|decision| strictness(decision.verdict));
    let mut questions = proposal.questions.clone();
    match strictest {
        Some(PermissionDecision { verdict: Verdict::Deny, reason, .. }) => {
            return CallDecision::Refuse(Denial { code: CODE.to_owned(), reason });
        }
        Some(PermissionDecision { verdict: Verdict::Ask, reason, .. }) if !is_remembered(proposal, rights) => {
            questions.push(Question { code: CODE.to_owned(), reason });
        }
        _ => {}
    }
    match (questions.is_empty(), rights.ask) {
        (true, _) | (false, Ask::All) => CallDecision::Run,
        (false, Ask::Person) => CallDecision::Ask(questions),
        (false, Ask::None) => CallDecision::Refuse(nobody(&questions)),
    }
}

/// The refusal when nobody may be asked.
fn nobody(questions: &[Question]) -> Denial {
    let code = questions.first().map_or(CODE, |question| question.code.as_str()).to_owned();
    let reasons: Vec<&str> = questions.iter().map(|question| question.reason.as_str()).collect();
    Denial { code, reason: format!("{}. Nobody can be asked here; do without it.", reasons.join("; ")) }
}

/// What the rules say; without an effect, only rules that match count.
fn verdict(
    rules: &[PermissionRule],
    requests: &[PermissionRequest],
    unmatched: Option<Effect>,
) -> Option<PermissionDecision> {
    let decision = evaluate_all(rules, requests);
    if decision.rule.is_some() {
        return Some(decision);
    }
    let effect = unmatched?;
    let (verdict, reason) = match effect {
        Effect::Looks => (Verdict::Allow, "it only looks"),
        Effect::Changes => (Verdict::Ask, "it may change something, and no rule allows it"),
    };
    Some(PermissionDecision { verdict, rule: None, reason: reason.to_owned() })
}

const fn strictness(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Allow => 0,
        Verdict::Ask => 1,
        Verdict::Deny => 2,
    }
}

fn is_remembered(proposal: &Proposal, rights: &CallRights<'_>) -> bool {
    let asked = targets(&proposal.call.arguments, rights.workdir);
    asked.into_iter().all(|target| rights.remembered.contains(&(proposal.call.name.clone(), target)))
}

/// The questions that a call puts to the rules.
struct PermissionQuestions {
    requests: Vec<PermissionRequest>,
    /// Whether they are all there is to ask.
    certain: bool,
}

/// One question per file that a call names and per command that a shell text holds.
fn asked(call: &ToolCall, workdir: &Path) -> PermissionQuestions {
    let request = |target: String| PermissionRequest { permission: call.name.clone(), target };
    let whole = targets(&call.arguments, workdir).into_iter().map(request);
    let Some(command) = call.arguments.get("command").and_then(|command| command.as_str()) else {
        return PermissionQuestions { requests: whole.collect(), certain: true };
    };
    let cwd = workdir.to_string_lossy();
    let effects = analyze(command, &ShellContext { cwd: &cwd, home: None });
    let parts: Vec<PermissionRequest> =
        effects.commands.iter().filter(|part| part.exact).map(|part| request(part.argv.join(" "))).collect();
    let certain = !parts.is_empty() && parts.len() == effects.commands.len() && effects.is_known();
    PermissionQuestions { requests: if certain { parts } else { whole.chain(parts).collect() }, certain }
}

#[cfg(test)]
mod tests;
