//! How sessions, turns, rows and calls stand in the tables, and back.
//!
//! Pure.

use super::{CallLog, ForkPoint, Session, StoredRow, Turn, TurnState};
use dispatch_contracts::conversation::{ResultStatus, Row, RowBody};
use dispatch_contracts::ids::{CallId, RowId, SessionId, TurnId};
use dispatch_contracts::storage::{Columns, SqlValue, StorageError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

pub(crate) const SESSION: &str =
    "id, label, persona, title, head_turn, next_ord, next_seq, forked_from, forked_at, created_at, updated_at, folder";
pub(crate) const TURN: &str =
    "t.id, t.session, t.ord, t.parent, t.fence, t.state, t.model, t.started_at, t.ended_at, t.\"end\", t.usage";
pub(crate) const ROW: &str = "m.seq, m.turn, m.step, m.row_id, m.made_at, m.body";
pub(crate) const CALL: &str = "turn, call_id, name, status, started_at, ended_at";

pub(crate) const RUNNING: &str = "running";
pub(crate) const ENDED: &str = "ended";
pub(crate) const INTERRUPTED: &str = "interrupted";

pub(crate) fn session(record: &[SqlValue]) -> Result<Session, StorageError> {
    let forked_from = match record.optional_text(7)? {
        Some(session) => Some(ForkPoint { session: session.into(), turn: record.optional_text(8)?.map(TurnId::from) }),
        None => None,
    };
    Ok(Session {
        id: SessionId::from(record.text(0)?),
        label: record.text(1)?.to_owned(),
        persona: record.text(2)?.to_owned(),
        title: record.optional_text(3)?.map(str::to_owned),
        head: record.optional_text(4)?.map(TurnId::from),
        turns: record.unsigned(5)?,
        last_seq: record.unsigned(6)?.saturating_sub(1),
        forked_from,
        created_at_ms: record.unsigned(9)?,
        updated_at_ms: record.unsigned(10)?,
        folder: record.optional_text(11)?.map(PathBuf::from),
    })
}

/// A state, an end or a cost that this version cannot read does not hide the turn.
pub(crate) fn turn(record: &[SqlValue]) -> Result<Turn, StorageError> {
    let state = match record.text(5)? {
        RUNNING => TurnState::Running,
        ENDED => TurnState::Ended,
        _ => TurnState::Interrupted,
    };
    Ok(Turn {
        id: TurnId::from(record.text(0)?),
        session: SessionId::from(record.text(1)?),
        ord: record.unsigned(2)?,
        parent: record.optional_text(3)?.map(TurnId::from),
        fence: record.unsigned(4)?,
        state,
        model: record.text(6)?.to_owned(),
        started_at_ms: record.unsigned(7)?,
        ended_at_ms: record.optional_unsigned(8)?,
        end: record.optional_text(9)?.and_then(from_json),
        usage: record.optional_text(10)?.and_then(from_json).unwrap_or_default(),
    })
}

/// A body that cannot be read becomes an unreadable row: one bad row never costs the conversation.
pub(crate) fn row(record: &[SqlValue]) -> Result<StoredRow, StorageError> {
    let row = Row {
        id: RowId::from(record.text(3)?),
        turn: TurnId::from(record.text(1)?),
        step: u32::try_from(record.unsigned(2)?).unwrap_or(u32::MAX),
        at_ms: record.unsigned(4)?,
        body: from_json(record.text(5)?).unwrap_or(RowBody::Unreadable),
    };
    Ok(StoredRow { seq: record.unsigned(0)?, row })
}

pub(crate) fn call(record: &[SqlValue]) -> Result<CallLog, StorageError> {
    Ok(CallLog {
        turn: TurnId::from(record.text(0)?),
        call: CallId::from(record.text(1)?),
        name: record.text(2)?.to_owned(),
        status: record.optional_text(3)?.map(status),
        started_at_ms: record.optional_unsigned(4)?,
        ended_at_ms: record.optional_unsigned(5)?,
    })
}

/// Every record of a result through one reader.
pub(crate) fn all<T>(
    records: &[Vec<SqlValue>],
    read: impl Fn(&[SqlValue]) -> Result<T, StorageError>,
) -> Result<Vec<T>, StorageError> {
    records.iter().map(|record| read(record)).collect()
}

pub(crate) fn to_json(value: &impl Serialize) -> Result<String, StorageError> {
    serde_json::to_string(value)
        .map_err(|error| StorageError::GivenUp(format!("it cannot be written as JSON: {error}")))
}

fn from_json<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok()
}

pub(crate) const fn status_name(status: ResultStatus) -> &'static str {
    match status {
        ResultStatus::Succeeded => "succeeded",
        ResultStatus::Failed => "failed",
        ResultStatus::Denied => "denied",
        ResultStatus::NotRun => "not_run",
        ResultStatus::Unknown => "unknown",
    }
}

fn status(name: &str) -> ResultStatus {
    match name {
        "succeeded" => ResultStatus::Succeeded,
        "failed" => ResultStatus::Failed,
        "denied" => ResultStatus::Denied,
        "not_run" => ResultStatus::NotRun,
        _ => ResultStatus::Unknown,
    }
}
