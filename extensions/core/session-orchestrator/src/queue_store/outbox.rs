//! Replies as rows: written with the end of their turn, taken by one sender at a time, and never sent twice by guess.

use super::requests::{Lease, TurnFinish};
use super::{QueueError, QueueStore};
use crate::contract::{DispatchId, OutboxError, ReplyCount, ReplyFilter, ReplyState, ReplyView, SettledAs};
use crate::reply::{answers, channel, order_key, reply_text};
use crate::state::StoredDispatch;
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::migration::Migration;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Keys, Record, SqlValue, Statement, StorageError, Transaction};
use dispatch_durable_queue::transact;
use ext_conversation_store::contract::MAX_PAGE;
use ext_conversation_store::contract::ledger::load_turn_rows;
use serde_json::Value;

/// What other processes are told of when there is something to send.
pub(crate) const OUTBOX_TOPIC: &str = "session-orchestrator/outbox";
/// The most replies that are taken over at once.
const MAX_TAKEN_OVER: usize = 16;
/// The key of every change to a reply that is there.
const KEY: &str = "outbox";

/// The step that makes the table.
pub(super) const MIGRATION: Migration = Migration::new(
    4,
    "the outbox",
    &[
        "CREATE TABLE outbox (
            seq INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            turn TEXT NOT NULL,
            part INTEGER NOT NULL,
            dispatch_id TEXT NOT NULL,
            session TEXT NOT NULL,
            channel TEXT NOT NULL,
            target TEXT NOT NULL,
            delivery TEXT NOT NULL,
            content TEXT NOT NULL,
            state TEXT NOT NULL,
            reason TEXT NOT NULL,
            attempt INTEGER NOT NULL,
            owner TEXT,
            lease_until INTEGER NOT NULL,
            not_before INTEGER NOT NULL,
            receipt TEXT,
            at INTEGER NOT NULL,
            changed_at INTEGER NOT NULL,
            UNIQUE (turn, part)
        )",
        "CREATE INDEX outbox_open ON outbox (channel, seq) WHERE state IN ('pending', 'sending')",
        "CREATE INDEX outbox_targets ON outbox (target, seq) WHERE state IN ('pending', 'sending')",
        "CREATE INDEX outbox_dispatches ON outbox (dispatch_id)",
    ],
);

const REPLY: &str = "id, turn, part, dispatch_id, session, channel, delivery, content, state, reason, attempt, receipt, \
                     at, changed_at";

/// A reply that this process sends, and the attempt that gives it the right to.
#[derive(Clone, Debug)]
pub(crate) struct TakenReply {
    pub(crate) view: ReplyView,
    pub(crate) owner: String,
}

/// The replies to a channel that this process takes.
pub(crate) struct TakenReplies {
    pub(crate) taken: Vec<TakenReply>,
    /// Whether others wait for a later moment or for those before them.
    pub(crate) some_wait: bool,
}

/// Where an attempt leaves a reply.
#[derive(Clone, Debug)]
pub(crate) struct AttemptEnd {
    pub(crate) state: ReplyState,
    pub(crate) reason: String,
    pub(crate) receipt: Option<Value>,
    /// When it may be tried again, if it waits.
    pub(crate) not_before_ms: u64,
    pub(crate) now_ms: u64,
}

/// Writes the reply of a turn that ends, if somebody waits for one. Says whether there is one.
pub(super) fn write_reply(
    tx: &mut dyn Transaction,
    lease: &Lease,
    finish: &TurnFinish,
    ended: &[StoredDispatch],
) -> Result<bool, QueueError> {
    let Some(first) = ended.first().filter(|_| answers(&finish.end)) else { return Ok(false) };
    let Some(channel) = channel(&first.submission.delivery) else { return Ok(false) };
    let Some(text) = reply_text(&load_turn_rows(tx, &finish.turn)?) else { return Ok(false) };
    tx.execute(&statement!(
        "INSERT INTO outbox (id, turn, part, dispatch_id, session, channel, target, delivery, content, state, reason, attempt,
                             lease_until, not_before, at, changed_at)
         VALUES (?1, ?2, 0, ?3, ?4, ?5, ?6, ?7, ?8, 'pending', '', 0, 0, 0, ?9, ?9)",
        format!("{}.0", finish.turn),
        &finish.turn,
        first.id.as_str(),
        &lease.label,
        channel,
        order_key(&first.submission.delivery),
        first.submission.delivery.to_string(),
        text,
        finish.now_ms
    ))?;
    Ok(true)
}

