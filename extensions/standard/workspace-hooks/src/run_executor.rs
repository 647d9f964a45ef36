//! The seam between the queue and whatever does the work of a run.

use crate::contract::{FileChange, Hook, RunId, Usage};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::Arc;

/// One attempt of one run.
#[derive(Clone)]
pub(crate) struct RunJob {
    pub(crate) run: RunId,
    pub(crate) hook: Arc<Hook>,
    pub(crate) workspace: PathBuf,
    /// From 1.
    pub(crate) attempt: u32,
    /// With the content hashes that the run was claimed for.
    pub(crate) files: Vec<FileChange>,
    pub(crate) metadata: Map<String, Value>,
    /// Cancelled when somebody takes the run back or the program ends. The time limit is the executor's own.
    pub(crate) cancel: CancelToken,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RunEnd {
    Success,
    Failed {
        /// One sentence, free of secrets.
        reason: String,
        again: RetryAdvice,
    },
    Timeout,
    Canceled,
    /// Every call of the agent was refused.
    Refused {
        /// One sentence, free of secrets.
        reason: String,
    },
}

/// Whether the same attempt could go better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryAdvice {
    Worthwhile,
    Useless,
}

/// What an attempt leaves. Every text is free of secrets and cut to size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunResult {
    pub(crate) end: RunEnd,
    pub(crate) exit_code: Option<i32>,
    pub(crate) output: String,
    /// Files of the workspace that it wrote, relative to it, as far as it is known.
    pub(crate) wrote: Vec<String>,
    pub(crate) usage: Usage,
    pub(crate) session: Option<String>,
    /// A file with the change that it offers.
    pub(crate) patch: Option<PathBuf>,
}

/// Whether it is seen which files an attempt writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteTracking {
    /// `wrote` and `observed` are complete.
    Observes,
    /// Nothing is known: what becomes of a run's own files while it goes counts as its work.
    Blind,
}

/// What is known of an attempt whose process died before it could store the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SettledRun {
    /// It came to its end.
    Ended(Box<RunResult>),
    /// It never got that far.
    Unfinished,
    /// It is not over yet, but will be soon.
    Pending,
}

/// Does the work of runs.
pub(crate) trait RunExecutor: Send + Sync {
    /// Makes one attempt. Ends in time whatever happens, and leaves no process behind.
    fn execute(&self, job: RunJob) -> BoxFuture<'_, RunResult>;
    /// How an attempt ended whose process died before it could store the end.
    fn settle<'a>(&'a self, run: &'a RunId, attempt: u32) -> BoxFuture<'a, SettledRun>;
    /// The end of an attempt is stored: nobody will want to know it again.
    fn stored(&self, _run: &RunId, _attempt: u32) {}
    /// Files of the workspace that an attempt which goes here was seen to write so far, relative to it. Asked often.
    fn observed(&self, _run: &RunId) -> Vec<String> {
        Vec::new()
    }
    /// What an attempt that goes has printed so far, whichever process runs it.
    fn live(&self, _run: &RunId, _attempt: u32) -> Option<String> {
        None
    }
    /// Whether it is seen which files an attempt writes.
    fn sight(&self) -> WriteTracking;
}
