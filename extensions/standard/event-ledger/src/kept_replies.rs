//! Replies that are kept until their reader takes them: those of the channels `web` and `cli`.

use crate::contract::{
    AccountState, AccountStatus, ChannelAdapter, KeptReply, OutboundAbilities, OutboundMessage, SendOutcome,
};
use crate::peer_signals::PeerSignals;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::ports::Clock;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Keys, Record, Statement, Storage, StorageError, Transaction};
use dispatch_durable_queue::transact;
use dispatch_redact::Redactor;
use futures_util::StreamExt;
use futures_util::future::select;
use serde_json::Map;
use std::sync::Arc;

/// The most replies that are read at once.
const MAX_PAGE: u32 = 100;
/// How often replies that another process wrote are looked for.
const LOOK_MS: u64 = 500;
const COLUMNS: &str = "sequence, message, peer, thread, reply_to, content, content_type, made_at";

/// The rows of all such channels.
pub(crate) struct KeptReplies {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) kept: PeerSignals,
}

impl KeptReplies {
    /// Replies of one peer are numbered in the order they are committed, so that a reader misses none.
    async fn keep(&self, channel: &'static str, peer: String, message: OutboundMessage) -> Result<(), StorageError> {
        let insert = statement!(
            "INSERT INTO kept_replies (channel, peer, message, thread, reply_to, content, content_type, made_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (message) DO NOTHING",
            channel,
            &peer,
            &message.id,
            message.delivery.thread_id,
            message.event.or(message.delivery.reply_to_id),
            self.redactor.redact(&message.content).replace('\0', "\u{fffd}"),
            &message.content_type,
            self.clock.now_ms()
        );
        let keys = Keys::of([format!("event-ledger:reply:{channel}:{peer}")]);
        let work = move |tx: &mut dyn Transaction| tx.execute(&insert).map(drop);
        transact::<_, StorageError>(self.storage.as_ref(), keys, work).await?;
        self.kept.wake(channel, &peer);
        Ok(())
    }

    /// The replies to a peer behind a number; looks for them so often again before it answers with none.
    pub(crate) async fn after(
        &self,
        channel: &str,
        peer: &str,
        sequence: u64,
        looks: u32,
    ) -> Result<Vec<KeptReply>, StorageError> {
        let query = || {
            let sql = format!(
                "SELECT {COLUMNS} FROM kept_replies WHERE channel = ?1 AND peer = ?2 AND sequence > ?3
                 ORDER BY sequence LIMIT ?4"
            );
            statement!(sql, channel, peer, sequence, MAX_PAGE)
        };
        let mut kept = self.kept.listen(channel, peer);
        for _ in 0..looks {
            let found = self.read(query()).await?;
            if !found.is_empty() {
                return Ok(found);
            }
            select(kept.woken.next(), self.clock.sleep_ms(LOOK_MS)).await;
        }
        self.read(query()).await
    }

    /// The replies to an event.
    pub(crate) async fn to_event(&self, event: &str) -> Result<Vec<KeptReply>, StorageError> {
        let sql = format!("SELECT {COLUMNS} FROM kept_replies WHERE reply_to = ?1 ORDER BY sequence LIMIT ?2");
        self.read(statement!(sql, event, MAX_PAGE)).await
    }

    async fn read(&self, query: Statement) -> Result<Vec<KeptReply>, StorageError> {
        self.storage.query(query).await?.iter().map(reply).collect()
    }
}

fn reply(row: &Record) -> Result<KeptReply, StorageError> {
    Ok(KeptReply {
        sequence: row.unsigned(0)?,
        id: row.text(1)?.to_owned(),
        peer_id: row.text(2)?.to_owned(),
        thread_id: row.optional_text(3)?.map(str::to_owned),
        reply_to_id: row.optional_text(4)?.map(str::to_owned),
        content: row.text(5)?.to_owned(),
        content_type: row.text(6)?.to_owned(),
        timestamp: row.unsigned(7)?,
    })
}

/// A channel whose replies are kept.
pub(crate) struct KeptReplyAdapter {
    pub(crate) channel: &'static str,
    pub(crate) replies: Arc<KeptReplies>,
}

impl ChannelAdapter for KeptReplyAdapter {
    fn channel(&self) -> &str {
        self.channel
    }

    fn abilities(&self) -> OutboundAbilities {
        OutboundAbilities { sends: true, idempotent: true, reconcile: false }
    }

    fn accounts(&self) -> Vec<AccountStatus> {
        vec![AccountStatus {
            channel: self.channel.to_owned(),
            account: "default".to_owned(),
            state: AccountState::Connected,
            reason: None,
            node: None,
        }]
    }

    fn send(&self, message: OutboundMessage) -> BoxFuture<'_, SendOutcome> {
        Box::pin(async move {
            let Some(peer) = message.delivery.peer_id.clone() else {
                return SendOutcome::NotSent { reason: "the reply names no peer".to_owned(), again: false };
            };
            match self.replies.keep(self.channel, peer, message).await {
                Ok(()) => SendOutcome::Sent { receipt: Map::new() },
                // The row is unique by the message's id, so another attempt is harmless.
                Err(error) => SendOutcome::Unknown { reason: error.to_string() },
            }
        })
    }
}
