//! Brings an answer down to what one event of one host can express, before anything is spelled.

use std::borrow::Cow;

use dispatch_hook_module::{Decision, EventName, HookEvent};
use serde_json::Value;

use super::support::Abilities;
use crate::answer::Answer;

/// The longest text a reply carries; hosts cut or spill to a file from about 10 000 on.
pub const TEXT_LIMIT_BYTES: usize = 9_900;

const CUT_MARK: &str = "… [cut]";
const DENIED: &str = "Denied by policy.";
const HALTED: &str = "Stopped by policy.";
const CONFIRM: &str = "The user must confirm this.";
const CANNOT_ASK: &str = "This host cannot ask the user here, so the call is refused; ask the user in words.";

/// What is left to say to the host.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outcome<'a> {
    pub(crate) deny: Option<String>,
    pub(crate) ask: Option<String>,
    /// The reason of a grant, empty if it has none.
    pub(crate) grant: Option<&'a str>,
    pub(crate) rewrite: Option<&'a Value>,
    pub(crate) output: Option<&'a Value>,
    pub(crate) context: Option<String>,
    pub(crate) message: Option<&'a str>,
    pub(crate) halt: Option<&'a str>,
}

impl Outcome<'_> {
    pub(crate) fn is_silent(&self) -> bool {
        *self == Outcome::default()
    }
}

/// Fits `answer` to what `abilities` allow at `event`.
pub(crate) fn settle<'a>(event: &HookEvent, answer: &'a Answer, abilities: Abilities) -> Outcome<'a> {
    let can = |ability| abilities.has(ability);
    let message = answer.system_message.as_deref().filter(|text| can(Abilities::MESSAGE) && !text.trim().is_empty());
    // Text for the model keeps some hosts going too, so a stop hook's own stop gets none.
    if event.name.is_stop() && event.stop_hook_active {
        return Outcome { message, ..Outcome::default() };
    }
    let (deny, ask) = refusal(event, answer, abilities);
    let mut outcome = Outcome {
        ask,
        grant: grant(answer, abilities),
        output: answer.updated_output.as_ref().filter(|_| can(Abilities::OUTPUT)),
        message,
        halt: halt_text(answer).filter(|_| can(Abilities::HALT)),
        ..Outcome::default()
    };
    let mut context: Vec<Cow<'a, str>> =
        answer.context.iter().filter(|text| !text.trim().is_empty()).map(|text| Cow::Borrowed(text.as_str())).collect();
    match deny {
        Some(reason) if can(Abilities::DENY) && can(Abilities::CONTEXT) => {
            outcome.deny = Some(reason);
        }
        Some(reason) if can(Abilities::DENY) => {
            context.insert(0, reason.into());
            outcome.deny = Some(cut(context.join("\n\n")));
        }
        Some(reason) => context.insert(0, reason.into()),
        None => {}
    }
    if outcome.deny.is_none() && can(Abilities::REWRITE) {
        outcome.rewrite = answer.updated_input.as_ref();
    }
    if can(Abilities::CONTEXT) && !context.is_empty() {
        outcome.context = Some(cut(context.join("\n\n")));
    }
    outcome
}

/// The reasons to deny and to ask, after asking became denying where nobody can be asked.
fn refusal(event: &HookEvent, answer: &Answer, abilities: Abilities) -> (Option<String>, Option<String>) {
    let halted = halt_text(answer).filter(|_| !abilities.has(Abilities::HALT) && !event.name.is_stop());
    match (answer.decision, halted) {
        (Decision::Deny, _) => (Some(reason_text(answer, DENIED)), None),
        (_, Some(halt)) => (Some(cut(halt.to_owned())), None),
        (Decision::Ask, None) if abilities.has(Abilities::ASK) => (None, Some(reason_text(answer, CONFIRM))),
        (Decision::Ask, None) if event.name == EventName::PreToolUse => {
            let reason = reason_text(answer, CONFIRM);
            (Some(cut(format!("{reason}\n{CANNOT_ASK}"))), None)
        }
        _ => (None, None),
    }
}

