//! Begins the runs that may begin, in one step.

use super::arrival::{Sameness, sameness};
use super::choice::{Candidate, Room, choose};
use super::guard::{Ruling, rule};
use super::pace::{Pace, budget, day, rate};
use crate::book::{BookError, Run, Shelf};
use crate::contract::{ContentHash, Hook, HookSet, Status};
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
pub(crate) struct Seen {
    pub(crate) number: u64,
    /// It must be the same in the step.
    pub(crate) version: u64,
    /// What its files hold now, in order; for a run of a file there is one.
    pub(crate) present: Vec<Option<ContentHash>>,
}

/// Who wants to begin what.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) workspace: String,
    pub(crate) owner: String,
    pub(crate) now_ms: u64,
    pub(crate) set: Arc<HookSet>,
    pub(crate) seen: Vec<Seen>,
}

/// What was begun, and what came to its end instead.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claimed {
    pub(crate) begun: Vec<(Run, Arc<Hook>)>,
    /// Runs that need not run.
    pub(crate) canceled: Vec<Run>,
    /// Runs that wait for another reason now.
    pub(crate) noted: Vec<Run>,
}

/// Begins what may begin.
pub(crate) fn claim(shelf: &mut dyn Shelf, claim: Claim) -> Result<Claimed, BookError> {
    let mut claimed = Claimed::default();
    let mut due: BTreeMap<u64, (Run, Arc<Hook>)> = BTreeMap::new();
    for seen in &claim.seen {
        let run = shelf.find(seen.number)?;
        let Some(run) = run.filter(|run| is_due(run, seen, claim.now_ms)) else { continue };
        let Some(hook) = claim.set.hooks.iter().find(|hook| hook.id == run.key.hook) else { continue };
        if let Some(run) = admit(shelf, run, hook, seen, claim.now_ms, &mut claimed)? {
            due.insert(run.number, (run, Arc::clone(hook)));
        }
    }
    let rooms = rooms(shelf, &claim, &mut due, &mut claimed)?;
    let running = shelf.running(&claim.workspace)?;
    let running: Vec<(String, String)> = running.into_iter().map(|key| (key.hook, key.subject)).collect();
    let candidates = due.values().map(|(run, _)| candidate(run)).collect();
    for number in choose(candidates, &running, &rooms, claim.set.limits.concurrency) {
        if let Some((mut run, hook)) = due.remove(&number) {
            begin(shelf, &mut run, &claim)?;
            claimed.begun.push((run, hook));
        }
    }
    if !claimed.begun.is_empty() {
        shelf.beat(&claim.owner, claim.now_ms)?;
    }
    Ok(claimed)
}

fn is_due(run: &Run, seen: &Seen, now_ms: u64) -> bool {
    run.status == Status::Queued && run.version == seen.version && run.not_before_ms <= now_ms
}

/// The run as it would begin; none if it must not, or needs not.
fn admit(
    shelf: &mut dyn Shelf,
    mut run: Run,
    hook: &Hook,
    seen: &Seen,
    now_ms: u64,
    claimed: &mut Claimed,
) -> Result<Option<Run>, BookError> {
    if !run.key.is_of_a_file() {
        adopt(&mut run, seen);
        return Ok(Some(run));
    }
    let present = seen.present.first().cloned().flatten();
    let writes = shelf.writes(&run.key.workspace, &run.key.subject)?;
    match rule(run.facts.doubt, run.content.as_ref(), present.as_ref(), &writes) {
        Ruling::Run => {}
        Ruling::Wait => {
            run.not_before_ms = now_ms.saturating_add(HELD_MS);
            shelf.save(&mut run)?;
            return Ok(None);
        }
        Ruling::Own => {
            shelf.remove(run.number)?;
            return Ok(None);
        }
    }
    if run.needs_its_file() && present.is_none() {
        return cancel(shelf, run, "the file is gone", now_ms, claimed);
    }
    if let Some(by) = handled_by(shelf, &run, hook, present.as_ref())? {
        return cancel(shelf, run, &format!("run {by} handled this content"), now_ms, claimed);
    }
    adopt(&mut run, seen);
    Ok(Some(run))
}

