//! What the journal is asked: decisions of hooks, dispatches of events, and which hooks are off.

use crate::journal::{Journal, JournaledDispatch, JournaledInvocation};
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Record, StorageError};
use std::collections::BTreeMap;

/// The most invocations that are read at once.
pub(crate) const MAX_INVOCATIONS: u32 = 1_000;

impl Journal {
    /// What hooks decided about an event.
    pub(crate) async fn invocations(&self, event: &str) -> Result<Vec<JournaledInvocation>, StorageError> {
        let query = format!("SELECT {INVOCATION} FROM hook_invocations WHERE event = ?1 ORDER BY at, hook");
        let found = self.storage.query(statement!(query, event)).await?;
        found.iter().map(invocation).collect()
    }

    /// What one hook decided before an event, newest first.
    pub(crate) async fn invocations_of(
        &self,
        hook: &str,
        before: u64,
        limit: u32,
    ) -> Result<Vec<JournaledInvocation>, StorageError> {
        let query = format!(
            "SELECT {INVOCATION} FROM hook_invocations WHERE hook = ?1 AND sequence < ?2 ORDER BY sequence DESC LIMIT ?3"
        );
        let found = self.storage.query(statement!(query, hook, before, limit.min(MAX_INVOCATIONS))).await?;
        found.iter().map(invocation).collect()
    }

    /// The dispatches of an event, in order.
    pub(crate) async fn dispatches(&self, event: &str) -> Result<Vec<JournaledDispatch>, StorageError> {
        let query = statement!(
            "SELECT id, hook, label, persona, mode, state, reason, merged_into, permissions, at FROM route_dispatches
             WHERE event = ?1 ORDER BY place",
            event
        );
        let found = self.storage.query(query).await?;
        let dispatch = |record: &Record| {
            Ok(JournaledDispatch {
                id: record.text(0)?.to_owned(),
                hook: record.text(1)?.to_owned(),
                label: record.text(2)?.to_owned(),
                persona: record.text(3)?.to_owned(),
                mode: record.text(4)?.to_owned(),
                state: record.text(5)?.to_owned(),
                reason: record.text(6)?.to_owned(),
                merged_into: record.optional_text(7)?.map(str::to_owned),
                permissions: serde_json::from_str(record.text(8)?).map_err(unreadable)?,
                at_ms: record.unsigned(9)?,
            })
        };
        found.iter().map(dispatch).collect()
    }

    /// The event that a dispatch came from, and how often replies led to it.
    pub(crate) async fn event_of(&self, dispatch: &str) -> Result<Option<(String, u32)>, StorageError> {
        let query = statement!(
            "SELECT d.event, r.hops FROM route_dispatches d LEFT JOIN event_routes r ON r.event = d.event WHERE d.id = ?1",
            dispatch
        );
        let found = self.storage.query(query).await?;
        let hops = |record: &Record| Ok::<u64, StorageError>(record.optional_unsigned(1)?.unwrap_or(0));
        found
            .first()
            .map(|record| Ok((record.text(0)?.to_owned(), u32::try_from(hops(record)?).unwrap_or(u32::MAX))))
            .transpose()
    }

    /// Whether an event was routed, by anybody.
    pub(crate) async fn is_routed(&self, event: &str) -> Result<bool, StorageError> {
        let query = statement!("SELECT 1 FROM event_routes WHERE event = ?1 AND state = 'routed'", event);
        Ok(!self.storage.query(query).await?.is_empty())
    }

    /// The hooks that are switched off, with why.
    pub(crate) async fn disabled(&self) -> Result<BTreeMap<(String, String), String>, StorageError> {
        let query = "SELECT origin, hook, reason FROM hook_states WHERE enabled = 0";
        let found = self.storage.query(statement!(query)).await?;
        let one = |record: &Record| {
            Ok(((record.text(0)?.to_owned(), record.text(1)?.to_owned()), record.text(2)?.to_owned()))
        };
        found.iter().map(one).collect()
    }
}

const INVOCATION: &str = "event, hook, outcome, reason, result, ms, at, sequence";

fn unreadable(error: serde_json::Error) -> StorageError {
    StorageError::Corrupt(format!("what was decided cannot be read: {error}"))
}

fn invocation(record: &Record) -> Result<JournaledInvocation, StorageError> {
    Ok(JournaledInvocation {
        event: record.text(0)?.to_owned(),
        hook: record.text(1)?.to_owned(),
        outcome: record.text(2)?.to_owned(),
        reason: record.text(3)?.to_owned(),
        value: record.optional_text(4)?.map(serde_json::from_str).transpose().map_err(unreadable)?,
        ms: record.unsigned(5)?,
        at_ms: record.unsigned(6)?,
        sequence: record.unsigned(7)?,
    })
}
