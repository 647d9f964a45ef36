//! Channels: what an adapter promises, and where the adapters are found.

use super::event::{NewEvent, PeerKind};
use super::ledger::{Appended, LedgerError};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::service::Service;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The adapters of all channels.
pub const CHANNELS: Service<dyn Channels> = Service::new("event-ledger/channels");

/// Where an answer goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeliveryContext {
    /// Which kind of channel.
    pub channel: String,
    /// Which account of the channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    /// The conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_id: Option<String>,
    /// The thread in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The event that is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to_id: Option<String>,
}

/// A message that is to leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutboundMessage {
    /// The id of its row in the outbox: the same on every attempt, so that a channel can recognise a repetition.
    pub id: String,
    /// Where it goes.
    pub delivery: DeliveryContext,
    /// What it says.
    pub content: String,
    /// `text`, ...
    pub content_type: String,
    /// The event that it answers, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// How many replies led to it: a channel carries it so that a reply that comes back is recognised.
    #[serde(default)]
    pub hops: u32,
    /// When it was written, in Unix milliseconds.
    pub at_ms: u64,
}

/// What became of an attempt to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// It arrived; what the channel says of it.
    Sent {
        /// The channel's own name for it, and whatever else it answered.
        receipt: Map<String, Value>,
    },
    /// It did not leave, and nobody will see it.
    NotSent {
        /// Why.
        reason: String,
        /// Whether another attempt may work.
        again: bool,
    },
    /// It may have arrived.
    Unknown {
        /// Why that is not known.
        reason: String,
    },
}

/// What an adapter found out about a message that may have been sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReconcileOutcome {
    /// It arrived.
    Sent {
        /// What the channel says of it.
        receipt: Map<String, Value>,
    },
    /// It did not arrive, and will not.
    NotSent,
    /// It is still unknown.
    Unresolved,
}

/// What an adapter can do when it sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutboundAbilities {
    /// Whether it sends at all.
    pub sends: bool,
    /// Whether the receiver recognises a repetition by the message's id, so that sending again is harmless.
    pub idempotent: bool,
    /// Whether it can find out what became of a message.
    pub reconcile: bool,
}

/// How the events of an adapter come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intake {
    /// Somebody hands them to us: a request, a command.
    Pushed,
    /// The adapter reads them from an account; one node at a time.
    Read,
}

/// What an adapter that reads an account works with.
pub struct Inbox {
    /// Which account.
    pub account: String,
    /// How far it was read.
    pub position: Option<String>,
    /// Where the events go.
    pub events: Arc<dyn AccountEvents>,
    /// Ends the reading.
    pub cancel: CancelToken,
}

/// The way of a read account's events into the ledger, for as long as this node has the account.
pub trait AccountEvents: Send + Sync {
    /// Stores events and how far the account was read with them, in one transaction.
    ///
    /// # Errors
    /// [`LedgerError::Fenced`] if another node has the account now; nothing is stored then.
    fn store(&self, events: Vec<NewEvent>, position: String) -> BoxFuture<'_, Result<Vec<Appended>, LedgerError>>;
    /// Says that the account takes events in, with what people should know about it.
    fn connected(&self, note: Option<String>) -> BoxFuture<'_, ()>;
}

/// Where an account stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccountState {
    /// It takes events in.
    Connected,
    /// It tries again in a while.
    Waiting,
    /// It does nothing until somebody changes something.
    Stopped,
    /// Another node has it.
    Elsewhere,
}

impl AccountState {
    /// The word in the database and on the command line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Waiting => "waiting",
            Self::Stopped => "stopped",
            Self::Elsewhere => "elsewhere",
        }
    }

    /// The state with this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Connected, Self::Waiting, Self::Stopped, Self::Elsewhere].into_iter().find(|state| state.word() == word)
    }
}

/// One account of a channel, as people see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountStatus {
    /// Which kind of channel.
    pub channel: String,
    /// Which account.
    pub account: String,
    /// Where it stands.
    pub state: AccountState,
    /// Why, where that needs a reason.
    pub reason: Option<String>,
    /// On which node it runs.
    pub node: Option<String>,
}

