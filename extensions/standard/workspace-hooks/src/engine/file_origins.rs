//! Whose work the change of each file of an event is: what our own runs made starts nothing, unless a hook asks for it.

use super::arrival::RunSameness;
use super::guard::{ChangeOrigin, RunPresence, origin};
use super::submit::{EventSubmission, WantedRun};
use crate::contract::{ContentHash, Source};
use crate::run_executor::WriteTracking;
use crate::run_store::{ChangeSuspicion, FileWrite, FileWriteState, RunKey, RunStoreError, RunTransaction};
use std::collections::BTreeMap;

/// How many runs of hooks may lead from one to the next.
pub(crate) const MAX_CHAIN_DEPTH: u32 = 8;

/// A run that an event may start.
#[derive(Clone, Debug)]
pub(crate) struct AdmittedRun {
    pub(crate) wanted: WantedRun,
    pub(crate) doubt: ChangeSuspicion,
    /// How many runs of other hooks led to it.
    pub(crate) chain_depth: u32,
}

/// A file that is not known to be our own work, or is and may start the hook nevertheless.
#[derive(Clone, Copy)]
struct AdmittedFile {
    doubt: ChangeSuspicion,
    chain_depth: u32,
}

/// The origins of the files of one event, each looked up once.
pub(super) struct FileOrigins<'a> {
    submission: &'a EventSubmission,
    known: BTreeMap<String, (ChangeOrigin, Option<u64>)>,
    running: Option<Vec<RunKey>>,
}

impl<'a> FileOrigins<'a> {
    pub(super) const fn new(submission: &'a EventSubmission) -> Self {
        Self { submission, known: BTreeMap::new(), running: None }
    }

    /// The run with the files that may start it; none if our own runs made every change.
    pub(super) fn admitted(
        &mut self,
        tx: &mut RunTransaction<'_>,
        wanted: &WantedRun,
    ) -> Result<Option<AdmittedRun>, RunStoreError> {
        let whole = AdmittedRun { wanted: wanted.clone(), doubt: ChangeSuspicion::Certain, chain_depth: 0 };
        let of_files = matches!(wanted.sameness, RunSameness::ByContent | RunSameness::ByMoment);
        let seen = matches!(self.submission.source, Source::Watcher | Source::Editor);
        if !of_files || !seen {
            return Ok(Some(whole));
        }
        if wanted.paths.is_empty() {
            let file = self.file(tx, wanted, &wanted.subject, wanted.content.as_ref())?;
            return Ok(file.map(|file| AdmittedRun { doubt: file.doubt, chain_depth: file.chain_depth, ..whole }));
        }
        self.batch(tx, whole)
    }

    /// The same for files that change together: those of our own making are left out.
    fn batch(
        &mut self,
        tx: &mut RunTransaction<'_>,
        mut run: AdmittedRun,
    ) -> Result<Option<AdmittedRun>, RunStoreError> {
        let files = std::mem::take(&mut run.wanted.files);
        for (path, file) in run.wanted.paths.clone().iter().zip(files) {
            let content = file.shown.content_hash.clone();
            if let Some(admitted) = self.file(tx, &run.wanted, path, content.as_ref())? {
                run.doubt = run.doubt.max(admitted.doubt);
                run.chain_depth = run.chain_depth.max(admitted.chain_depth);
                run.wanted.files.push(file);
            }
        }
        Ok((!run.wanted.files.is_empty()).then_some(run))
    }

    fn file(
        &mut self,
        tx: &mut RunTransaction<'_>,
        wanted: &WantedRun,
        path: &str,
        content: Option<&ContentHash>,
    ) -> Result<Option<AdmittedFile>, RunStoreError> {
        let (origin, writer) = self.origin(tx, path, content)?;
        match origin {
            ChangeOrigin::Foreign(doubt) => Ok(Some(AdmittedFile { doubt, chain_depth: 0 })),
            ChangeOrigin::Own if wanted.options.chain => {
                let depth = chained(tx, writer, &wanted.hook)?;
                Ok(depth.map(|chain_depth| AdmittedFile { doubt: ChangeSuspicion::Certain, chain_depth }))
            }
            ChangeOrigin::Own => Ok(None),
        }
    }

    /// Whose work the change of a file is, and the run that left it so.
    fn origin(
        &mut self,
        tx: &mut RunTransaction<'_>,
        path: &str,
        content: Option<&ContentHash>,
    ) -> Result<(ChangeOrigin, Option<u64>), RunStoreError> {
        if let Some(known) = self.known.get(path) {
            return Ok(*known);
        }
        let submission = self.submission;
        let mut writes = tx.writes(&submission.workspace, path)?;
        let writer = writer_of(&writes, content);
        let mut presence = RunPresence::Nobody;
        if submission.source == Source::Watcher {
            let running = match &self.running {
                Some(known) => known,
                None => self.running.insert(tx.running(&submission.workspace)?),
            };
            if !running.is_empty() {
                presence = RunPresence::Somebody;
            }
            let blind = submission.sight == WriteTracking::Blind;
            if submission.seen.contains(path) || (blind && running.iter().any(|key| key.subject == path)) {
                writes.push(live(path));
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
        self.known.insert(path.to_owned(), (found, writer));
        Ok((found, writer))
    }
}

fn live(path: &str) -> FileWrite {
    FileWrite { path: path.to_owned(), run: 0, state: FileWriteState::Live, content: None, at_ms: 0 }
}

/// The run that left a file so.
pub(super) fn writer_of(writes: &[FileWrite], content: Option<&ContentHash>) -> Option<u64> {
    let left = |write: &&FileWrite| write.state == FileWriteState::Left && write.content.as_ref() == content;
    writes.iter().find(left).map(|write| write.run)
}

/// How deep in a chain a run of this hook would be that the work of another run starts; none if it must not be.
pub(super) fn chained(
    tx: &mut RunTransaction<'_>,
    writer: Option<u64>,
    hook: &str,
) -> Result<Option<u32>, RunStoreError> {
    let writer = match writer {
        Some(number) => tx.find(number)?,
        None => None,
    };
    let depth = |depth: u32| Some(depth.saturating_add(1)).filter(|depth| *depth <= MAX_CHAIN_DEPTH);
    Ok(writer.filter(|run| run.key.hook != hook).and_then(|run| depth(run.facts.chain_depth)))
}
