//! Where a dispatch belongs: the workspace whose settings hold for it, the extensions that take part in its turn, what was
//! set for their process alone and the permission rules that it was sent under; and whether a process can run it as it
//! was meant.
//!
//! Pure.

use crate::contract::DispatchId;
use dispatch_contracts::permission::PermissionRule;
use dispatch_contracts::settings::{Origin, Setting, Settings};
use dispatch_os::digest::{hex, sha256};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How long a message may be due before a list says that no process takes it: every process looks once a second.
pub(crate) const OVERDUE_MS: u64 = 3_000;
/// How many extensions a reason names.
const NAMED_EXTENSIONS: usize = 4;

/// Where a dispatch belongs; stored with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DispatchScope {
    /// The folder whose settings and rules hold.
    pub(crate) workspace: PathBuf,
    /// The extensions beside the core that were active; not known of a message that an older version stored.
    pub(crate) extensions: Option<BTreeSet<String>>,
    /// What the process that took it in was told about secrets and extensions at its start, as digests; not known of a
    /// message that an older version stored. What files say holds for every process in the workspace.
    #[serde(default)]
    pub(crate) settings: Option<SettingDigests>,
    /// The configured permission rules; whoever runs it adds its own, and the strictest answer holds.
    #[serde(default)]
    pub(crate) rules: Vec<PermissionRule>,
}

/// Settings by name, each as a digest: a value may hold a secret.
pub(crate) type SettingDigests = BTreeMap<String, String>;

/// The settings that can weaken or strengthen what guards a turn, of those that were set for one process: by a flag or
/// the environment. What the core is told guards nothing.
pub(crate) fn own_settings(settings: &Settings, core: &BTreeSet<String>) -> SettingDigests {
    let matters = |name: &str| {
        let extension = name.strip_prefix("extensions.").and_then(|rest| rest.split_once('.')).map(|(id, _)| id);
        name.starts_with("redact.") || extension.is_some_and(|id| !core.contains(id))
    };
    let is_own = |setting: &Setting| matches!(setting.origin, Origin::Environment { .. } | Origin::Flag { .. });
    let found = settings.iter().filter(|(name, setting)| is_own(setting) && matters(name));
    found.map(|(name, setting)| (name.to_owned(), hex(sha256(setting.value.to_string().as_bytes())))).collect()
}

/// Says whether a folder is there.
pub(crate) type FolderCheck = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// What a process can run.
#[derive(Clone)]
pub(crate) struct RunnerScope {
    pub(crate) workspace: PathBuf,
    /// The active extensions beside the core.
    pub(crate) extensions: Arc<BTreeSet<String>>,
    /// What was set for this process alone.
    pub(crate) settings: Arc<SettingDigests>,
    pub(crate) folder_exists: FolderCheck,
}

impl RunnerScope {
    /// Whether this process runs a dispatch as it was meant.
    pub(crate) fn can_run(&self, scope: Option<&DispatchScope>, folder: Option<&Path>) -> bool {
        let Some(scope) = scope else { return false };
        let complete = match &scope.extensions {
            Some(needed) => needed.is_subset(&self.extensions),
            None => !self.extensions.is_empty(),
        };
        let is_set_alike = scope.settings.as_ref().is_none_or(|settings| *settings == *self.settings);
        let here = scope.workspace == self.workspace && is_set_alike;
        here && complete && folder.is_none_or(|folder| (self.folder_exists)(folder))
    }
}

/// Why a message waits although it is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WaitReason {
    /// An older version stored it without its folder.
    UnknownFolder { id: DispatchId },
    /// The folder that it works in is gone.
    MissingFolder { id: DispatchId, folder: PathBuf },
    /// No process that could run it is there.
    NoProcess { workspace: PathBuf, extensions: Vec<String>, settings: Vec<String> },
    /// A message before it in its session waits.
    Behind { id: DispatchId },
}

