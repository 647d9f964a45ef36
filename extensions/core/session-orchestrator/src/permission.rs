//! May a call run: rules, what the sender's rights allow, and what guards want a person to decide.
//!
//! Pure.

use crate::contract::Ask;
use crate::grant::{command_form, covers, target_form};
use dispatch_contracts::conversation::ToolCall;
use dispatch_contracts::hooks::{Denial, Question};
use dispatch_contracts::permission::{PermissionDecision, PermissionRequest, PermissionRule, Verdict};
use dispatch_contracts::tool::{Effect, targets};
use dispatch_contracts::turn::Proposal;
use dispatch_kernel::services::permission::{evaluate, evaluate_all};
use dispatch_os::paths::normalise_path;
use dispatch_toolcall::{ShellContext, ShellEffects, UnboundedCall, UnboundedKind, analyze};
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
    /// The configured ones of the process that the message was sent through; they only make it stricter.
    pub(crate) sent_under: &'a [PermissionRule],
    /// The sender's own; they only make it stricter.
    pub(crate) sender: &'a [PermissionRule],
    pub(crate) ask: Ask,
    /// What people allowed for good in this workspace.
    pub(crate) remembered: &'a [PermissionRule],
    pub(crate) workdir: &'a Path,
    /// The folder inside which looking is free for a command too.
    pub(crate) workspace: &'a Path,
}

/// Decides over one call.
pub(crate) fn decide(proposal: &Proposal, rights: &CallRights<'_>) -> CallDecision {
    let asked = asked(&proposal.call, rights);
    let PermissionQuestions { requests, certain, .. } = &asked;
    let effect = if asked.only_looks { Effect::Looks } else { proposal.effect };
    let mut configured = verdict(rights.configured, requests, Some(effect));
    if let Some(decision) =
        configured.as_mut().filter(|it| it.verdict == Verdict::Allow && !certain && effect == Effect::Changes)
    {
        decision.verdict = Verdict::Ask;
        decision.reason = "it is not certain what this command runs, so a rule cannot allow it".to_owned();
    }
    let sent_under = verdict(rights.sent_under, requests, None);
    let sender = verdict(rights.sender, requests, None);
    let strictest =
        [configured, sent_under, sender].into_iter().flatten().max_by_key(|decision| strictness(decision.verdict));
    let mut questions = proposal.questions.clone();
    match strictest {
        Some(PermissionDecision { verdict: Verdict::Deny, reason, .. }) => {
            return CallDecision::Refuse(Denial { code: CODE.to_owned(), reason });
        }
        Some(PermissionDecision { verdict: Verdict::Ask, reason, .. }) if !is_remembered(&asked, rights) => {
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

/// Whether each part of the call is covered by what a person allowed, or by a rule of the settings.
fn is_remembered(asked: &PermissionQuestions, rights: &CallRights<'_>) -> bool {
    let is_allowed = |request: &PermissionRequest| {
        let decision = evaluate(rights.configured, request);
        decision.rule.is_some() && decision.verdict == Verdict::Allow
    };
    let is_covered = |request: &PermissionRequest| rights.remembered.iter().any(|rule| covers(rule, request));
    let parts = &asked.requests;
    asked.certain
        && !asked.has_no_form
        && !parts.is_empty()
        && parts.iter().all(|part| is_covered(part) || is_allowed(part))
}

/// The forms that would allow a call for good; empty if none can say it.
pub(crate) fn forms_to_remember(call: &ToolCall, rights: &CallRights<'_>) -> Vec<String> {
    let asked = asked(call, rights);
    if !asked.certain || asked.has_no_form {
        return Vec::new();
    }
    let forms: Option<Vec<String>> = match asked.forms {
        Some(forms) => forms.into_iter().collect(),
        None => asked.requests.into_iter().map(|request| target_form(request.target)).collect(),
    };
    let mut forms = forms.unwrap_or_default();
    forms.dedup();
    forms
}

/// The questions that a call puts to the rules.
struct PermissionQuestions {
    requests: Vec<PermissionRequest>,
    /// Whether they are all there is to ask.
    certain: bool,
    /// Whether it is a command that is known to read inside the workspace and to do nothing else.
    only_looks: bool,
    /// Whether a form of its words cannot stand for it: it may write to a file that no word names, or runs a program in
    /// a folder.
    has_no_form: bool,
    /// Of a command, the form that each part has.
    forms: Option<Vec<Option<String>>>,
}

/// One question per file that a call names and per command that a shell text holds.
fn asked(call: &ToolCall, rights: &CallRights<'_>) -> PermissionQuestions {
    let request = |target: String| PermissionRequest { permission: call.name.clone(), target };
    let whole = targets(&call.arguments, rights.workdir).into_iter().map(request);
    let text = |name: &str| call.arguments.get(name).and_then(|value| value.as_str());
    let Some(command) = text("command") else {
        let requests = whole.collect();
        return PermissionQuestions { requests, certain: true, only_looks: false, has_no_form: false, forms: None };
    };
    let cwd = normalise_path(&rights.workdir.join(text("workdir").unwrap_or_default()));
    let effects = analyze(command, &ShellContext { cwd: &cwd.to_string_lossy(), home: None });
    let exact = || effects.commands.iter().filter(|part| part.exact);
    let parts: Vec<PermissionRequest> = exact().map(|part| request(part.argv.join(" "))).collect();
    let certain = !parts.is_empty() && parts.len() == effects.commands.len() && effects.is_known();
    PermissionQuestions {
        forms: Some(exact().map(command_form).collect()),
        // A program in a folder may be any program: what it is taken for must not be allowed with it.
        has_no_form: command.contains('>') || exact().any(|part| part.argv.first().is_some_and(|it| it.contains('/'))),
        only_looks: certain && looks_inside(&effects, &cwd, rights.workspace),
        requests: if certain { parts } else { whole.chain(parts).collect() },
        certain,
    }
}

/// Whether a command does nothing but read, and that inside the workspace.
fn looks_inside(effects: &ShellEffects, cwd: &Path, workspace: &Path) -> bool {
    let is_inside = |path: &Path| normalise_path(path).starts_with(workspace);
    let walks_inside =
        |call: &UnboundedCall| call.what == UnboundedKind::RecursiveTraversal && is_inside(&cwd.join(&call.target));
    effects.is_read_only()
        && !effects.unresolved_reads
        && effects.unbounded.iter().all(walks_inside)
        && is_inside(cwd)
        && effects.reads.iter().all(|read| is_inside(Path::new(&read.path)))
}

#[cfg(test)]
mod tests;
