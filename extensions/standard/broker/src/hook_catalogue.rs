//! The hooks that look at events: read from disk for every event, asked about themselves once per content.

use crate::hook_evaluation::{HookFailure, HookMeta, HookRunning};
use crate::hook_files::{HookFile, HookTrust, read_hooks};
use crate::journal::Journal;
use dispatch_contracts::folders::Folders;
use dispatch_contracts::ports::Clock;
use dispatch_contracts::storage::StorageError;
use futures_util::future::join_all;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// How long a hook counts as broken that could not be loaded in time.
const SLOW_LOAD_MS: u64 = 60_000;
/// How long the files of the hooks count as they were read: many events share a look at the folders.
const FILES_MS: u64 = 20;
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
    /// Why nothing is known of it yet, where that passes.
    pub(crate) unknown: Option<String>,
    /// Why it is switched off.
    pub(crate) disabled: Option<String>,
}

impl ReadyHook {
    /// Whether it looks at events of a channel.
    pub(crate) fn sees(&self, channel: &str) -> bool {
        self.meta.sees(channel)
    }
}

/// The hooks of this process.
pub(crate) struct HookCatalogue {
    pub(crate) runner: Arc<dyn HookRunning>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) folders: Folders,
    /// What the hooks say about themselves, by the version of their content.
    pub(crate) metas: Mutex<BTreeMap<String, KnownMeta>>,
    pub(crate) files: Mutex<Option<ReadFiles>>,
}

/// The files as they were a moment ago.
#[derive(Clone)]
pub(crate) struct ReadFiles {
    files: Arc<Vec<HookFile>>,
    at_ms: u64,
}

/// What a version of a hook said about itself.
#[derive(Clone, Debug)]
pub(crate) struct KnownMeta {
    meta: Result<HookMeta, String>,
    /// When it is asked again: one that took too long may do better on a machine with less to do.
    again_at_ms: Option<u64>,
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
        let mut hooks = join_all(self.files().iter().map(|file| self.hook(file.clone()))).await;
        // What nobody approved takes no id away from what somebody did.
        hooks.sort_by_key(|hook| hook.file.trust != HookTrust::Approved);
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

    /// Whether it is known, without asking any, that no hook looks at events of a channel.
    pub(crate) fn ignores(&self, channel: &str) -> bool {
        let metas = self.metas.lock().unwrap_or_else(PoisonError::into_inner);
        let is_blind = |file: &HookFile| match metas.get(&file.version).map(|known| &known.meta) {
            Some(Ok(meta)) if file.trust == HookTrust::Approved => !meta.sees(channel),
            _ => false,
        };
        self.files().iter().all(is_blind)
    }

    /// The files of the hooks, as they are or were a moment ago.
    fn files(&self) -> Arc<Vec<HookFile>> {
        let now_ms = self.clock.monotonic_ms();
        let mut known = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = known.as_ref().filter(|read| now_ms.saturating_sub(read.at_ms) < FILES_MS);
        if let Some(read) = fresh {
            return Arc::clone(&read.files);
        }
        let files = Arc::new(read_hooks(&self.folders));
        *known = Some(ReadFiles { files: Arc::clone(&files), at_ms: now_ms });
        files
    }

    /// A hook; what came with a project and is not approved is not even loaded.
    pub(crate) async fn hook(&self, file: HookFile) -> ReadyHook {
        let meta = if file.trust == HookTrust::Approved { self.meta(&file).await } else { Ok(HookMeta::default()) };
        let (meta, problem, unknown) = match meta {
            Ok(meta) => (meta, None, None),
            Err(MetaError::Lasting(problem)) => (HookMeta::default(), Some(problem), None),
            Err(MetaError::Passing(why)) => (HookMeta::default(), None, Some(why)),
        };
        let id = meta.id.clone().unwrap_or_else(|| file.stem());
        let problem = problem.or_else(|| id_problem(&id));
        ReadyHook { id, file, meta, problem, unknown, disabled: None }
    }

    async fn meta(&self, file: &HookFile) -> Result<HookMeta, MetaError> {
        let now_ms = self.clock.monotonic_ms();
        let known = self.metas.lock().unwrap_or_else(PoisonError::into_inner).get(&file.version).cloned();
        if let Some(known) = known.filter(|known| known.again_at_ms.is_none_or(|at| at > now_ms)) {
            return known.meta.map_err(MetaError::Lasting);
        }
        let (meta, again_at_ms) = match self.runner.meta(file).await {
            Ok(meta) => (Ok(meta), None),
            Err(HookFailure::NoWorker(why)) => return Err(MetaError::Passing(why)),
            Err(HookFailure::Failed(why)) => (Err(why), None),
            Err(HookFailure::TimedOut(why)) => (Err(why), Some(self.clock.monotonic_ms() + SLOW_LOAD_MS)),
        };
        let known = KnownMeta { meta: meta.clone(), again_at_ms };
        self.metas.lock().unwrap_or_else(PoisonError::into_inner).insert(file.version.clone(), known);
        meta.map_err(MetaError::Lasting)
    }
}

/// Why a hook says nothing about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
enum MetaError {
    /// It is asked again with the next look.
    Passing(String),
    /// It stays like this for as long as its content does.
    Lasting(String),
}

fn id_problem(id: &str) -> Option<String> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "._:@/-".contains(letter);
    let fits = !id.is_empty() && id.chars().count() <= MAX_ID_CHARS && id.chars().all(is_plain);
    (!fits).then(|| format!("invalid hook id `{id}`: an id has 1 to {MAX_ID_CHARS} letters, digits or . _ : @ / -"))
}
