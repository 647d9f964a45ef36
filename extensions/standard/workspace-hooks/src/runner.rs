//! Does the work of runs: a program, our own agent, another agent's program, a server; in the workspace or beside it.

mod agent;
mod child;
mod child_record;
mod command;
mod event_json;
mod external;
mod http;
mod known_agents;
mod live_output;
mod note;
mod output;
mod output_redactor;
mod patch;
mod prompt;
mod reply;
mod reply_format;
mod run_state_folder;
mod stop;

#[cfg(test)]
mod tests;

use crate::contract::{Action, RunId, RunPlace, Runner, Usage};
use crate::run_executor::{RetryAdvice, RunEnd, RunExecutor, RunJob, RunResult, SettledRun, WriteTracking};
use child_record::{ObservedWrites, ObservedWritesByRun};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::ports::Clock;
use dispatch_os::Deadline;
use dispatch_redact::{Allowed, UserPattern};
use ext_session_orchestrator::contract::Sessions;
use output_redactor::OutputRedactor;
use run_state_folder::RunStateFolder;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use known_agents::{KnownAgent, OWN_AGENT, known_agent, runner_names};

/// What the executor needs of the world.
pub(crate) struct RunnerPorts {
    /// Where worktrees, patches and marks of attempts are kept; for this crate alone.
    pub(crate) state: PathBuf,
    /// The user's own forms of secrets, for every hook.
    pub(crate) patterns: Vec<UserPattern>,
    /// What is never taken for a secret.
    pub(crate) allowed: Vec<Allowed>,
    /// Our own agent, where it is there.
    pub(crate) sessions: Option<Arc<dyn Sessions>>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// The executor of real work. What a crashed process left in the state folder is taken away in the background.
pub(crate) fn executor(ports: RunnerPorts) -> Arc<dyn RunExecutor> {
    let state_folder = RunStateFolder::new(ports.state.clone());
    let crashed = state_folder.clone();
    // A system without threads has bigger worries; the next start tries again.
    let _ = dispatch_os::threads::offload("workspace hook sweep", move || {
        crashed.sweep();
        patch::sweep(&crashed);
    });
    let is_blind = AtomicBool::new(!dispatch_os::process::may_observe());
    Arc::new(RunnerSet { ports, state_folder, writes: ObservedWritesByRun::default(), is_blind })
}

struct RunnerSet {
    ports: RunnerPorts,
    state_folder: RunStateFolder,
    writes: ObservedWritesByRun,
    /// Whether children are not observed here, which may turn out only when one has ended.
    is_blind: AtomicBool,
}

/// One attempt on its way.
struct RunAttempt<'a> {
    job: &'a RunJob,
    /// Where it works: the workspace or its place in a worktree.
    folder: PathBuf,
    place: RunPlace,
    /// What may leave.
    redactor: Arc<OutputRedactor>,
    deadline: Deadline,
    clock: &'a Arc<dyn Clock>,
    state_folder: &'a RunStateFolder,
    /// What it was seen to write so far.
    writes: ObservedWrites,
    is_blind: &'a AtomicBool,
}

impl RunnerSet {
    async fn attempt(&self, job: &RunJob) -> RunResult {
        let redactor = match OutputRedactor::of(&self.ports, &job.hook) {
            Ok(redactor) => Arc::new(redactor),
            Err(error) => return failed(format!("invalid secret patterns: {error}"), RetryAdvice::Useless),
        };
        if job.cancel.is_cancelled() {
            return ended(RunEnd::Canceled);
        }
        let attempt = RunAttempt {
            job,
            folder: job.workspace.clone(),
            place: job.hook.place,
            redactor: Arc::clone(&redactor),
            deadline: Deadline::after_ms(job.hook.timeout_ms),
            clock: &self.ports.clock,
            state_folder: &self.state_folder,
            writes: self.writes.begin(&job.run, job.attempt),
            is_blind: &self.is_blind,
        };
        let result = match attempt.place {
            RunPlace::Tree => self.work(&attempt).await,
            RunPlace::Patch => self.work_aside(attempt).await,
        };
        if note::is_due(job, &result.end) {
            note::leave(job, &result, &redactor, self.ports.clock.now_ms());
        }
        result
    }

    async fn work(&self, attempt: &RunAttempt<'_>) -> RunResult {
        match (&attempt.job.hook.action, &attempt.job.hook.runner) {
            (Action::Command(words), _) => command::run(attempt, words).await,
            (Action::Prompt(text), Runner::Agent { session }) => {
                agent::run(attempt, self.ports.sessions.as_ref(), *session, text).await
            }
            (Action::Prompt(text), Runner::External(called)) => external::run(attempt, called, text).await,
            (Action::Prompt(text), Runner::Http { url, headers }) => http::run(attempt, url, headers, text).await,
        }
    }

    /// The same in its own worktree. Only a run that succeeded offers a change.
    async fn work_aside(&self, attempt: RunAttempt<'_>) -> RunResult {
        let worktree = match patch::PatchWorktree::set_up(&attempt).await {
            Ok(worktree) => worktree,
            Err(end) => return ended(end),
        };
        let attempt = RunAttempt { folder: worktree.folder(), ..attempt };
        let mut result = self.work(&attempt).await;
        result.wrote.clear();
        let end = result.end.clone();
        match worktree.put_away(&attempt, &end).await {
            Ok(patch) => result.patch = patch,
            Err(end) => result.end = end,
        }
        result
    }
}

impl RunExecutor for RunnerSet {
    fn execute(&self, job: RunJob) -> BoxFuture<'_, RunResult> {
        Box::pin(async move { self.attempt(&job).await })
    }

    fn settle<'a>(&'a self, run: &'a RunId, attempt: u32) -> BoxFuture<'a, SettledRun> {
        Box::pin(async move {
            let marker = self.state_folder.exit_marker(run, attempt);
            // The guardian of a child outlives us by a moment, in which the child may still end well.
            if child_record::is_pending(&marker) {
                return SettledRun::Pending;
            }
            let result = match child_record::ended(&marker) {
                Some(end) => Some(child::settled(end)),
                None => agent::settle(&self.ports, &self.state_folder, run, attempt).await,
            };
            result.map_or(SettledRun::Unfinished, |result| SettledRun::Ended(Box::new(result)))
        })
    }

    fn stored(&self, run: &RunId, attempt: u32) {
        self.writes.end(run, attempt);
        self.state_folder.clear(run, attempt);
    }

    fn observed(&self, run: &RunId) -> Vec<String> {
        self.writes.of(run)
    }

    fn live(&self, run: &RunId, attempt: u32) -> Option<String> {
        live_output::read(&self.state_folder.live_output(run, attempt))
    }

    fn sight(&self) -> WriteTracking {
        if self.is_blind.load(Ordering::Relaxed) { WriteTracking::Blind } else { WriteTracking::Observes }
    }
}

/// A result of which nothing but its end is known.
fn ended(end: RunEnd) -> RunResult {
    RunResult {
        end,
        exit_code: None,
        output: String::new(),
        wrote: Vec::new(),
        usage: Usage::default(),
        session: None,
        patch: None,
    }
}

fn failed(reason: impl Into<String>, again: RetryAdvice) -> RunResult {
    ended(RunEnd::Failed { reason: reason.into(), again })
}
