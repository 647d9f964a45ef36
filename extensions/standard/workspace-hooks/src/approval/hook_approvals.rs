//! The hooks that the user approved: each with its folder, with what it does and with the content of the files that it
//! names, so that a change to one hook of a file leaves the others in force.

use super::approved_copies::{ApprovedCopies, text_of};
use super::named_file_hashes::command_files;
use super::{real_file, workspace_of_file};
use crate::config::file::{ParseContext, ParsedHookFile, parse};
use crate::config::{canonical_text, real_folder};
use crate::contract::{ContentHash, Hook};
use crate::engine::redaction_policy::RedactionPolicy;
use dispatch_os::files::{ReplaceOptions, create_dir_owner_only, read_at_most, replace_with};
use dispatch_os::{Access, Durability};
use dispatch_trust::TrustError;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The file, beside the one of approved contents.
pub(super) const APPROVALS_FILE: &str = "hook-approvals.json";
/// The largest one; some ten thousand hooks.
const LIMIT_BYTES: u64 = 64 * 1024 * 1024;

/// The approved hooks of each file of hooks.
#[derive(Clone, Debug, Default)]
pub struct HookApprovals {
    file: PathBuf,
    wire: ApprovalsWire,
    /// As they are on the disk.
    stored: ApprovalsWire,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ApprovalsWire {
    /// File of hooks, absolute and without links, to its approved hooks by id.
    #[serde(default)]
    hooks: BTreeMap<PathBuf, BTreeMap<String, ApprovedHook>>,
    /// File of hooks to the ids of those that the user switched off.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    switched_off: BTreeMap<PathBuf, BTreeSet<String>>,
}

/// What the user approved of one hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ApprovedHook {
    pub(crate) fingerprint: String,
    /// The hook in its one spelling and without secrets, to show what differs later.
    pub(crate) text: String,
    /// The files that its command names, relative to the workspace, with what they held.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) files: BTreeMap<String, ContentHash>,
}

/// Whether the content of a file of hooks keeps every rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookFileValidity {
    /// It does.
    Valid,
    /// It does not, so its hooks do not run although they are approved.
    Invalid,
}

impl HookApprovals {
    /// Those that are kept beside the user's approvals of contents; none if they cannot be read, for whatever reason.
    #[must_use]
    pub fn beside(trust_file: &Path) -> Self {
        Self::load(&trust_file.with_file_name(APPROVALS_FILE))
    }

    pub(super) fn load(file: &Path) -> Self {
        let bytes = read_at_most(file, LIMIT_BYTES).unwrap_or_default();
        let stored: ApprovalsWire = serde_json::from_slice(&bytes).unwrap_or_default();
        Self { file: file.to_path_buf(), wire: stored.clone(), stored }
    }

    /// Approves the hooks in this content of a file of hooks, in place of those before, with the files that they name
    /// as they are now. A path that is not text cannot be remembered.
    ///
    /// # Errors
    /// When a copy of a named file cannot be kept.
    pub fn approve(&mut self, hooks_file: &Path, content: &[u8]) -> Result<HookFileValidity, TrustError> {
        let parsed = hooks_in(hooks_file, content);
        let validity = if parsed.problems.is_empty() { HookFileValidity::Valid } else { HookFileValidity::Invalid };
        let file = real_file(hooks_file);
        if file.to_str().is_none() {
            return Ok(validity);
        }
        let workspace = workspace_of_file(&file);
        let copies = self.copies();
        let mut approved = BTreeMap::new();
        for hook in &parsed.hooks {
            if let Some(one) = approve_one(hook, &workspace, &copies)? {
                approved.insert(hook.id.clone(), one);
            }
        }
        self.wire.hooks.insert(file, approved);
        Ok(validity)
    }

    /// Takes back the approval of the hooks of a file.
    pub fn revoke(&mut self, hooks_file: &Path) {
        self.wire.hooks.remove(&real_file(hooks_file));
    }

    /// Switches a hook of a file off for this user, or on again.
    pub fn switch(&mut self, hooks_file: &Path, hook: &str, switch: HookSwitch) {
        let off = self.wire.switched_off.entry(real_file(hooks_file)).or_default();
        match switch {
            HookSwitch::Off => off.insert(hook.to_owned()),
            HookSwitch::On => off.remove(hook),
        };
        self.wire.switched_off.retain(|_, off| !off.is_empty());
    }

    /// Keeps what has changed, for the owner alone.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn save(&mut self) -> Result<(), TrustError> {
        if self.wire == self.stored {
            return Ok(());
        }
        if let Some(folder) = self.file.parent() {
            create_dir_owner_only(folder)?;
        }
        let text = serde_json::to_vec_pretty(&self.wire)
            .map_err(|source| TrustError::Damaged { path: self.file.clone(), source })?;
        let options =
            ReplaceOptions { durability: Durability::Content, access: Access::OwnerOnly, ..ReplaceOptions::default() };
        replace_with(&self.file, &text, options)?;
        self.stored = self.wire.clone();
        self.copies().retain(&self.hashes());
        Ok(())
    }

    /// Whether any hook of the file was ever approved.
    pub(super) fn knows(&self, hooks_file: &Path) -> bool {
        self.wire.hooks.contains_key(hooks_file)
    }

    /// What was approved of a hook of the file.
    pub(super) fn of(&self, hooks_file: &Path, hook: &str) -> Option<&ApprovedHook> {
        self.wire.hooks.get(hooks_file)?.get(hook)
    }

    /// The approved hooks of the file, by id.
    pub(super) fn all_of(&self, hooks_file: &Path) -> impl Iterator<Item = (&String, &ApprovedHook)> {
        self.wire.hooks.get(hooks_file).into_iter().flatten()
    }

    /// Whether the user switched the hook of the file off.
    pub(super) fn is_off(&self, hooks_file: &Path, hook: &str) -> bool {
        self.wire.switched_off.get(hooks_file).is_some_and(|off| off.contains(hook))
    }

    pub(super) fn copies(&self) -> ApprovedCopies {
        ApprovedCopies::beside(&self.file)
    }

    fn hashes(&self) -> BTreeSet<&str> {
        let hooks = self.wire.hooks.values().flat_map(BTreeMap::values);
        hooks.flat_map(|hook| hook.files.values()).map(String::as_str).collect()
    }
}

/// Whether the user wants a hook to run at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookSwitch {
    /// It runs if it is approved.
    On,
    /// It does not run.
    Off,
}

/// What a content of a file of hooks says.
pub(super) fn hooks_in(path: &Path, content: &[u8]) -> ParsedHookFile {
    let workspace = workspace_of_file(&real_file(path));
    let around =
        ParseContext { workspace: &workspace, folder: &real_folder, taken: &BTreeSet::new(), secret_patterns: &[] };
    parse(crate::file_names::SHOWN, content, &around)
}

/// What is approved of a hook; none if its command names more files than can be looked at.
fn approve_one(hook: &Hook, workspace: &Path, copies: &ApprovedCopies) -> Result<Option<ApprovedHook>, TrustError> {
    let Some(files) = command_files(hook, workspace) else { return Ok(None) };
    let redaction = RedactionPolicy::default();
    for (path, hash) in &files {
        if let Some(text) = text_of(&workspace.join(path)) {
            copies.keep(hash, &redaction.clean(hook, &text))?;
        }
    }
    let text = redaction.clean(hook, &canonical_text(hook));
    Ok(Some(ApprovedHook { fingerprint: hook.fingerprint.clone(), text, files }))
}