impl fmt::Display for WaitReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownFolder { id } => write!(
                out,
                "an older version stored it without its folder; `dispatch queue move {id} FOLDER` says where it runs, \
                 `dispatch queue cancel {id}` takes it back"
            ),
            Self::MissingFolder { id, folder } => write!(
                out,
                "the folder {} does not exist any more; `dispatch queue move {id} FOLDER` sends it elsewhere, \
                 `dispatch queue cancel {id}` takes it back",
                folder.display()
            ),
            Self::NoProcess { workspace, extensions, settings } => {
                write!(out, "no running process can take it: it needs one that works in {}", workspace.display())?;
                match extensions.as_slice() {
                    [] => {}
                    few if few.len() <= NAMED_EXTENSIONS => write!(out, " with {}", few.join(", "))?,
                    many => write!(
                        out,
                        " with {} and {} more extensions",
                        many.get(..NAMED_EXTENSIONS).unwrap_or_default().join(", "),
                        many.len() - NAMED_EXTENSIONS
                    )?,
                }
                if !settings.is_empty() {
                    write!(
                        out,
                        ", started with the same values of {} as the one that took it in",
                        settings.join(", ")
                    )?;
                }
                write!(out, "; `dispatch --project '{}' serve` starts one", workspace.display())?;
                if settings.is_empty() { Ok(()) } else { write!(out, " if it is given the same `--set` or variables") }
            }
            Self::Behind { id } => write!(out, "it waits behind {id} of the same session"),
        }
    }
}

/// A message that waits, as far as the reason is concerned.
#[derive(Clone, Debug)]
pub(crate) struct WaitingMessage {
    pub(crate) id: DispatchId,
    pub(crate) session: String,
    pub(crate) scope: Option<DispatchScope>,
    pub(crate) folder: Option<PathBuf>,
    /// Since when the session could be taken up and is not; `None` while a process has it.
    pub(crate) free_since_ms: Option<u64>,
}

/// Why each message waits that no process can take, as the process that looks sees it; `waiting` is in the order of sessions and of what came first.
pub(crate) fn wait_reasons(
    waiting: &[WaitingMessage],
    now_ms: u64,
    looking: &RunnerScope,
) -> BTreeMap<DispatchId, WaitReason> {
    let mut reasons = BTreeMap::new();
    let mut stuck: Option<(&str, &DispatchId)> = None;
    for message in waiting {
        match stuck {
            Some((session, first)) if session == message.session => {
                reasons.insert(message.id.clone(), WaitReason::Behind { id: first.clone() });
            }
            _ => {
                if let Some(reason) = wait_reason(message, now_ms, looking) {
                    reasons.insert(message.id.clone(), reason);
                    stuck = Some((&message.session, &message.id));
                }
            }
        }
    }
    reasons
}

fn wait_reason(message: &WaitingMessage, now_ms: u64, looking: &RunnerScope) -> Option<WaitReason> {
    let free_since_ms = message.free_since_ms?;
    let id = message.id.clone();
    let Some(scope) = &message.scope else { return Some(WaitReason::UnknownFolder { id }) };
    let gone = |folder: &&PathBuf| !(looking.folder_exists)(folder);
    if let Some(folder) = message.folder.iter().chain([&scope.workspace]).find(gone) {
        return Some(WaitReason::MissingFolder { id, folder: folder.clone() });
    }
    (now_ms.saturating_sub(free_since_ms) >= OVERDUE_MS).then(|| WaitReason::NoProcess {
        workspace: scope.workspace.clone(),
        extensions: scope.extensions.iter().flatten().cloned().collect(),
        settings: scope.settings.as_ref().map(|sent| differing(sent, &looking.settings)).unwrap_or_default(),
    })
}

/// The settings that one process was given another value of than the other, or none.
fn differing(sent: &SettingDigests, looking: &SettingDigests) -> Vec<String> {
    let names: BTreeSet<&String> = sent.keys().chain(looking.keys()).collect();
    let differ = names.into_iter().filter(|name| sent.get(*name) != looking.get(*name));
    differ.map(|name| format!("`{name}`")).collect()
}

#[cfg(test)]
mod tests;