impl QueueStore {
    /// Takes replies to a channel that are due: at most one per target, the oldest.
    pub(crate) async fn take_replies(
        &self,
        channel: &str,
        owner: &str,
        now_ms: u64,
        until_ms: u64,
        limit: u32,
    ) -> Result<TakenReplies, OutboxError> {
        let (channel, owner) = (channel.to_owned(), owner.to_owned());
        let work = move |tx: &mut dyn Transaction| {
            let due = tx.query(&statement!(
                format!(
                    "SELECT {REPLY} FROM outbox WHERE channel = ?1 AND state = 'pending' AND not_before <= ?2
                     AND NOT EXISTS (SELECT 1 FROM outbox earlier WHERE earlier.target = outbox.target
                         AND earlier.seq < outbox.seq AND earlier.state IN ('pending', 'sending'))
                     ORDER BY seq LIMIT ?3"
                ),
                &channel,
                now_ms,
                limit
            ))?;
            let taken = due.iter().map(|record| take(tx, reply(record)?, &owner, now_ms, until_ms));
            let taken = taken.collect::<Result<_, OutboxError>>()?;
            let waiting = "SELECT 1 FROM outbox WHERE channel = ?1 AND state = 'pending' LIMIT 1";
            let some_wait = !tx.query(&statement!(waiting, &channel))?.is_empty();
            Ok(TakenReplies { taken, some_wait })
        };
        transact(self.storage(), Keys::of([KEY]), work).await
    }

    /// Takes one reply if it waits.
    pub(crate) async fn take_reply(
        &self,
        id: &str,
        owner: &str,
        now_ms: u64,
        until_ms: u64,
    ) -> Result<Option<TakenReply>, OutboxError> {
        let (id, owner) = (id.to_owned(), owner.to_owned());
        let work = move |tx: &mut dyn Transaction| {
            let found = find(tx, &id)?;
            match found {
                None => Err(OutboxError::NoReply(id)),
                Some(view) if view.state != ReplyState::Pending => Ok(None),
                Some(view) => take(tx, view, &owner, now_ms, until_ms).map(Some),
            }
        };
        transact(self.storage(), Keys::of([KEY]), work).await
    }

    /// Stores how an attempt ended, if nobody took the reply over meanwhile. That it arrived is news also where somebody
    /// else could only say that it is unknown.
    pub(crate) async fn end_attempt(&self, taken: &TakenReply, end: AttemptEnd) -> Result<bool, OutboxError> {
        let taken = taken.clone();
        let work = move |tx: &mut dyn Transaction| {
            let changed = tx.execute(&statement!(
                "UPDATE outbox SET state = ?4, reason = ?5, receipt = ?6, not_before = ?7, changed_at = ?8, owner = NULL
                 WHERE id = ?1 AND attempt = ?3
                 AND ((owner = ?2 AND state = 'sending') OR (state = 'unknown' AND ?9 = 'arrived'))",
                &taken.view.id,
                &taken.owner,
                taken.view.attempt,
                end.state.word(),
                &end.reason,
                end.receipt.as_ref().map(Value::to_string),
                end.not_before_ms,
                end.now_ms,
                if end.state == ReplyState::Sent { "arrived" } else { "" }
            ))?;
            Ok::<bool, OutboxError>(changed > 0)
        };
        transact(self.storage(), Keys::of([KEY]), work).await
    }

    /// The channels that replies wait for.
    pub(crate) async fn waiting_channels(&self) -> Result<Vec<String>, OutboxError> {
        let query = "SELECT DISTINCT channel FROM outbox WHERE state = 'pending'";
        let found = self.storage().query(statement!(query)).await?;
        found.iter().map(|record| Ok(record.text(0)?.to_owned())).collect()
    }

