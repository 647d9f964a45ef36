//! Takes one event in, in one step: every hook that it starts gets its run, or none does.

use super::arrival::{Report, Sameness, Verdict, decide};
use super::guard::{Origin, Presence, origin};
use crate::book::{BookError, Doubt, Facts, Key, Run, Shelf, StoredFile, Write, WriteState};
use crate::contract::{ContentHash, Outcome, Receipt, RunId, RunsError, Source, Status, Usage};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// A run that an event asks for.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// The id that the run gets if it is new.
    pub(crate) id: RunId,
    pub(crate) hook: String,
    pub(crate) subject: String,
    pub(crate) files: Vec<StoredFile>,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) content: Option<ContentHash>,
    pub(crate) sameness: Sameness,
    pub(crate) debounce_ms: u64,
    pub(crate) retry_of: Option<RunId>,
}

/// An event, with everything that storage must not see taken out.
#[derive(Clone, Debug)]
pub(crate) struct Submission {
    pub(crate) workspace: String,
    pub(crate) trigger: String,
    pub(crate) source: Source,
    /// The digest of the sender's own name for it.
    pub(crate) event: Option<String>,
    pub(crate) wanted: Vec<Wanted>,
    pub(crate) now_ms: u64,
    /// How many runs may wait.
    pub(crate) queued_limit: u32,
    /// Files that runs of this process were seen to write, by digest; storage may not know yet.
    pub(crate) seen: BTreeSet<String>,
    /// Whether a run's own file counts as written while it goes, because nothing watches what runs write.
    pub(crate) sight: crate::performer::Sight,
}

/// What became of an event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Submitted {
    pub(crate) receipts: Vec<Receipt>,
    /// New runs.
    pub(crate) queued: Vec<Run>,
    /// Runs that wait for more now.
    pub(crate) joined: Vec<Run>,
}

/// Takes an event in.
pub(crate) fn submit(shelf: &mut dyn Shelf, submission: Submission) -> Result<Submitted, BookError> {
    let mut submitted = Submitted::default();
    if let Some(event) = submission.event.as_ref().filter(|_| !submission.wanted.is_empty())
        && !shelf.note_event(&submission.workspace, event, submission.now_ms)?
    {
        let repeated = |wanted: &Wanted| receipt(wanted, None, Outcome::Repeated);
        submitted.receipts = submission.wanted.iter().map(repeated).collect();
        return Ok(submitted);
    }
    let origins = origins(shelf, &submission)?;
    let mut room = None::<u64>;
    for wanted in &submission.wanted {
        let doubt = match origins.get(&wanted.subject) {
            Some(Origin::Own) => {
                submitted.receipts.push(receipt(wanted, None, Outcome::OwnChange));
                continue;
            }
            Some(Origin::Foreign(doubt)) => *doubt,
            None => Doubt::Certain,
        };
        take(shelf, &submission, wanted, doubt, &mut room, &mut submitted)?;
    }
    Ok(submitted)
}

/// Whose work the change of each file is.
fn origins(shelf: &mut dyn Shelf, submission: &Submission) -> Result<BTreeMap<String, Origin>, BookError> {
    let mut origins = BTreeMap::new();
    if !matches!(submission.source, Source::Watcher | Source::Editor) {
        return Ok(origins);
    }
    let mut running = None;
    for wanted in &submission.wanted {
        let (path, content) = (&wanted.subject, wanted.content.as_ref());
        if !matches!(wanted.sameness, Sameness::ByContent | Sameness::ByMoment) || origins.contains_key(path) {
            continue;
        }
        let mut writes = shelf.writes(&submission.workspace, path)?;
        let mut presence = Presence::Nobody;
        if submission.source == Source::Watcher {
            let running = match &running {
                Some(known) => known,
                None => running.insert(shelf.running(&submission.workspace)?),
            };
            if !running.is_empty() {
                presence = Presence::Somebody;
            }
            let blind = submission.sight == crate::performer::Sight::Blind;
            if submission.seen.contains(path) || (blind && running.iter().any(|key| key.subject == *path)) {
                writes.push(Write { path: path.clone(), run: 0, state: WriteState::Live, content: None, at_ms: 0 });
            }
        }
        let found = origin(submission.source, content, &writes, presence);
        // What a run left is gone once somebody else has changed the file: its content may come back.
        let other = |write: &Write| write.state == WriteState::Left && write.content.as_ref() != content;
        if matches!(found, Origin::Foreign(Doubt::Certain | Doubt::Doubtful)) && writes.iter().any(other) {
            shelf.forget_left(&submission.workspace, path)?;
        }
        origins.insert(path.clone(), found);
    }
    Ok(origins)
}

fn take(
    shelf: &mut dyn Shelf,
    submission: &Submission,
    wanted: &Wanted,
    doubt: Doubt,
    room: &mut Option<u64>,
    submitted: &mut Submitted,
) -> Result<(), BookError> {
    let key =
        Key { workspace: submission.workspace.clone(), hook: wanted.hook.clone(), subject: wanted.subject.clone() };
    let (waiting, last) = match wanted.sameness {
        Sameness::Never => (None, None),
        _ => (shelf.waiting(&key)?, shelf.last_begun(&key)?),
    };
    let report = Report {
        source: submission.source,
        sameness: wanted.sameness,
        content: wanted.content.clone(),
        files: wanted.files.clone(),
        doubt,
        debounce_ms: wanted.debounce_ms,
        now_ms: submission.now_ms,
    };
    let outcome = if doubt == Doubt::Held { Outcome::Held } else { Outcome::Queued };
    match decide(&report, waiting.as_ref(), last.as_ref()) {
        Verdict::Unchanged => submitted.receipts.push(receipt(wanted, None, Outcome::Unchanged)),
        Verdict::Join(mut run) => {
            if waiting.as_ref() != Some(&*run) {
                shelf.save(&mut run)?;
            }
            submitted.receipts.push(receipt(wanted, Some(&run.id), Outcome::Coalesced));
            submitted.joined.push(*run);
        }
        Verdict::Queue { not_before_ms } => {
            let left = match room {
                Some(left) => left,
                None => room.insert(free(shelf, submission)?),
            };
            *left = left.checked_sub(1).ok_or_else(|| full(submission))?;
            let mut run = new(submission, wanted, key, doubt, not_before_ms);
            shelf.insert(&mut run)?;
            submitted.receipts.push(receipt(wanted, Some(&run.id), outcome));
            submitted.queued.push(run);
        }
    }
    Ok(())
}

fn free(shelf: &mut dyn Shelf, submission: &Submission) -> Result<u64, BookError> {
    let waiting = shelf.waiting_count(&submission.workspace)?;
    Ok(u64::from(submission.queued_limit).saturating_sub(waiting))
}

fn full(submission: &Submission) -> BookError {
    RunsError::Full { waiting: u64::from(submission.queued_limit) }.into()
}

fn receipt(wanted: &Wanted, run: Option<&RunId>, outcome: Outcome) -> Receipt {
    Receipt { hook_id: wanted.hook.clone(), run: run.cloned(), outcome }
}

fn new(submission: &Submission, wanted: &Wanted, key: Key, doubt: Doubt, not_before_ms: u64) -> Run {
    let reason = if doubt == Doubt::Held { "a run that may have made this change still goes" } else { "" };
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
        facts: Facts {
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
