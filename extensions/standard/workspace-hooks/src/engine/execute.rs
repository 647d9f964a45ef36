//! One attempt of one run, from its claim to its stored end.

use super::ending::AttemptStop;
use super::finish::{AttemptEnding, RunLease, finish};
use super::{Engine, RunningAttempt, digest};
use crate::contract::{ContentHash, FileChange, Hook, RunId, Usage};
use crate::run_executor::{RetryAdvice, RunEnd, RunJob, RunResult, WriteTracking};
use crate::run_store::{Run, RunStoreError, workspace_key};
use dispatch_contracts::cancel::CancelToken;
use futures_util::FutureExt;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;

/// The most files of one run of which it is remembered that it wrote them.
const MAX_WRITTEN: usize = 2_000;
/// How long a failed store is waited for, at first and at most, before it is tried again.
const FIRST_PAUSE_MS: u64 = 250;
const LONGEST_PAUSE_MS: u64 = 10_000;

impl Engine {
    /// Begins an attempt in the background.
    pub(super) fn begin(self: &Arc<Self>, workspace: &Path, run: Run, hook: Arc<Hook>, files: Vec<FileChange>) {
        let cancel = CancelToken::new();
        let going = RunningAttempt {
            number: run.number,
            attempt: run.attempts,
            workspace: workspace.to_path_buf(),
            cancel: cancel.clone(),
            halt: AttemptStop::None,
            noted: BTreeSet::new(),
        };
        self.going().insert(run.id.clone(), going);
        let job = RunJob {
            run: run.id.clone(),
            hook,
            workspace: workspace.to_path_buf(),
            attempt: run.attempts,
            files,
            metadata: run.facts.metadata.clone(),
            cancel,
        };
        let this = Arc::clone(self);
        (self.ports.spawn)(Box::pin(async move {
            this.attempt(&run, job).await;
            this.gone(&run);
            this.signal.wake();
        }));
    }

    /// The next attempt may have begun as soon as the end of this one was stored.
    fn gone(&self, run: &Run) {
        let mut going = self.going();
        if going.get(&run.id).is_some_and(|going| going.attempt == run.attempts) {
            going.remove(&run.id);
        }
    }

    async fn attempt(&self, run: &Run, job: RunJob) {
        let hook = Arc::clone(&job.hook);
        let (workspace, files) = (job.workspace.clone(), job.files.clone());
        let executing = AssertUnwindSafe(self.ports.executor.execute(job)).catch_unwind();
        let result = executing.await.unwrap_or_else(|_| broken());
        let lease = RunLease::of(run, &self.ports.owner);
        let own: Vec<FileChange> = match self.ports.executor.sight() {
            WriteTracking::Observes => Vec::new(),
            WriteTracking::Blind => files,
        };
        let (left, wrote) = self.left(&workspace, &hook, &result.wrote, &own).await;
        let halt = self.going().get(&run.id).map_or(AttemptStop::None, |going| going.halt);
        let ending = AttemptEnding {
            lease,
            result,
            left,
            wrote,
            halt,
            retry: hook.retry,
            timeout_ms: Some(hook.timeout_ms),
            now_ms: self.now_ms(),
            random: self.random(),
        };
        self.end(&run.id, ending).await;
        self.ports.executor.stored(&run.id, run.attempts);
    }

    /// What the files hold that an attempt wrote, and their names as they may be shown. `own` are files that count as
    /// written if they have changed.
    pub(super) async fn left(
        &self,
        workspace: &Path,
        hook: &Hook,
        wrote: &[String],
        own: &[FileChange],
    ) -> (BTreeMap<String, Option<ContentHash>>, Vec<String>) {
        let mut paths: Vec<String> = wrote.iter().take(MAX_WRITTEN).cloned().collect();
        let before: BTreeMap<&str, &Option<ContentHash>> =
            own.iter().map(|file| (file.path.as_str(), &file.content_hash)).collect();
        paths.extend(
            before.keys().filter(|path| !wrote.iter().any(|known| known == *path)).map(|path| (*path).to_owned()),
        );
        if paths.is_empty() {
            return (BTreeMap::new(), Vec::new());
        }
        let now = self.ports.contents.hashes(workspace, paths.clone()).await;
        let changed = paths.into_iter().zip(now).filter(|(path, now)| {
            wrote.iter().any(|known| known == path) || before.get(path.as_str()).is_none_or(|before| **before != *now)
        });
        let (mut left, mut shown) = (BTreeMap::new(), Vec::new());
        for (path, content) in changed {
            shown.push(self.redaction.clean(hook, &path));
            left.insert(digest(&path), content);
        }
        (left, shown)
    }

    /// Stores an end, however long it takes: an attempt whose end is lost would be made again.
    async fn end(&self, id: &RunId, ending: AttemptEnding) {
        let mut pause_ms = FIRST_PAUSE_MS;
        loop {
            let attempt = ending.clone();
            match self.store.transact(workspace_key(&attempt.lease.workspace), move |tx| finish(tx, attempt)).await {
                Ok(run) => return self.tell(&run),
                Err(RunStoreError::Fenced) => {
                    return (self.ports.warn)(format!("run {id} was taken over by another process"));
                }
                Err(error) => (self.ports.warn)(format!("the end of run {id} cannot be stored yet: {error}")),
            }
            self.ports.clock.sleep_ms(pause_ms).await;
            pause_ms = (pause_ms * 2).min(LONGEST_PAUSE_MS);
        }
    }

    /// A number that nobody can foresee, from an id that is unique.
    pub(super) fn random(&self) -> u64 {
        let fold = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        self.ports.ids.next_id().bytes().fold(0xcbf2_9ce4_8422_2325, fold)
    }
}

fn broken() -> RunResult {
    let reason = "the runner broke off; the log of the program says why".to_owned();
    RunResult {
        end: RunEnd::Failed { reason, again: RetryAdvice::Worthwhile },
        exit_code: None,
        output: String::new(),
        wrote: Vec::new(),
        usage: Usage::default(),
        session: None,
        patch: None,
    }
}
