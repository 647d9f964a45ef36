//! Evaluates permission rules: rules and a question in, an answer out.
//!
//! The last rule whose two patterns match decides, so general rules come first and exceptions
//! after them. When no rule matches, a person is asked. A target is matched as one text: whoever
//! asks about a command that holds several takes it apart first and uses [`evaluate_all`], because
//! `git *` matches `git status; reboot` too.

mod wildcard;

#[cfg(test)]
mod tests;

use dispatch_contracts::permission::{PermissionDecision, PermissionRequest, PermissionRule, Verdict};
use serde::Serialize;

pub use wildcard::matches;

/// What becomes of a rule when a question is put to the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleOutcome {
    /// It matched last and gave the answer.
    Decided,
    /// It matched, but a later rule matched too.
    Overruled,
    /// It is about another permission.
    OtherPermission,
    /// It is about this permission on another target.
    OtherTarget,
}

/// An answer and what every rule had to do with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PermissionExplanation {
    /// The answer, the same as [`evaluate`] gives.
    pub decision: PermissionDecision,
    /// One outcome per rule, in the order of the rules.
    pub outcomes: Vec<RuleOutcome>,
}

/// The answer of the rules to one question.
pub fn evaluate(rules: &[PermissionRule], request: &PermissionRequest) -> PermissionDecision {
    let last = rules.iter().enumerate().rev().find(|(_, rule)| compare(rule, request).is_none());
    match last {
        Some((index, rule)) => PermissionDecision { verdict: rule.verdict, rule: Some(index), reason: reason(rule) },
        None => unmatched("no rule matches, so a person decides"),
    }
}

/// The strictest answer to several questions, for one action that needs them all: deny, else ask,
/// else allow. Of equally strict answers the first is given. No question at all is one for a person.
pub fn evaluate_all(rules: &[PermissionRule], requests: &[PermissionRequest]) -> PermissionDecision {
    let decisions = requests.iter().map(|request| evaluate(rules, request));
    decisions
        .reduce(
            |strictest, next| if strictness(next.verdict) > strictness(strictest.verdict) { next } else { strictest },
        )
        .unwrap_or_else(|| unmatched("the request names nothing, so a person decides"))
}

/// The answer, with what each rule had to do with it.
pub fn explain(rules: &[PermissionRule], request: &PermissionRequest) -> PermissionExplanation {
    let decision = evaluate(rules, request);
    let outcomes = rules.iter().enumerate().map(|(index, rule)| match compare(rule, request) {
        Some(mismatch) => mismatch,
        None if decision.rule == Some(index) => RuleOutcome::Decided,
        None => RuleOutcome::Overruled,
    });
    PermissionExplanation { outcomes: outcomes.collect(), decision }
}

/// Why a rule does not apply; `None` when it does.
fn compare(rule: &PermissionRule, request: &PermissionRequest) -> Option<RuleOutcome> {
    if !matches(&rule.permission, &request.permission) {
        return Some(RuleOutcome::OtherPermission);
    }
    (!matches(&rule.target, &request.target)).then_some(RuleOutcome::OtherTarget)
}

fn reason(rule: &PermissionRule) -> String {
    let verdict = match rule.verdict {
        Verdict::Allow => "allows it",
        Verdict::Ask => "wants a person to decide",
        Verdict::Deny => "forbids it",
    };
    let stated = rule.reason.clone();
    stated.unwrap_or_else(|| format!("the rule for `{}` on `{}` {verdict}", rule.permission, rule.target))
}

fn unmatched(reason: &str) -> PermissionDecision {
    PermissionDecision { verdict: Verdict::Ask, rule: None, reason: reason.to_owned() }
}

fn strictness(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Allow => 0,
        Verdict::Ask => 1,
        Verdict::Deny => 2,
    }
}
