//! The hooks that look at events: read from disk for every event, asked about themselves once per content.

use crate::hook_evaluation::{HookFailure, HookMeta, HookRunner};
use crate::hook_files::{HookFile, HookTrust, read_hooks};
use crate::journal::Journal;
use dispatch_contracts::folders::Folders;
use dispatch_contracts::storage::StorageError;
use futures_util::future::join_all;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// The longest id of a hook.
const MAX_ID_CHARS: usize = 100;

/// A hook, with what it says about itself.
#[derive(Clone, Debug)]
pub(crate) struct ReadyHook {
    pub(crate) id: String,
    pub(crate) file: HookFile,
    pub(crate) meta: HookMeta,
    /// Why it cannot run, if it is not about trust.
    pub(crate) problem: Option<String>,
    /// Why it is switched off.
    pub(crate) disabled: Option<String>,
}

impl ReadyHook {
    /// Whether it looks at events of a channel.
    pub(crate) fn sees(&self, channel: &str) -> bool {
        self.meta.channels.as_ref().is_none_or(|channels| channels.iter().any(|known| known == channel))
    }
}

/// The hooks of this process.
pub(crate) struct HookCatalogue {
    pub(crate) runner: Arc<HookRunner>,
    pub(crate) folders: Folders,
    /// What the hooks say about themselves, by the version of their content.
    pub(crate) metas: Mutex<BTreeMap<String, Result<HookMeta, String>>>,
}

impl HookCatalogue {
    /// The hooks that are switched on.
    pub(crate) async fn ready(&self, journal: &Journal) -> Result<Vec<ReadyHook>, StorageError> {
        let all = self.all(journal).await?;
        Ok(all.into_iter().filter(|hook| hook.disabled.is_none()).collect())
    }

    /// Every hook, switched on or not.
    pub(crate) async fn all(&self, journal: &Journal) -> Result<Vec<ReadyHook>, StorageError> {
        let disabled = journal.disabled().await?;
        let hooks = join_all(read_hooks(&self.folders).into_iter().map(|file| self.hook(file))).await;
        let mut taken = BTreeSet::new();
        let named = hooks.into_iter().map(|mut hook| {
            if !taken.insert(hook.id.clone()) {
                hook.problem = Some(format!("another hook has the id `{}` already", hook.id));
                // It has a line of its own in the journal.
                hook.id = format!("{} ({})", hook.id, hook.file.path.display());
            }
            hook.disabled = disabled.get(&(hook.file.origin.key(), hook.id.clone())).cloned();
            hook
        });
        Ok(named.collect())
    }

    /// A hook; what came with a project and is not approved is not even loaded.
    pub(crate) async fn hook(&self, file: HookFile) -> ReadyHook {
        let meta = if file.trust == HookTrust::Approved { self.meta(&file).await } else { Ok(HookMeta::default()) };
        let (meta, problem) = match meta {
            Ok(meta) => (meta, None),
            Err(problem) => (HookMeta::default(), Some(problem)),
        };
        let id = meta.id.clone().unwrap_or_else(|| file.stem());
        let problem = problem.or_else(|| id_problem(&id));
        ReadyHook { id, file, meta, problem, disabled: None }
    }

    async fn meta(&self, file: &HookFile) -> Result<HookMeta, String> {
        let known = self.metas.lock().unwrap_or_else(PoisonError::into_inner).get(&file.version).cloned();
        if let Some(known) = known {
            return known;
        }
        let meta = match self.runner.meta(file).await {
            Ok(meta) => Ok(meta),
            // It is asked again with the next event.
            Err(HookFailure::NoWorker(why)) => return Err(why),
            Err(HookFailure::Failed(why) | HookFailure::TimedOut(why)) => Err(why),
        };
        self.metas.lock().unwrap_or_else(PoisonError::into_inner).insert(file.version.clone(), meta.clone());
        meta
    }
}

fn id_problem(id: &str) -> Option<String> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "._:@/-".contains(letter);
    let fits = !id.is_empty() && id.chars().count() <= MAX_ID_CHARS && id.chars().all(is_plain);
    (!fits).then(|| format!("invalid hook id `{id}`: an id has 1 to {MAX_ID_CHARS} letters, digits or . _ : @ / -"))
}
