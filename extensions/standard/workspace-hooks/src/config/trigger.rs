//! The trigger of a hook: what is written, or what is probably meant.
//!
//! Pure.

use super::fields::Located;
use super::findings::Findings;
use super::json::shown;
use super::migrate::present_trigger;
use crate::contract::{GIT_HOOKS, Trigger};
use dispatch_contracts::suggest::nearest;

/// The trigger that a text stands for, or a finding.
pub(crate) fn read(found: &Located<&str>, findings: &mut Findings) -> Option<Trigger> {
    let trigger = Trigger::parse(found.value);
    if trigger.is_none() {
        let message = format!("unknown trigger `{}`", shown(found.value));
        found.wrong_hinted(findings, "trigger", message, hint(found.value));
    }
    trigger
}

fn hint(word: &str) -> String {
    if let Some(now) = present_trigger(word) {
        return format!("use `{now}`");
    }
    let words = Trigger::words();
    let known: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.starts_with("custom:")).collect();
    match nearest(word, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if word.starts_with("git:") => format!("`git:` is followed by {}", GIT_HOOKS.join(", ")),
        None if word.starts_with("custom:") => {
            "`custom:` is followed by up to 80 letters, digits, `.`, `-`, `_` and `/`".to_owned()
        }
        None => {
            let single: Vec<&str> = known.into_iter().filter(|word| !word.contains(':')).collect();
            format!("a trigger is one of {}, git:HOOK or custom:NAME", single.join(", "))
        }
    }
}