/// The run that stands for the present content already, whatever happened in between.
fn handled_by(
    shelf: &mut dyn Shelf,
    run: &Run,
    hook: &Hook,
    present: Option<&ContentHash>,
) -> Result<Option<String>, BookError> {
    if run.is_personal() || sameness(&hook.trigger) != Sameness::ByContent {
        return Ok(None);
    }
    let last = shelf.last_begun(&run.key)?;
    let last = last.filter(|last| last.number != run.number && last.settles(present, run.facts.source));
    Ok(last.map(|last| last.id.0))
}

/// Takes over what the files hold now.
fn adopt(run: &mut Run, seen: &Seen) {
    for (file, present) in run.facts.files.iter_mut().zip(&seen.present) {
        file.shown.content_hash.clone_from(present);
    }
    if run.key.is_of_a_file() {
        run.content = seen.present.first().cloned().flatten();
    }
}

fn cancel(
    shelf: &mut dyn Shelf,
    mut run: Run,
    reason: &str,
    now_ms: u64,
    claimed: &mut Claimed,
) -> Result<Option<Run>, BookError> {
    run.end(Status::Canceled, reason, now_ms);
    shelf.save(&mut run)?;
    claimed.canceled.push(run);
    Ok(None)
}

/// What each hook may do now. Runs that its rate or its budget keeps waiting say so.
fn rooms(
    shelf: &mut dyn Shelf,
    claim: &Claim,
    due: &mut BTreeMap<u64, (Run, Arc<Hook>)>,
    claimed: &mut Claimed,
) -> Result<BTreeMap<String, Room>, BookError> {
    let mut rooms = BTreeMap::new();
    let hooks: BTreeMap<String, Arc<Hook>> =
        due.values().map(|(_, hook)| (hook.id.clone(), Arc::clone(hook))).collect();
    for (id, hook) in hooks {
        let (halted, until_ms) = match pace(shelf, claim, &hook)? {
            Pace::Free(allowance) => {
                rooms.insert(id, Room { concurrency: hook.concurrency, allowance });
                continue;
            }
            Pace::Halted { reason, until_ms } => (reason, until_ms),
        };
        let waiting: Vec<u64> =
            due.iter().filter(|(_, (run, _))| run.key.hook == id).map(|(number, _)| *number).collect();
        for number in waiting {
            if let Some((mut run, _)) = due.remove(&number) {
                halted.clone_into(&mut run.reason);
                // The limit may be raised before the time has come.
                run.not_before_ms = until_ms.min(claim.now_ms.saturating_add(HALTED_MS));
                shelf.save(&mut run)?;
                claimed.noted.push(run);
            }
        }
    }
    Ok(rooms)
}

fn pace(shelf: &mut dyn Shelf, claim: &Claim, hook: &Hook) -> Result<Pace, BookError> {
    if hook.budget.tokens_per_day.is_some() || hook.budget.micro_usd_per_day.is_some() {
        let spent = shelf.spent(&claim.workspace, &hook.id, day(claim.now_ms))?;
        if let halted @ Pace::Halted { .. } = budget(hook.budget, spent, claim.now_ms) {
            return Ok(halted);
        }
    }
    let Some(limit) = hook.rate_limit else { return Ok(Pace::Free(u32::MAX)) };
    let since_ms = claim.now_ms.saturating_sub(limit.per_ms);
    let begun = shelf.begun_since(&claim.workspace, &hook.id, since_ms, claim.now_ms, limit.runs)?;
    Ok(rate(Some(limit), &begun, claim.now_ms))
}

fn candidate(run: &Run) -> Candidate {
    Candidate {
        number: run.number,
        hook: run.key.hook.clone(),
        subject: run.key.subject.clone(),
        due_ms: run.not_before_ms,
    }
}

fn begin(shelf: &mut dyn Shelf, run: &mut Run, claim: &Claim) -> Result<(), BookError> {
    run.status = Status::Running;
    run.owner = Some(claim.owner.clone());
    run.started_ms = Some(claim.now_ms);
    run.attempts = run.attempts.saturating_add(1);
    run.reason.clear();
    run.facts.left = None;
    shelf.save(run)
}

/// Cancels the waiting runs of a hook that is not in force any more.
pub(crate) fn cancel_waiting(
    shelf: &mut dyn Shelf,
    workspace: &str,
    hook: &str,
    reason: &str,
    now_ms: u64,
) -> Result<Vec<Run>, BookError> {
    let mut canceled = shelf.waiting_of(workspace, hook, CANCELED_AT_ONCE)?;
    for run in &mut canceled {
        run.end(Status::Canceled, reason, now_ms);
        shelf.save(run)?;
    }
    Ok(canceled)
}
