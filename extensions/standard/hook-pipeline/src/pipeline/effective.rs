//! Brings a module's decision down to what the event can be answered with.

use dispatch_hook_module::{Decision, EventName, HookEvent, Unattended};

/// A decision that counts, and what to say if it is not the one the module made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Effective {
    pub(super) decision: Decision,
    pub(super) note: Option<&'static str>,
}

/// What a decision comes to at this event.
pub(super) fn effective(event: &HookEvent, decision: Decision, unattended: Option<Unattended>) -> Effective {
    let as_is = Effective { decision, note: None };
    let dropped = |note| Effective { decision: Decision::Allow, note: Some(note) };
    match (decision, &event.name) {
        (Decision::Allow, _) => as_is,
        (Decision::Ask, EventName::PreToolUse) => match unattended {
            None => as_is,
            Some(Unattended::Deny) => {
                Effective { decision: Decision::Deny, note: Some("nobody is there to be asked, so it is denied") }
            }
            Some(Unattended::Allow) => dropped("it is not asked here, so it is allowed"),
        },
        (Decision::Ask, _) => dropped("only a tool call can be asked about"),
        (Decision::Deny, EventName::Stop | EventName::SubagentStop) if event.stop_hook_active => {
            dropped("a stop that a stop hook caused is never blocked")
        }
        (
            Decision::Deny,
            EventName::PreToolUse
            | EventName::UserPromptSubmit
            | EventName::PostToolUse
            | EventName::Stop
            | EventName::SubagentStop,
        ) => as_is,
        (Decision::Deny, _) => dropped("this event cannot be denied"),
    }
}
