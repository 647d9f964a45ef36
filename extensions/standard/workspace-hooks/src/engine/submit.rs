//! Takes one event in, in one step: every hook that it starts gets its run, or none does.

use super::arrival::{ArrivalVerdict, ChangeReport, RunSameness, decide};
use super::file_origins::{AdmittedRun, FileOrigins};
use crate::contract::{ContentHash, Hook, Outcome, Receipt, RunId, RunsError, Source, Status, Usage};
use crate::run_store::{ChangeSuspicion, Run, RunFacts, RunKey, RunStoreError, RunTransaction, StoredFile};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

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
    /// The digests of the names of `files`, for a run of files that change together.
    pub(crate) paths: Vec<String>,
    pub(crate) options: RunOptions,
}

/// What a hook says about how its runs meet others.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunOptions {
    /// A new run ends the one that goes.
    pub(crate) restart: bool,
    /// Changes that other hooks make start it.
    pub(crate) chain: bool,
}

impl RunOptions {
    pub(crate) const fn of(hook: &Hook) -> Self {
        Self { restart: hook.restart, chain: hook.chain }
    }
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
    /// Runs that go and are to stop, because a newer one handles their files.
    pub(crate) superseded: Vec<Run>,
}

/// Takes an event in.
pub(crate) fn submit(tx: &mut RunTransaction<'_>, submission: EventSubmission) -> Result<SubmittedRuns, RunStoreError> {
    let mut submitted = SubmittedRuns::default();
    if let Some(event) = submission.event.as_ref().filter(|_| !submission.wanted.is_empty())
        && !tx.note_event(&submission.workspace, event, submission.now_ms)?
    {
        submitted.receipts = submission.wanted.iter().map(repeated).collect();
        return Ok(submitted);
    }
    let mut origins = FileOrigins::new(&submission);
    let mut room = None::<u64>;
    for wanted in &submission.wanted {
        match origins.admitted(tx, wanted)? {
            Some(admitted) => take(tx, &submission, &admitted, &mut room, &mut submitted)?,
            None => submitted.receipts.push(receipt(wanted, None, Outcome::OwnChange)),
        }
    }
    Ok(submitted)
}

/// Takes an event in that stands in the event ledger, and notes that. Nothing if that was done before.
pub(crate) fn submit_recorded(
    tx: &mut RunTransaction<'_>,
    submission: EventSubmission,
    sequence: u64,
) -> Result<Option<SubmittedRuns>, RunStoreError> {
    let (workspace, now_ms) = (submission.workspace.clone(), submission.now_ms);
    if !tx.advance(&workspace, sequence)? {
        return Ok(None);
    }
    let submitted = submit(tx, submission)?;
    tx.keep_receipts(&workspace, sequence, &submitted.receipts, now_ms)?;
    Ok(Some(submitted))
}

/// What an event does that came before.
pub(crate) fn repeated(wanted: &WantedRun) -> Receipt {
    receipt(wanted, None, Outcome::Repeated)
}

fn take(
    tx: &mut RunTransaction<'_>,
    submission: &EventSubmission,
    admitted: &AdmittedRun,
    room: &mut Option<u64>,
    submitted: &mut SubmittedRuns,
) -> Result<(), RunStoreError> {
    let AdmittedRun { wanted, doubt, .. } = admitted;
    let doubt = *doubt;
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
            supersede(tx, wanted, &key, submitted)?;
            let mut run = new(submission, admitted, key, not_before_ms);
            tx.insert(&mut run)?;
            submitted.receipts.push(receipt(wanted, Some(&run.id), outcome));
            submitted.queued.push(run);
        }
    }
    Ok(())
}

/// Asks the runs to stop that the new one makes needless.
fn supersede(
    tx: &mut RunTransaction<'_>,
    wanted: &WantedRun,
    key: &RunKey,
    submitted: &mut SubmittedRuns,
) -> Result<(), RunStoreError> {
    if !wanted.options.restart || wanted.retry_of.is_some() {
        return Ok(());
    }
    for mut run in tx.running_of(&key.workspace, &key.hook)? {
        let same = run.key.subject == key.subject || !(key.is_of_a_file() || key.is_batch());
        if same && !run.stop {
            run.stop = true;
            run.facts.superseded = true;
            tx.save(&mut run)?;
            submitted.superseded.push(run);
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

fn new(submission: &EventSubmission, admitted: &AdmittedRun, key: RunKey, not_before_ms: u64) -> Run {
    let AdmittedRun { wanted, doubt, chain_depth } = admitted;
    let doubt = *doubt;
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
            patch_applied: false,
            first_started_ms: None,
            retry_of: wanted.retry_of.clone(),
            superseded: false,
            chain_depth: *chain_depth,
        },
    }
}
