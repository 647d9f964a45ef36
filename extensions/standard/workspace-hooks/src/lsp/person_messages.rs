//! What a person has to see in every editor: hooks that wait for approval, a file that is invalid, a hook that fails.
//!
//! Pure.

use super::wire::MessageTypeWire;
use crate::contract::{ExecutionRecord, HookSet, Status};
use lsp_server::{Message, Notification};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// More names of hooks are counted.
const MAX_NAMES: usize = 3;

/// Remembers what was shown, so that nothing is shown twice.
#[derive(Debug, Default)]
pub(super) struct PersonMessages {
    waiting: BTreeMap<PathBuf, Vec<String>>,
    invalid: BTreeSet<PathBuf>,
    failing: BTreeSet<(String, String)>,
    late: BTreeSet<String>,
}

impl PersonMessages {
    /// What is to be shown about the hooks of a workspace.
    pub(super) fn about_hooks(&mut self, workspace: &Path, set: &HookSet) -> Vec<Message> {
        let mut messages = Vec::new();
        let waiting: Vec<String> = set.waiting_for_approval().map(str::to_owned).collect();
        let before = self.waiting.insert(workspace.to_path_buf(), waiting.clone());
        if !waiting.is_empty() && before.as_ref() != Some(&waiting) {
            messages.push(show(MessageTypeWire::Warning, &waiting_text(&waiting)));
        }
        match set.problems.first() {
            Some(problem) if self.invalid.insert(workspace.to_path_buf()) => {
                let place = format!("{}:{}:{}", problem.file, problem.line, problem.column);
                let text = format!("{place}: {}; the last valid hooks stay on", problem.message);
                messages.push(show(MessageTypeWire::Warning, &text));
            }
            Some(_) => {}
            None => {
                self.invalid.remove(workspace);
            }
        }
        messages
    }

    /// What is to be shown about hooks that were not done before a save: each once.
    pub(super) fn about_late(&mut self, hooks: &[String]) -> Vec<Message> {
        let fresh = hooks.iter().filter(|hook| self.late.insert((*hook).clone()));
        fresh.map(|hook| show(MessageTypeWire::Warning, &late_text(hook))).collect()
    }

    /// What is to be shown about a run that is over: the first of a row of failures of its hook.
    pub(super) fn about_run(&mut self, record: &ExecutionRecord) -> Option<Message> {
        let key = (record.workspace.clone(), record.hook_id.clone());
        match record.status {
            Status::Failed | Status::Timeout | Status::Refused if self.failing.insert(key.clone()) => {
                let text = format!("hook `{}`: {}: {}", record.hook_id, record.status.word(), record.reason);
                Some(show(MessageTypeWire::Error, text.trim_end_matches(": ")))
            }
            Status::Success => {
                self.failing.remove(&key);
                None
            }
            _ => None,
        }
    }
}

/// What is said about a hook that was not done before a save.
pub(super) fn late_text(hook: &str) -> String {
    format!("hook `{hook}` was not done in time, so the file is saved without what it changes")
}

fn waiting_text(waiting: &[String]) -> String {
    let names: Vec<String> = waiting.iter().take(MAX_NAMES).map(|name| format!("`{name}`")).collect();
    let more = match waiting.len().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let hooks = if waiting.len() == 1 { "hook waits" } else { "hooks wait" };
    let names = names.join(", ");
    format!("{hooks} for your approval: {names}{more}; review with `dispatch trust .akira/hooks.json`")
}

fn show(kind: MessageTypeWire, text: &str) -> Message {
    let params = json!({ "type": kind, "message": format!("Dispatch: {text}") });
    Notification { method: "window/showMessage".to_owned(), params }.into()
}

#[cfg(test)]
mod tests {
    use super::super::tests::record;
    use super::*;
    use crate::contract::Dormant;

    fn texts(messages: impl IntoIterator<Item = Message>) -> Vec<String> {
        let text = |message: Message| match message {
            Message::Notification(notification) => notification.params["message"].as_str().unwrap().to_owned(),
            Message::Request(_) | Message::Response(_) => panic!("a notification"),
        };
        messages.into_iter().map(text).collect()
    }

    #[test]
    fn waiting_hooks_are_shown_once_and_again_when_others_wait() {
        let mut messages = PersonMessages::default();
        let set = |ids: &[&str]| {
            let dormant = |id: &&str| Dormant {
                hook_id: (*id).to_owned(),
                reason: String::new(),
                waits_for_approval: *id != "off",
            };
            HookSet { dormant: ids.iter().map(dormant).collect(), ..HookSet::default() }
        };
        let place = Path::new("/w");
        let told = texts(messages.about_hooks(place, &set(&["a", "off"])));
        let expected = "Dispatch: hook waits for your approval: `a`; review with `dispatch trust .akira/hooks.json`";
        assert_eq!(told, [expected]);
        assert!(messages.about_hooks(place, &set(&["a"])).is_empty());
        let many = texts(messages.about_hooks(place, &set(&["a", "b", "c", "d"])));
        assert!(many[0].contains("hooks wait for your approval: `a`, `b`, `c` and 1 more"), "{many:?}");
        assert!(messages.about_hooks(place, &HookSet::default()).is_empty());
    }

    #[test]
    fn a_hook_that_is_late_again_and_again_is_shown_once() {
        let mut messages = PersonMessages::default();
        let told = texts(messages.about_late(&["fmt".to_owned()]));
        assert_eq!(told, [format!("Dispatch: {}", late_text("fmt"))]);
        assert!(messages.about_late(&["fmt".to_owned()]).is_empty());
        assert_eq!(messages.about_late(&["fmt".to_owned(), "lint".to_owned()]).len(), 1);
    }

    #[test]
    fn a_hook_that_fails_again_and_again_is_shown_once() {
        let mut messages = PersonMessages::default();
        let failed = ExecutionRecord { reason: "exit code 1".to_owned(), ..record("lint", "1", Status::Failed) };
        assert_eq!(texts(messages.about_run(&failed)), ["Dispatch: hook `lint`: failed: exit code 1"]);
        assert!(messages.about_run(&failed).is_none());
        assert!(messages.about_run(&record("lint", "2", Status::Success)).is_none());
        assert!(messages.about_run(&failed).is_some());
    }
}
