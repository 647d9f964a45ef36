//! Ends attempts in the store, each in one step: by their process, by its successor, or by a person.

use super::attempt_output::with_attempt;
use super::ending::{AttemptFollowUp, AttemptOutcome, AttemptStop, CountsAsFailure, after, after_death};
use super::pace::day;
use crate::contract::{ContentHash, Retry, RunId, RunsError, Status};
use crate::run_executor::RunResult;
use crate::run_store::{FileWrite, FileWriteState, Run, RunStoreError, RunTransaction};
use dispatch_durable_queue::LeaseToken;
use std::collections::BTreeMap;

/// The right to one attempt; whoever is not its owner any more has no say about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunLease {
    pub(crate) workspace: String,
    pub(crate) number: u64,
    pub(crate) token: LeaseToken,
}

impl RunLease {
    /// The lease under which an owner makes the present attempt of a run.
    pub(crate) fn of(run: &Run, owner: &str) -> Self {
        let token = LeaseToken { owner: owner.to_owned(), fence: u64::from(run.attempts) };
        Self { workspace: run.key.workspace.clone(), number: run.number, token }
    }
}

/// How an attempt ended.
#[derive(Clone, Debug)]
pub(crate) struct AttemptEnding {
    pub(crate) lease: RunLease,
    pub(crate) result: RunResult,
    /// What the files that it wrote hold now, by the digest of their names.
    pub(crate) left: BTreeMap<String, Option<ContentHash>>,
    /// The names of those files as they may be shown.
    pub(crate) wrote: Vec<String>,
    pub(crate) halt: AttemptStop,
    pub(crate) retry: Retry,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) now_ms: u64,
    pub(crate) random: u64,
}

/// Stores the end of an attempt.
pub(crate) fn finish(tx: &mut RunTransaction<'_>, ending: AttemptEnding) -> Result<Run, RunStoreError> {
    let mut run = held(tx, &ending.lease)?;
    let result = &ending.result;
    let halt = match run.stop {
        true if run.facts.superseded => AttemptStop::Restart,
        true => AttemptStop::Person,
        false => ending.halt,
    };
    let next = after(AttemptOutcome {
        end: &result.end,
        halt,
        failures: run.facts.failures,
        retry: ending.retry,
        timeout_ms: ending.timeout_ms,
        now_ms: ending.now_ms,
        random: ending.random,
    });
    run.facts.exit_code = result.exit_code;
    run.facts.wrote.clone_from(&ending.wrote);
    run.facts.session.clone_from(&result.session);
    run.facts.patch = result.patch.as_ref().map(|path| path.display().to_string());
    run.facts.patch_applied = false;
    run.facts.usage.tokens = run.facts.usage.tokens.saturating_add(result.usage.tokens);
    run.facts.usage.micro_usd = run.facts.usage.micro_usd.saturating_add(result.usage.micro_usd);
    run.facts.left = ending.left.get(&run.key.subject).map(|content| content.clone().unwrap_or_default());
    proceed(&mut run, next, ending.now_ms);
    tx.save(&mut run)?;
    tx.forget_live(run.number)?;
    for (path, content) in &ending.left {
        tx.forget_left(&run.key.workspace, path)?;
        let write = FileWrite {
            path: path.clone(),
            run: run.number,
            state: FileWriteState::Left,
            content: content.clone(),
            at_ms: ending.now_ms,
        };
        tx.keep_write(&run.key.workspace, &write)?;
    }
    if result.usage != crate::contract::Usage::default() {
        tx.spend(&run.key.workspace, &run.key.hook, day(ending.now_ms), result.usage)?;
    }
    if !result.output.is_empty() {
        let earlier = tx.output(run.number)?;
        tx.keep_output(run.number, &with_attempt(earlier.as_deref(), run.attempts, &result.output))?;
    }
    Ok(run)
}

fn proceed(run: &mut Run, next: AttemptFollowUp, now_ms: u64) {
    match next {
        AttemptFollowUp::Over { status, reason } => run.end(status, reason, now_ms),
        AttemptFollowUp::Again { not_before_ms, failed, reason } => {
            if failed == CountsAsFailure::Yes {
                run.facts.failures = run.facts.failures.saturating_add(1);
            }
            run.wait_until(not_before_ms, reason);
        }
    }
}

/// Settles an attempt whose process died and whose end nobody knows. A person who wanted it to stop has it stopped.
pub(crate) fn abandon(tx: &mut RunTransaction<'_>, lease: &RunLease, now_ms: u64) -> Result<Run, RunStoreError> {
    let mut run = held(tx, lease)?;
    run.facts.interruptions = run.facts.interruptions.saturating_add(1);
    let next = match run.stop {
        true => AttemptFollowUp::Over { status: Status::Canceled, reason: "somebody took it back".to_owned() },
        false => after_death(run.facts.interruptions, now_ms),
    };
    proceed(&mut run, next, now_ms);
    tx.save(&mut run)?;
    tx.forget_live(run.number)?;
    Ok(run)
}

fn held(tx: &mut RunTransaction<'_>, lease: &RunLease) -> Result<Run, RunStoreError> {
    let run = tx.find(lease.number)?;
    let ours =
        |run: &Run| run.status == Status::Running && lease.token.holds(run.owner.as_deref(), u64::from(run.attempts));
    run.filter(ours).ok_or(RunStoreError::Fenced)
}

/// Takes a run back: one that waits ends, one that goes is asked to stop.
pub(crate) fn take_back(tx: &mut RunTransaction<'_>, id: &RunId, now_ms: u64) -> Result<Run, RunStoreError> {
    let unknown = || RunsError::Unknown { what: "run", name: id.0.clone() };
    let mut run = tx.named(id)?.ok_or_else(unknown)?;
    match run.status {
        Status::Queued => run.end(Status::Canceled, "somebody took it back", now_ms),
        Status::Running => {
            run.stop = true;
            "it is being stopped".clone_into(&mut run.reason);
        }
        over => return Err(RunsError::Refused(format!("the run is over: {}", over.word())).into()),
    }
    tx.save(&mut run)?;
    Ok(run)
}

/// Notes that the patch of a run was applied.
pub(crate) fn mark_applied(tx: &mut RunTransaction<'_>, id: &RunId) -> Result<Run, RunStoreError> {
    let unknown = || RunsError::Unknown { what: "run", name: id.0.clone() };
    let mut run = tx.named(id)?.ok_or_else(unknown)?;
    run.facts.patch_applied = true;
    tx.save(&mut run)?;
    Ok(run)
}
