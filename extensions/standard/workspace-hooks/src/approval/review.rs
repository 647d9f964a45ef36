//! What an approval of a file of hooks would approve, and how that differs from what was approved before.

use super::approved_copies::text_of;
use super::hook_approvals::{ApprovedHook, HookApprovals, hooks_in};
use super::named_file_hashes::command_files;
use super::{real_file, workspace_of_file};
use crate::config::canonical_text;
use crate::contract::{ContentHash, Hook};
use crate::engine::redaction_policy::RedactionPolicy;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How a hook stands to what was approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReviewState {
    /// Nothing of this id was approved.
    New,
    /// It, or a file that it names, differs from what was approved.
    Changed,
    /// It is as it was approved.
    Same,
    /// It was approved and is not written down any more.
    Removed,
    /// Its command names more files than can be looked at, so it cannot be approved.
    TooLarge,
}

/// One text as it was approved and as it is now, without secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewedText {
    /// What it is: the hook's id, or the path of a file relative to the workspace.
    pub name: String,
    /// As it was approved; none if it was not, or cannot be shown.
    pub before: Option<String>,
    /// As it is now; none if it is gone or cannot be shown.
    pub after: Option<String>,
    /// Whether the two differ, also where they cannot be shown.
    pub differs: bool,
    /// SHA-256 of what a file holds now; none for a hook and for a file that is gone.
    pub sha256: Option<ContentHash>,
}

/// What an approval would approve of one hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookReview {
    /// The hook.
    pub hook_id: String,
    /// How it stands.
    pub state: ReviewState,
    /// What it does, with every default filled in, as JSON over several lines.
    pub hook: ReviewedText,
    /// The files that its command names.
    pub files: Vec<ReviewedText>,
}

/// What approving this content of a file of hooks would approve.
#[must_use]
pub fn review_hooks(approvals: &HookApprovals, hooks_file: &Path, content: &[u8]) -> Vec<HookReview> {
    let file = real_file(hooks_file);
    let workspace = workspace_of_file(&file);
    let hooks = hooks_in(hooks_file, content).hooks;
    let review = Review { approvals, workspace: &workspace, redaction: RedactionPolicy::default() };
    let mut reviews: Vec<HookReview> =
        hooks.iter().map(|hook| review.of(hook, approvals.of(&file, &hook.id))).collect();
    let ids: BTreeSet<&String> = hooks.iter().map(|hook| &hook.id).collect();
    let gone = approvals.all_of(&file).filter(|(id, _)| !ids.contains(id));
    reviews.extend(gone.map(|(id, approved)| removed(id, approved)));
    reviews
}

struct Review<'a> {
    approvals: &'a HookApprovals,
    workspace: &'a Path,
    redaction: RedactionPolicy,
}

impl Review<'_> {
    fn of(&self, hook: &Hook, approved: Option<&ApprovedHook>) -> HookReview {
        let now = command_files(hook, self.workspace);
        let state = match (approved, &now) {
            (_, None) => ReviewState::TooLarge,
            (None, Some(_)) => ReviewState::New,
            (Some(before), Some(now)) if before.fingerprint == hook.fingerprint && before.files == *now => {
                ReviewState::Same
            }
            (Some(_), Some(_)) => ReviewState::Changed,
        };
        let text = ReviewedText {
            name: hook.id.clone(),
            before: approved.map(|before| pretty(&before.text)),
            after: Some(pretty(&self.redaction.clean(hook, &canonical_text(hook)))),
            differs: approved.is_none_or(|before| before.fingerprint != hook.fingerprint),
            sha256: None,
        };
        let before = approved.map(|before| before.files.clone()).unwrap_or_default();
        HookReview {
            hook_id: hook.id.clone(),
            state,
            hook: text,
            files: self.files(hook, &before, &now.unwrap_or_default()),
        }
    }

    fn files(
        &self,
        hook: &Hook,
        before: &BTreeMap<String, ContentHash>,
        now: &BTreeMap<String, ContentHash>,
    ) -> Vec<ReviewedText> {
        let copies = self.approvals.copies();
        let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        let text = |name: &String| ReviewedText {
            name: name.clone(),
            before: before.get(name).and_then(|hash| copies.text(hash)),
            after: now
                .get(name)
                .and_then(|_| text_of(&self.workspace.join(name)))
                .map(|text| self.redaction.clean(hook, &text)),
            differs: before.get(name) != now.get(name),
            sha256: now.get(name).cloned(),
        };
        names.into_iter().map(text).collect()
    }
}

fn removed(id: &str, approved: &ApprovedHook) -> HookReview {
    let hook = ReviewedText {
        name: id.to_owned(),
        before: Some(pretty(&approved.text)),
        after: None,
        differs: true,
        sha256: None,
    };
    HookReview { hook_id: id.to_owned(), state: ReviewState::Removed, hook, files: Vec::new() }
}

fn pretty(text: &str) -> String {
    let value = serde_json::from_str::<Value>(text);
    value.and_then(|value| serde_json::to_string_pretty(&value)).unwrap_or_else(|_| text.to_owned())
}
