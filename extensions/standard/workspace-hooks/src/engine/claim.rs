//! Begins the runs that may begin, in one step.

use super::arrival::{RunSameness, sameness};
use super::choice::{HookRoom, RunCandidate, choose};
use super::file_origins::{chained, writer_of};
use super::guard::{SuspicionRuling, rule};
use super::pace::{HookPace, budget, day, rate};
use crate::contract::{Change, ContentHash, Hook, HookSet, Status};
use crate::run_store::{Run, RunStoreError, RunTransaction};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How long a run whose cause is in doubt is left alone.
const HELD_MS: u64 = 250;
/// The longest that a run which its rate or its budget keeps waiting is left alone.
const HALTED_MS: u64 = 60_000;
/// The most waiting runs of a hook that is gone that one step cancels.
pub(crate) const CANCELED_AT_ONCE: u32 = 1_000;

/// A waiting run that was looked at before the step.
#[derive(Clone, Debug)]
pub(crate) struct ObservedRun {
    pub(crate) number: u64,
    /// It must be the same in the step.
    pub(crate) version: u64,
    /// What its files hold now, in order; for a run of a file there is one.
    pub(crate) present: Vec<Option<ContentHash>>,
}

/// Who wants to begin what.
#[derive(Clone, Debug)]
pub(crate) struct RunClaim {
    pub(crate) workspace: String,
    pub(crate) owner: String,
    pub(crate) now_ms: u64,
    pub(crate) set: Arc<HookSet>,
    pub(crate) seen: Vec<ObservedRun>,
}

/// What was begun, and what came to its end instead.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClaimedRuns {
    pub(crate) begun: Vec<(Run, Arc<Hook>)>,
    /// Runs that need not run.
    pub(crate) canceled: Vec<Run>,
    /// Runs that wait for another reason now.
    pub(crate) noted: Vec<Run>,
}

/// Begins what may begin.
pub(crate) fn claim(tx: &mut RunTransaction<'_>, claim: RunClaim) -> Result<ClaimedRuns, RunStoreError> {
    let mut claimed = ClaimedRuns::default();
    let mut due: BTreeMap<u64, (Run, Arc<Hook>)> = BTreeMap::new();
    for seen in &claim.seen {
        let run = tx.find(seen.number)?;
        let Some(run) = run.filter(|run| is_due(run, seen, claim.now_ms)) else { continue };
        let Some(hook) = claim.set.hooks.iter().find(|hook| hook.id == run.key.hook) else { continue };
        if let Some(run) = admit(tx, run, hook, seen, claim.now_ms, &mut claimed)? {
            due.insert(run.number, (run, Arc::clone(hook)));
        }
    }
    let rooms = rooms(tx, &claim, &mut due, &mut claimed)?;
    let running = tx.running(&claim.workspace)?;
    let running: Vec<(String, String)> = running.into_iter().map(|key| (key.hook, key.subject)).collect();
    let candidates = due.values().map(|(run, _)| candidate(run)).collect();
    for number in choose(candidates, &running, &rooms, claim.set.limits.concurrency) {
        if let Some((mut run, hook)) = due.remove(&number) {
            begin(tx, &mut run, &claim)?;
            claimed.begun.push((run, hook));
        }
    }
    if !claimed.begun.is_empty() {
        tx.beat(&claim.owner, claim.now_ms)?;
    }
    Ok(claimed)
}

fn is_due(run: &Run, seen: &ObservedRun, now_ms: u64) -> bool {
    run.status == Status::Queued && run.version == seen.version && run.not_before_ms <= now_ms
}