    /// The replies whose sender is gone, taken over by this one. What this process has under way is not among them: its
    /// own limits end it.
    pub(crate) async fn take_abandoned(
        &self,
        takes: impl Fn(&ReplyView) -> bool + Send + 'static,
        owner: &str,
        is_dead: impl Fn(&str) -> bool + Send + 'static,
        now_ms: u64,
        until_ms: u64,
    ) -> Result<Vec<TakenReply>, OutboxError> {
        let own = owner.to_owned();
        let work = move |tx: &mut dyn Transaction| {
            let held = tx.query(&statement!(
                format!("SELECT {REPLY}, owner, lease_until FROM outbox WHERE state = 'sending' ORDER BY seq LIMIT ?1"),
                MAX_PAGE
            ))?;
            let mut taken = Vec::new();
            for record in &held {
                let view = reply(record)?;
                let owner = record.optional_text(REPLY_COLUMNS)?.unwrap_or_default();
                let expired = record.unsigned(REPLY_COLUMNS + 1)? <= now_ms;
                let is_gone = expired || (owner != own && is_dead(owner));
                if is_gone && taken.len() < MAX_TAKEN_OVER && takes(&view) {
                    tx.execute(&statement!(
                        "UPDATE outbox SET owner = ?2, lease_until = ?3 WHERE id = ?1",
                        &view.id,
                        &own,
                        until_ms
                    ))?;
                    taken.push(TakenReply { view, owner: own.clone() });
                }
            }
            Ok::<_, OutboxError>(taken)
        };
        transact(self.storage(), Keys::of([KEY]), work).await
    }

    /// When the next reply may be tried again, after this moment.
    pub(crate) async fn next_reply_due(&self, after_ms: u64) -> Result<Option<u64>, OutboxError> {
        let query = "SELECT MIN(not_before) FROM outbox WHERE state = 'pending' AND not_before > ?1";
        let found = self.storage().query(statement!(query, after_ms)).await?;
        Ok(found.first().map(|record| record.optional_unsigned(0)).transpose()?.flatten())
    }

    /// Replies, newest first.
    pub(crate) async fn replies(&self, filter: &ReplyFilter) -> Result<Vec<ReplyView>, OutboxError> {
        let state = filter.state.map(ReplyState::word);
        let mut sql = format!("SELECT {REPLY} FROM outbox WHERE (CAST(?1 AS TEXT) IS NULL OR state = ?1)");
        let mut parameters = vec![SqlValue::from(state), SqlValue::from(MAX_PAGE)];
        if let Some(dispatches) = &filter.dispatches {
            if dispatches.is_empty() {
                return Ok(Vec::new());
            }
            let places: Vec<String> = (0..dispatches.len()).map(|at| format!("?{}", at + 3)).collect();
            sql.push_str(&format!(" AND dispatch_id IN ({})", places.join(", ")));
            parameters.extend(dispatches.iter().map(|id| SqlValue::from(id.as_str())));
        }
        sql.push_str(" ORDER BY seq DESC LIMIT ?2");
        let found = self.storage().query(Statement::new(sql, parameters)).await?;
        found.iter().map(|record| Ok(reply(record)?)).collect()
    }

    /// How many replies to each channel are in each state.
    pub(crate) async fn reply_counts(&self, since_ms: u64) -> Result<Vec<ReplyCount>, OutboxError> {
        let query = "SELECT channel, state, count(*) FROM outbox
             WHERE changed_at >= ?1 OR state IN ('pending', 'sending') GROUP BY channel, state ORDER BY channel, state";
        let found = self.storage().query(statement!(query, since_ms)).await?;
        let count = |record: &Record| {
            let (channel, count) = (record.text(0)?.to_owned(), record.unsigned(2)?);
            Ok(ReplyCount { channel, state: known_state(record.text(1)?)?, count })
        };
        found.iter().map(count).collect()
    }

