//! Takes one event in, in one step: every hook that it starts gets its run, or none does.

use super::arrival::{ArrivalVerdict, ChangeReport, RunSameness, decide};
use super::guard::{ChangeOrigin, RunPresence, origin};
use crate::contract::{ContentHash, Outcome, Receipt, RunId, RunsError, Source, Status, Usage};
use crate::run_store::{
    ChangeSuspicion, FileWrite, FileWriteState, Run, RunFacts, RunKey, RunStoreError, RunTransaction, StoredFile,
};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// A run that an event asks for.
#[derive(Clone, Debug)]
pub(crate) struct WantedRun {
    /// The id that the run gets if it is new.
    pub(crate) id: RunId,
    pub(crate) hook: String,
    pub(crate) subject: String,
    pub(crate) files: Vec<StoredFile>,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) content: Option<ContentHash>,
    pub(crate) sameness: RunSameness,
    pub(crate) debounce_ms: u64,
    pub(crate) retry_of: Option<RunId>,
}

/// An event, with everything that storage must not see taken out.
#[derive(Clone, Debug)]
pub(crate) struct EventSubmission {
    pub(crate) workspace: String,
    pub(crate) trigger: String,
    pub(crate) source: Source,
    /// The digest of the sender's own name for it.
    pub(crate) event: Option<String>,
    pub(crate) wanted: Vec<WantedRun>,
    pub(crate) now_ms: u64,
    /// How many runs may wait.
    pub(crate) queued_limit: u32,
    /// Files that runs of this process were seen to write, by digest; storage may not know yet.
    pub(crate) seen: BTreeSet<String>,
    /// Whether a run's own file counts as written while it goes, because nothing watches what runs write.
    pub(crate) sight: crate::run_executor::WriteTracking,
}

/// What became of an event.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubmittedRuns {
    pub(crate) receipts: Vec<Receipt>,
    /// New runs.
    pub(crate) queued: Vec<Run>,
    /// Runs that wait for more now.
    pub(crate) joined: Vec<Run>,
}

/// Takes an event in.
pub(crate) fn submit(tx: &mut RunTransaction<'_>, submission: EventSubmission) -> Result<SubmittedRuns, RunStoreError> {
    let mut submitted = SubmittedRuns::default();
    if let Some(event) = submission.event.as_ref().filter(|_| !submission.wanted.is_empty())
        && !tx.note_event(&submission.workspace, event, submission.now_ms)?
    {
        let repeated = |wanted: &WantedRun| receipt(wanted, None, Outcome::Repeated);
        submitted.receipts = submission.wanted.iter().map(repeated).collect();
        return Ok(submitted);
    }
    let origins = origins(tx, &submission)?;
    let mut room = None::<u64>;
    for wanted in &submission.wanted {
        let doubt = match origins.get(&wanted.subject) {
            Some(ChangeOrigin::Own) => {
                submitted.receipts.push(receipt(wanted, None, Outcome::OwnChange));
                continue;
            }
            Some(ChangeOrigin::Foreign(doubt)) => *doubt,
            None => ChangeSuspicion::Certain,
        };
        take(tx, &submission, wanted, doubt, &mut room, &mut submitted)?;
    }
    Ok(submitted)
}

/// Whose work the change of each file is.
fn origins(
    tx: &mut RunTransaction<'_>,
    submission: &EventSubmission,
) -> Result<BTreeMap<String, ChangeOrigin>, RunStoreError> {
    let mut origins = BTreeMap::new();
    if !matches!(submission.source, Source::Watcher | Source::Editor) {
        return Ok(origins);
    }
    let mut running = None;
    for wanted in &submission.wanted {
        let (path, content) = (&wanted.subject, wanted.content.as_ref());
        if !matches!(wanted.sameness, RunSameness::ByContent | RunSameness::ByMoment) || origins.contains_key(path) {
            continue;
        }
        let mut writes = tx.writes(&submission.workspace, path)?;
        let mut presence = RunPresence::Nobody;
        if submission.source == Source::Watcher {
            let running = match &running {
                Some(known) => known,
                None => running.insert(tx.running(&submission.workspace)?),
            };
            if !running.is_empty() {
                presence = RunPresence::Somebody;
            }
            let blind = submission.sight == crate::run_executor::WriteTracking::Blind;
            if submission.seen.contains(path) || (blind && running.iter().any(|key| key.subject == *path)) {
                writes.push(FileWrite {
                    path: path.clone(),
                    run: 0,
                    state: FileWriteState::Live,
                    content: None,
                    at_ms: 0,
                });
            }
        }
        let found = origin(submission.source, content, &writes, presence);
        // What a run left is gone once somebody else has changed the file: its content may come back.
        let other = |write: &FileWrite| write.state == FileWriteState::Left && write.content.as_ref() != content;
        if matches!(found, ChangeOrigin::Foreign(ChangeSuspicion::Certain | ChangeSuspicion::Doubtful))
            && writes.iter().any(other)
        {
            tx.forget_left(&submission.workspace, path)?;
        }
        origins.insert(path.clone(), found);
    }
    Ok(origins)
}