/// The run as it would begin; none if it must not, or needs not.
fn admit(
    tx: &mut RunTransaction<'_>,
    mut run: Run,
    hook: &Hook,
    seen: &ObservedRun,
    now_ms: u64,
    claimed: &mut ClaimedRuns,
) -> Result<Option<Run>, RunStoreError> {
    if run.key.is_batch() && !run.is_personal() {
        return admit_batch(tx, run, hook, seen, now_ms, claimed);
    }
    if !run.key.is_of_a_file() {
        adopt(&mut run, seen);
        return Ok(Some(run));
    }
    let present = seen.present.first().cloned().flatten();
    let writes = tx.writes(&run.key.workspace, &run.key.subject)?;
    match rule(run.facts.doubt, run.content.as_ref(), present.as_ref(), &writes) {
        SuspicionRuling::Run => {}
        SuspicionRuling::Wait => {
            run.not_before_ms = now_ms.saturating_add(HELD_MS);
            tx.save(&mut run)?;
            return Ok(None);
        }
        SuspicionRuling::Own => {
            let writer = writer_of(&writes, run.content.as_ref()).or_else(|| writer_of(&writes, present.as_ref()));
            match chained(tx, writer, &hook.id)?.filter(|_| hook.chain) {
                Some(depth) => run.facts.chain_depth = depth,
                None => {
                    tx.remove(run.number)?;
                    return Ok(None);
                }
            }
        }
    }
    if run.needs_its_file() && present.is_none() {
        return cancel(tx, run, "the file is gone", now_ms, claimed);
    }
    if let Some(by) = handled_by(tx, &run, hook, present.as_ref())? {
        return cancel(tx, run, &format!("run {by} handled this content"), now_ms, claimed);
    }
    adopt(&mut run, seen);
    Ok(Some(run))
}

/// The same for files that change together: those that our own runs made, that are gone or that the last run handled
/// are left out.
fn admit_batch(
    tx: &mut RunTransaction<'_>,
    mut run: Run,
    hook: &Hook,
    seen: &ObservedRun,
    now_ms: u64,
    claimed: &mut ClaimedRuns,
) -> Result<Option<Run>, RunStoreError> {
    let last = tx.last_begun(&run.key)?.filter(|last| last.number != run.number);
    let (mut kept, mut own) = (Vec::new(), 0);
    for (mut file, present) in run.facts.files.clone().into_iter().zip(&seen.present) {
        let path = file.path_digest();
        let writes = tx.writes(&run.key.workspace, &path)?;
        match rule(run.facts.doubt, file.shown.content_hash.as_ref(), present.as_ref(), &writes) {
            SuspicionRuling::Run => {}
            SuspicionRuling::Wait => {
                run.not_before_ms = now_ms.saturating_add(HELD_MS);
                tx.save(&mut run)?;
                return Ok(None);
            }
            SuspicionRuling::Own => {
                let writer = writer_of(&writes, present.as_ref());
                let Some(depth) = chained(tx, writer, &hook.id)?.filter(|_| hook.chain) else {
                    own += 1;
                    continue;
                };
                run.facts.chain_depth = run.facts.chain_depth.max(depth);
            }
        }
        let gone = present.is_none() && file.shown.change != Change::Deleted;
        if !gone && !last.as_ref().is_some_and(|last| last.handled(&file, present.as_ref())) {
            file.shown.content_hash.clone_from(present);
            kept.push(file);
        }
    }
    if kept.is_empty() && own == run.facts.files.len() {
        tx.remove(run.number)?;
        return Ok(None);
    }
    if kept.is_empty() {
        return cancel(tx, run, "another run handled these files, or they are gone", now_ms, claimed);
    }
    run.facts.files = kept;
    Ok(Some(run))
}

/// The run that stands for the present content already, whatever happened in between.
fn handled_by(
    tx: &mut RunTransaction<'_>,
    run: &Run,
    hook: &Hook,
    present: Option<&ContentHash>,
) -> Result<Option<String>, RunStoreError> {
    if run.is_personal() || sameness(&hook.trigger) != RunSameness::ByContent {
        return Ok(None);
    }
    let last = tx.last_begun(&run.key)?;
    let last = last.filter(|last| last.number != run.number && last.settles(present, run.facts.source));
    Ok(last.map(|last| last.id.0))
}

/// Takes over what the files hold now.
fn adopt(run: &mut Run, seen: &ObservedRun) {
    for (file, present) in run.facts.files.iter_mut().zip(&seen.present) {
        file.shown.content_hash.clone_from(present);
    }
    if run.key.is_of_a_file() {
        run.content = seen.present.first().cloned().flatten();
    }
}