/// Why an account stopped, or a test of it failed. Never contains a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// Another attempt may work.
    #[error("{0}")]
    Passing(String),
    /// Nothing changes until somebody changes something: a wrong password, an unknown account.
    #[error("{0}")]
    Lasting(String),
}

/// Something about an account's settings that keeps it from working, or lets in more than was probably meant. Never
/// contains a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelProblem {
    /// Which account.
    pub account: String,
    /// What is wrong.
    pub problem: String,
    /// What helps.
    pub fix: String,
    /// Whether it is only worth knowing: it may be meant so.
    pub may_be_meant: bool,
}

/// One kind of channel: how its events come in and how answers leave.
pub trait ChannelAdapter: Send + Sync {
    /// Which kind of channel.
    fn channel(&self) -> &str;
    /// How its events come in.
    fn intake(&self) -> Intake {
        Intake::Pushed
    }
    /// What it can do when it sends.
    fn abilities(&self) -> OutboundAbilities {
        OutboundAbilities::default()
    }
    /// The accounts that are configured, with what is known of them on this node.
    fn accounts(&self) -> Vec<AccountStatus>;
    /// A text that changes when the settings or the secret of an account change: one that stopped is tried again then.
    /// It is kept in memory only.
    fn configuration_mark<'a>(&'a self, account: &'a str) -> BoxFuture<'a, String> {
        _ = account;
        Box::pin(std::future::ready(String::new()))
    }
    /// Reads an account until it is cancelled or fails. An adapter that is handed its events returns at once.
    fn read(&self, inbox: Inbox) -> BoxFuture<'_, Result<(), ChannelError>> {
        drop(inbox);
        Box::pin(std::future::ready(Ok(())))
    }
    /// Sends a message once.
    fn send(&self, message: OutboundMessage) -> BoxFuture<'_, SendOutcome> {
        let reason = format!("the channel `{}` sends nothing (message `{}`)", self.channel(), message.id);
        Box::pin(std::future::ready(SendOutcome::NotSent { reason, again: false }))
    }
    /// Finds out what became of a message that may have been sent.
    fn reconcile(&self, message: OutboundMessage) -> BoxFuture<'_, ReconcileOutcome> {
        drop(message);
        Box::pin(std::future::ready(ReconcileOutcome::Unresolved))
    }
    /// Tries an account: logs in, or says what is missing.
    fn test<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<String, ChannelError>> {
        let known = self.accounts().iter().any(|status| status.account == account);
        let answer = if known {
            Ok(format!("the channel `{}` is handed its events; there is nothing to connect to", self.channel()))
        } else {
            Err(ChannelError::Lasting(format!("the channel `{}` has no account `{account}`", self.channel())))
        };
        Box::pin(std::future::ready(answer))
    }
    /// What is wrong with the settings of its accounts, as far as that shows without a connection.
    fn problems(&self) -> BoxFuture<'_, Vec<ChannelProblem>> {
        Box::pin(std::future::ready(Vec::new()))
    }
    /// Whether a conversation of the channel is with one peer or with many, where the channel knows.
    fn peer_kind(&self, peer: &str) -> Option<PeerKind> {
        _ = peer;
        None
    }
}

/// The adapters that are there.
pub trait Channels: Send + Sync {
    /// Adds an adapter; one of the same channel is replaced.
    fn register(&self, adapter: Arc<dyn ChannelAdapter>);
    /// The adapter of a channel.
    fn find(&self, channel: &str) -> Option<Arc<dyn ChannelAdapter>>;
    /// All of them, by channel.
    fn all(&self) -> Vec<Arc<dyn ChannelAdapter>>;
    /// Where every account stands, on whichever node it runs.
    fn statuses(&self) -> BoxFuture<'_, Result<Vec<AccountStatus>, LedgerError>>;
    /// Lets an account that waits or stopped be tried again at once, by the node that has it.
    fn try_again<'a>(&'a self, channel: &'a str, account: &'a str) -> BoxFuture<'a, Result<(), LedgerError>>;
}
