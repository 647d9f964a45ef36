//! The outbox: replies on their way to a channel, and what became of each.

use super::dispatch::{Delivery, DispatchId};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::service::Service;
use dispatch_contracts::storage::StorageError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The replies that are to be sent, and those that were.
pub const OUTBOX: Service<dyn Outbox> = Service::new("session-orchestrator/outbox");

/// Where a reply stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplyState {
    /// It waits to be sent.
    Pending,
    /// A process sends it.
    Sending,
    /// It arrived.
    Sent,
    /// It did not arrive, and is not tried again by itself.
    Failed,
    /// It may have arrived. It is not sent again until somebody says that it did not.
    Unknown,
}

impl ReplyState {
    /// The word that the database and scripts know it by.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }

    /// The state with this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Pending, Self::Sending, Self::Sent, Self::Failed, Self::Unknown]
            .into_iter()
            .find(|state| state.word() == word)
    }

    /// Whether nothing more happens to it by itself.
    #[must_use]
    pub const fn is_settled(self) -> bool {
        !matches!(self, Self::Pending | Self::Sending)
    }
}

/// A reply and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplyView {
    /// Its id: the same on every attempt.
    pub id: String,
    /// The turn that wrote it.
    pub turn: TurnId,
    /// Its place among the replies of the turn.
    pub part: u32,
    /// The dispatch that it answers.
    pub dispatch: DispatchId,
    /// The label of the session.
    pub session: String,
    /// The channel that it goes to.
    pub channel: String,
    /// Where it goes, as the dispatch said.
    pub delivery: Delivery,
    /// What it says.
    pub text: String,
    /// Where it stands.
    pub state: ReplyState,
    /// Why it stands there; empty while nothing is to be said.
    pub reason: String,
    /// How often it was tried.
    pub attempt: u32,
    /// What the channel said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Value>,
    /// When it was written, in Unix milliseconds.
    pub at_ms: u64,
    /// When it came to its state, in Unix milliseconds.
    pub changed_at_ms: u64,
}

/// What became of an attempt to send.
#[derive(Clone, Debug, PartialEq)]
pub enum SendAttempt {
    /// It arrived; what the channel says of it.
    Sent(Map<String, Value>),
    /// It did not leave; another attempt may work.
    NotSent(String),
    /// It did not leave, and no attempt would work.
    Refused(String),
    /// It may have arrived.
    Unknown(String),
}

/// What is known of a reply that may have been sent.
#[derive(Clone, Debug, PartialEq)]
pub enum SendVerdict {
    /// It arrived; what the channel says of it.
    Sent(Map<String, Value>),
    /// It did not arrive, and will not.
    NotSent,
    /// Sending it again is harmless: the channel recognises its id.
    Repeatable,
    /// Nobody can tell.
    Unresolved,
}

/// Brings replies to their channels.
pub trait ReplySender: Send + Sync {
    /// Whether replies can be brought to a channel from this process.
    fn takes(&self, channel: &str) -> bool;
    /// Sends a reply once.
    fn send(&self, reply: ReplyView) -> BoxFuture<'_, SendAttempt>;
    /// Finds out what became of a reply that may have been sent.
    fn reconcile(&self, reply: ReplyView) -> BoxFuture<'_, SendVerdict>;
}

/// What a person says of a reply that may have been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettledAs {
    /// It arrived.
    Sent,
    /// It did not: it is sent again.
    NotSent,
}

/// Which replies are wanted. What is not named does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplyFilter {
    /// Only in this state.
    pub state: Option<ReplyState>,
    /// Only replies to these dispatches.
    pub dispatches: Option<Vec<DispatchId>>,
}

/// How many replies to a channel stand in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyCount {
    /// The channel.
    pub channel: String,
    /// The state.
    pub state: ReplyState,
    /// How many.
    pub count: u64,
}

/// Why the outbox did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutboxError {
    /// No reply has this id.
    #[error("no reply in the outbox has the id `{0}`")]
    NoReply(String),
    /// It stands where a person cannot settle it.
    #[error("the reply `{id}` is {}; only one that is unknown or failed can be settled", state.word())]
    NotOpen {
        /// Which one.
        id: String,
        /// Where it stands.
        state: ReplyState,
    },
    /// Storage failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The outbox. Turns write to it in the transaction that ends them.
pub trait Outbox: Send + Sync {
    /// Sends with this from now on, in the place of an earlier one.
    fn send_with(&self, sender: Arc<dyn ReplySender>);
    /// Replies, newest first.
    fn list(&self, filter: ReplyFilter) -> BoxFuture<'_, Result<Vec<ReplyView>, OutboxError>>;
    /// How many replies came to their state at this time or later, in Unix milliseconds; those that are still on their way
    /// count whenever they were written.
    fn counts(&self, since_ms: u64) -> BoxFuture<'_, Result<Vec<ReplyCount>, OutboxError>>;
    /// A person says what became of a reply.
    fn settle<'a>(&'a self, id: &'a str, settled: SettledAs) -> BoxFuture<'a, Result<ReplyView, OutboxError>>;
    /// Takes a reply that waits, for somebody who hands it over right here and calls [`Outbox::settle`] then; `None` if
    /// it waits no more.
    fn take<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ReplyView>, OutboxError>>;
}