fn cancel(
    tx: &mut RunTransaction<'_>,
    mut run: Run,
    reason: &str,
    now_ms: u64,
    claimed: &mut ClaimedRuns,
) -> Result<Option<Run>, RunStoreError> {
    run.end(Status::Canceled, reason, now_ms);
    tx.save(&mut run)?;
    claimed.canceled.push(run);
    Ok(None)
}

/// What each hook may do now. Runs that its rate or its budget keeps waiting say so.
fn rooms(
    tx: &mut RunTransaction<'_>,
    claim: &RunClaim,
    due: &mut BTreeMap<u64, (Run, Arc<Hook>)>,
    claimed: &mut ClaimedRuns,
) -> Result<BTreeMap<String, HookRoom>, RunStoreError> {
    let mut rooms = BTreeMap::new();
    let hooks: BTreeMap<String, Arc<Hook>> =
        due.values().map(|(_, hook)| (hook.id.clone(), Arc::clone(hook))).collect();
    for (id, hook) in hooks {
        let (halted, until_ms) = match pace(tx, claim, &hook)? {
            HookPace::Free(allowance) => {
                rooms.insert(id, HookRoom { concurrency: hook.concurrency, allowance });
                continue;
            }
            HookPace::Halted { reason, until_ms } => (reason, until_ms),
        };
        let waiting: Vec<u64> =
            due.iter().filter(|(_, (run, _))| run.key.hook == id).map(|(number, _)| *number).collect();
        for number in waiting {
            if let Some((mut run, _)) = due.remove(&number) {
                halted.clone_into(&mut run.reason);
                // The limit may be raised before the time has come.
                run.not_before_ms = until_ms.min(claim.now_ms.saturating_add(HALTED_MS));
                tx.save(&mut run)?;
                claimed.noted.push(run);
            }
        }
    }
    Ok(rooms)
}

fn pace(tx: &mut RunTransaction<'_>, claim: &RunClaim, hook: &Hook) -> Result<HookPace, RunStoreError> {
    if hook.budget.tokens_per_day.is_some() || hook.budget.micro_usd_per_day.is_some() {
        let spent = tx.spent(&claim.workspace, &hook.id, day(claim.now_ms))?;
        if let halted @ HookPace::Halted { .. } = budget(hook.budget, spent, claim.now_ms) {
            return Ok(halted);
        }
    }
    let Some(limit) = hook.rate_limit else { return Ok(HookPace::Free(u32::MAX)) };
    let since_ms = claim.now_ms.saturating_sub(limit.per_ms);
    let begun = tx.begun_since(&claim.workspace, &hook.id, since_ms, claim.now_ms, limit.runs)?;
    Ok(rate(Some(limit), &begun, claim.now_ms))
}

fn candidate(run: &Run) -> RunCandidate {
    RunCandidate {
        number: run.number,
        hook: run.key.hook.clone(),
        subject: run.key.subject.clone(),
        due_ms: run.not_before_ms,
    }
}

fn begin(tx: &mut RunTransaction<'_>, run: &mut Run, claim: &RunClaim) -> Result<(), RunStoreError> {
    run.status = Status::Running;
    run.owner = Some(claim.owner.clone());
    run.started_ms = Some(claim.now_ms);
    run.facts.first_started_ms.get_or_insert(claim.now_ms);
    run.attempts = run.attempts.saturating_add(1);
    run.reason.clear();
    run.facts.left = None;
    tx.save(run)
}

/// Cancels the waiting runs of a hook that is not in force any more.
pub(crate) fn cancel_waiting(
    tx: &mut RunTransaction<'_>,
    workspace: &str,
    hook: &str,
    reason: &str,
    now_ms: u64,
) -> Result<Vec<Run>, RunStoreError> {
    let mut canceled = tx.waiting_of(workspace, hook, CANCELED_AT_ONCE)?;
    for run in &mut canceled {
        run.end(Status::Canceled, reason, now_ms);
        tx.save(run)?;
    }
    Ok(canceled)
}