fn take(
    tx: &mut RunTransaction<'_>,
    submission: &EventSubmission,
    wanted: &WantedRun,
    doubt: ChangeSuspicion,
    room: &mut Option<u64>,
    submitted: &mut SubmittedRuns,
) -> Result<(), RunStoreError> {
    let key =
        RunKey { workspace: submission.workspace.clone(), hook: wanted.hook.clone(), subject: wanted.subject.clone() };
    let (waiting, last) = match wanted.sameness {
        RunSameness::Never => (None, None),
        _ => (tx.waiting(&key)?, tx.last_begun(&key)?),
    };
    let report = ChangeReport {
        source: submission.source,
        sameness: wanted.sameness,
        content: wanted.content.clone(),
        files: wanted.files.clone(),
        doubt,
        debounce_ms: wanted.debounce_ms,
        now_ms: submission.now_ms,
    };
    let outcome = if doubt == ChangeSuspicion::Held { Outcome::Held } else { Outcome::Queued };
    match decide(&report, waiting.as_ref(), last.as_ref()) {
        ArrivalVerdict::Unchanged => submitted.receipts.push(receipt(wanted, None, Outcome::Unchanged)),
        ArrivalVerdict::Join(mut run) => {
            if waiting.as_ref() != Some(&*run) {
                tx.save(&mut run)?;
            }
            submitted.receipts.push(receipt(wanted, Some(&run.id), Outcome::Coalesced));
            submitted.joined.push(*run);
        }
        ArrivalVerdict::Queue { not_before_ms } => {
            let left = match room {
                Some(left) => left,
                None => room.insert(free(tx, submission)?),
            };
            *left = left.checked_sub(1).ok_or_else(|| full(submission))?;
            let mut run = new(submission, wanted, key, doubt, not_before_ms);
            tx.insert(&mut run)?;
            submitted.receipts.push(receipt(wanted, Some(&run.id), outcome));
            submitted.queued.push(run);
        }
    }
    Ok(())
}

fn free(tx: &mut RunTransaction<'_>, submission: &EventSubmission) -> Result<u64, RunStoreError> {
    let waiting = tx.waiting_count(&submission.workspace)?;
    Ok(u64::from(submission.queued_limit).saturating_sub(waiting))
}

fn full(submission: &EventSubmission) -> RunStoreError {
    RunsError::Full { waiting: u64::from(submission.queued_limit) }.into()
}

fn receipt(wanted: &WantedRun, run: Option<&RunId>, outcome: Outcome) -> Receipt {
    Receipt { hook_id: wanted.hook.clone(), run: run.cloned(), outcome }
}

fn new(
    submission: &EventSubmission,
    wanted: &WantedRun,
    key: RunKey,
    doubt: ChangeSuspicion,
    not_before_ms: u64,
) -> Run {
    let reason = if doubt == ChangeSuspicion::Held { "a run that may have made this change still goes" } else { "" };
    Run {
        number: 0,
        id: wanted.id.clone(),
        key,
        status: Status::Queued,
        content: wanted.content.clone(),
        attempts: 0,
        reason: reason.to_owned(),
        queued_ms: submission.now_ms,
        not_before_ms,
        started_ms: None,
        ended_ms: None,
        owner: None,
        stop: false,
        version: 0,
        facts: RunFacts {
            trigger: submission.trigger.clone(),
            source: submission.source,
            files: wanted.files.clone(),
            metadata: wanted.metadata.clone(),
            left: None,
            doubt,
            failures: 0,
            interruptions: 0,
            burst_ms: submission.now_ms,
            heard_ms: submission.now_ms,
            exit_code: None,
            wrote: Vec::new(),
            usage: Usage::default(),
            session: None,
            patch: None,
            retry_of: wanted.retry_of.clone(),
        },
    }
}