    /// A person says what became of a reply.
    pub(crate) async fn settle_reply(
        &self,
        id: &str,
        owner: &str,
        settled: SettledAs,
        now_ms: u64,
    ) -> Result<ReplyView, OutboxError> {
        let (id, own) = (id.to_owned(), owner.to_owned());
        let work = move |tx: &mut dyn Transaction| {
            let query = format!("SELECT {REPLY}, owner FROM outbox WHERE id = ?1");
            let found = tx.query(&statement!(query, &id))?;
            let record = found.first().ok_or_else(|| OutboxError::NoReply(id.clone()))?;
            let view = reply(record)?;
            let is_own = record.optional_text(REPLY_COLUMNS)? == Some(own.as_str());
            let is_open = match view.state {
                ReplyState::Unknown | ReplyState::Failed => true,
                ReplyState::Sending => is_own,
                ReplyState::Pending | ReplyState::Sent => false,
            };
            if !is_open {
                return Err(OutboxError::NotOpen { id, state: view.state });
            }
            let (state, reason) = match settled {
                SettledAs::Sent if is_own => (ReplyState::Sent, ""),
                SettledAs::Sent => (ReplyState::Sent, "a person says that it arrived"),
                SettledAs::NotSent => (ReplyState::Pending, "a person says that it did not arrive"),
            };
            tx.execute(&statement!(
                "UPDATE outbox SET state = ?2, reason = ?3, not_before = ?4, changed_at = ?4, owner = NULL WHERE id = ?1",
                &id,
                state.word(),
                reason,
                now_ms
            ))?;
            Ok(ReplyView { state, reason: reason.to_owned(), changed_at_ms: now_ms, ..view })
        };
        let settled = transact(self.storage(), Keys::of([KEY]), work).await?;
        self.announce(OUTBOX_TOPIC);
        Ok(settled)
    }
}

/// How many columns a reply has: what a query adds comes behind them.
const REPLY_COLUMNS: usize = 14;

fn take(
    tx: &mut dyn Transaction,
    view: ReplyView,
    owner: &str,
    now_ms: u64,
    until_ms: u64,
) -> Result<TakenReply, OutboxError> {
    let view = ReplyView { state: ReplyState::Sending, attempt: view.attempt + 1, changed_at_ms: now_ms, ..view };
    tx.execute(&statement!(
        "UPDATE outbox SET state = 'sending', attempt = ?2, owner = ?3, lease_until = ?4, changed_at = ?5 WHERE id = ?1",
        &view.id,
        view.attempt,
        owner,
        until_ms,
        now_ms
    ))?;
    Ok(TakenReply { view, owner: owner.to_owned() })
}

fn find(tx: &mut dyn Transaction, id: &str) -> Result<Option<ReplyView>, StorageError> {
    let found = tx.query(&statement!(format!("SELECT {REPLY} FROM outbox WHERE id = ?1"), id))?;
    found.first().map(reply).transpose()
}

fn known_state(word: &str) -> Result<ReplyState, StorageError> {
    ReplyState::of_word(word).ok_or_else(|| StorageError::Corrupt(format!("a reply is in the unknown state `{word}`")))
}

fn reply(record: &Record) -> Result<ReplyView, StorageError> {
    let unreadable = |error: serde_json::Error| StorageError::Corrupt(format!("a reply cannot be read: {error}"));
    let state = known_state(record.text(8)?)?;
    Ok(ReplyView {
        id: record.text(0)?.to_owned(),
        turn: TurnId::new(record.text(1)?),
        part: u32::try_from(record.unsigned(2)?).unwrap_or(u32::MAX),
        dispatch: DispatchId::new(record.text(3)?),
        session: record.text(4)?.to_owned(),
        channel: record.text(5)?.to_owned(),
        delivery: serde_json::from_str(record.text(6)?).map_err(unreadable)?,
        text: record.text(7)?.to_owned(),
        state,
        reason: record.text(9)?.to_owned(),
        attempt: u32::try_from(record.unsigned(10)?).unwrap_or(u32::MAX),
        receipt: record.optional_text(11)?.map(serde_json::from_str).transpose().map_err(unreadable)?,
        at_ms: record.unsigned(12)?,
        changed_at_ms: record.unsigned(13)?,
    })
}
