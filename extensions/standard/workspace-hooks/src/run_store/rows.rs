//! How a run is read from its row and written to it.

use crate::contract::{RunId, Status};
use crate::run_store::{Run, RunFacts, RunKey};
use dispatch_contracts::storage::{Columns, Record, SqlValue, StorageError};

/// The columns that [`run`] reads.
pub(super) const RUN: &str = "number, id, workspace, hook, subject, status, content, attempts, reason, queued_at, \
                              not_before, started_at, ended_at, run_owner, stop, version, facts";

/// A record that begins with the columns of a run.
pub(super) fn run(record: &Record) -> Result<Run, StorageError> {
    let facts: RunFacts = serde_json::from_str(record.text(16)?)
        .map_err(|error| StorageError::Corrupt(format!("a run cannot be read: {error}")))?;
    Ok(Run {
        number: record.unsigned(0)?,
        id: RunId(record.text(1)?.to_owned()),
        key: key(record, 2)?,
        status: status(record.text(5)?)?,
        content: record.optional_text(6)?.map(str::to_owned),
        attempts: u32::try_from(record.unsigned(7)?).unwrap_or(u32::MAX),
        reason: record.text(8)?.to_owned(),
        queued_ms: record.unsigned(9)?,
        not_before_ms: record.unsigned(10)?,
        started_ms: record.optional_unsigned(11)?,
        ended_ms: record.optional_unsigned(12)?,
        owner: record.optional_text(13)?.map(str::to_owned),
        stop: record.unsigned(14)? != 0,
        version: record.unsigned(15)?,
        facts,
    })
}

/// Three columns that name a key.
pub(super) fn key(record: &Record, from: usize) -> Result<RunKey, StorageError> {
    Ok(RunKey {
        workspace: record.text(from)?.to_owned(),
        hook: record.text(from + 1)?.to_owned(),
        subject: record.text(from + 2)?.to_owned(),
    })
}

/// Every column but the number, in the order of [`RUN`].
pub(super) fn values(run: &Run) -> Result<Vec<SqlValue>, StorageError> {
    let facts = serde_json::to_string(&run.facts)
        .map_err(|error| StorageError::GivenUp(format!("the run cannot be written: {error}")))?;
    Ok(vec![
        run.id.0.as_str().into(),
        run.key.workspace.as_str().into(),
        run.key.hook.as_str().into(),
        run.key.subject.as_str().into(),
        run.status.word().into(),
        run.content.as_deref().into(),
        run.attempts.into(),
        run.reason.as_str().into(),
        run.queued_ms.into(),
        run.not_before_ms.into(),
        run.started_ms.into(),
        run.ended_ms.into(),
        run.owner.as_deref().into(),
        run.stop.into(),
        run.version.into(),
        facts.into(),
    ])
}

fn status(word: &str) -> Result<Status, StorageError> {
    let known = Status::parse(word);
    known.ok_or_else(|| StorageError::Corrupt(format!("a run is in the unknown state `{word}`")))
}
