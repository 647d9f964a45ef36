//! What runs the code of an extension: workers of this program, or a program of its own.

use crate::folder::ExtensionFolder;
use crate::host_calls::HostCalls;
use crate::program::ExtensionProgram;
use crate::worker::{CallFailure, ExtensionWorkers, WorkerCall};
use serde_json::Value;
use std::sync::Arc;

/// Both understand the same calls.
pub(crate) enum ExtensionProcesses {
    /// TypeScript and JavaScript.
    Workers(ExtensionWorkers),
    /// Any other language.
    Program(ExtensionProgram),
}

impl ExtensionProcesses {
    /// What runs the code of a folder; a command line makes it a program. Nothing is started yet.
    pub(crate) fn new(folder: &Arc<ExtensionFolder>, program: &[String]) -> Result<Self, String> {
        match (folder.entry(), program.is_empty()) {
            (Some(entry), true) => ExtensionWorkers::new(Arc::clone(folder), entry).map(Self::Workers),
            (None, true) => Err("there is no `index.ts`, which exports `activate(host)`, and no `program`".to_owned()),
            (Some(entry), false) => Err(format!("it has both `{entry}` and a `program` in its manifest; remove one")),
            (None, false) => Ok(Self::Program(ExtensionProgram::new(Arc::clone(folder), program.to_vec()))),
        }
    }

    /// The worker processes that run; a program of its own is not listed.
    pub(crate) fn worker_ids(&self) -> Vec<u32> {
        match self {
            Self::Workers(workers) => workers.worker_ids(),
            Self::Program(_) => Vec::new(),
        }
    }

    /// The code of this program that runs the extension's own; none for a program, which does at its start what it likes.
    pub(crate) fn adapter(&self) -> Option<String> {
        match self {
            Self::Workers(workers) => Some(workers.adapter()),
            Self::Program(_) => None,
        }
    }

    /// Whether the code can do what the user can: the host's gate is not the only way out.
    pub(crate) const fn are_unconfined(&self) -> bool {
        matches!(self, Self::Program(_))
    }

    /// Runs one call. Whoever drops this ends it.
    pub(crate) async fn run(&self, call: WorkerCall, host: &HostCalls) -> Result<Value, CallFailure> {
        match self {
            Self::Workers(workers) => workers.run(call, host).await,
            Self::Program(program) => program.run(call, host).await,
        }
    }

    /// The same in every process that runs.
    pub(crate) async fn run_in_all(&self, call: impl Fn() -> WorkerCall, host: &HostCalls) -> Result<(), CallFailure> {
        match self {
            Self::Workers(workers) => workers.run_in_all(call, host).await,
            Self::Program(program) => program.run(call(), host).await.map(drop),
        }
    }

    /// Ends the processes, without waiting for them.
    pub(crate) fn end(&self) {
        match self {
            Self::Workers(workers) => workers.end(),
            Self::Program(program) => program.end(),
        }
    }
}