fn grant(answer: &Answer, abilities: Abilities) -> Option<&str> {
    let granted =
        answer.decision == Decision::Allow && answer.grant && answer.halt.is_none() && abilities.has(Abilities::GRANT);
    granted.then(|| answer.reason.as_deref().unwrap_or_default())
}

fn halt_text(answer: &Answer) -> Option<&str> {
    let halt = answer.halt.as_deref()?;
    Some(if halt.trim().is_empty() { HALTED } else { halt })
}

fn reason_text(answer: &Answer, fallback: &str) -> String {
    let reason = answer.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty()).unwrap_or(fallback);
    match answer.code.as_deref() {
        Some(code) if !code.is_empty() && !reason.contains(code) => cut(format!("{code}: {reason}")),
        _ => cut(reason.to_owned()),
    }
}

fn cut(mut text: String) -> String {
    if text.len() > TEXT_LIMIT_BYTES {
        let end = text.floor_char_boundary(TEXT_LIMIT_BYTES - CUT_MARK.len());
        text.truncate(end);
        text.push_str(CUT_MARK);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(name: EventName) -> HookEvent {
        HookEvent::new(name, "native", String::new(), Value::Null)
    }

    #[test]
    fn a_deny_without_a_block_becomes_context() {
        let post = event(EventName::PostToolUse);
        let answer = Answer::deny("Lint failed");
        let outcome = settle(&post, &answer, Abilities::CONTEXT);
        assert_eq!(outcome.deny, None);
        assert_eq!(outcome.context.as_deref(), Some("Lint failed"));
        assert!(settle(&post, &answer, Abilities::NONE).is_silent());
    }

    #[test]
    fn a_stop_caused_by_a_stop_hook_is_never_held_up() {
        let mut stop = event(EventName::Stop);
        stop.stop_hook_active = true;
        let mut answer = Answer::deny("Run the tests");
        answer.context.push("more".to_owned());
        let all = Abilities::DENY.and(Abilities::CONTEXT).and(Abilities::ASK);
        assert!(settle(&stop, &answer, all).is_silent());
    }

    #[test]
    fn ask_is_denied_where_nobody_can_be_asked_and_dropped_elsewhere() {
        let answer = Answer::ask("Touches a migration");
        let pre = settle(&event(EventName::PreToolUse), &answer, Abilities::DENY);
        assert!(pre.deny.is_some_and(|text| text.starts_with("Touches a migration")));
        let prompt = settle(&event(EventName::UserPromptSubmit), &answer, Abilities::DENY);
        assert!(prompt.is_silent());
    }

    #[test]
    fn a_refusal_drops_the_rewrite_and_carries_its_context_and_code() {
        let mut answer = Answer::deny("outside scope");
        answer.code = Some("SCOPE_VIOLATION".to_owned());
        answer.context.push("Owned: src/**".to_owned());
        answer.updated_input = Some(json!({"command": "ls"}));
        let abilities = Abilities::DENY.and(Abilities::REWRITE);
        let outcome = settle(&event(EventName::PreToolUse), &answer, abilities);
        assert_eq!(outcome.rewrite, None);
        assert_eq!(outcome.deny.as_deref(), Some("SCOPE_VIOLATION: outside scope\n\nOwned: src/**"));
    }

    #[test]
    fn a_halt_the_host_cannot_express_denies_before_and_lets_go_at_a_stop() {
        let answer = Answer { halt: Some("Budget exceeded".to_owned()), ..Answer::granted() };
        let abilities = Abilities::DENY.and(Abilities::GRANT);
        let pre = settle(&event(EventName::PreToolUse), &answer, abilities);
        assert_eq!(pre.deny.as_deref(), Some("Budget exceeded"));
        assert_eq!(pre.grant, None);
        assert!(settle(&event(EventName::Stop), &answer, abilities).is_silent());
    }

    #[test]
    fn long_text_is_cut_on_a_character() {
        let mut answer = Answer::pass();
        answer.context.push("é".repeat(TEXT_LIMIT_BYTES));
        let outcome = settle(&event(EventName::SessionStart), &answer, Abilities::CONTEXT);
        let context = outcome.context.unwrap_or_default();
        assert!(context.len() <= TEXT_LIMIT_BYTES && context.ends_with(CUT_MARK));
    }
}
