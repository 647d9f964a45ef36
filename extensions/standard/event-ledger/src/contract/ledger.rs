//! The ledger: appending events, reading them in order, and what is known about persons.

use super::event::{Event, EventStatus, NewEvent};
use super::person::{Identity, Person};
use super::receipt::{EventReceipt, EventReceipts};
use super::reply::KeptReply;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::service::Service;
use dispatch_contracts::storage::StorageError;
use futures_channel::mpsc::Receiver;
use std::sync::Arc;

/// The ledger of events.
pub const EVENT_LEDGER: Service<dyn EventLedger> = Service::new("event-ledger/ledger");

/// A stored event, and whether it was stored just now.
#[derive(Clone, Debug, PartialEq)]
pub struct Appended {
    /// The event as it stands in the ledger.
    pub event: Event,
    /// Whether it is new; `false` if the same event was there already.
    pub fresh: bool,
}

/// How far an adapter has read an account's events. Only the adapter understands the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterPosition {
    /// Which kind of channel.
    pub channel: String,
    /// Which account.
    pub account: String,
    /// How far.
    pub position: String,
}

/// What came in over a channel in some time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelCount {
    /// Which kind of channel.
    pub channel: String,
    /// Events that were stored.
    pub received: u64,
    /// Repetitions of events that were stored already.
    pub duplicates: u64,
    /// Requests whose signature was wrong, missing or too old; nothing of them was stored.
    pub refused: u64,
}

/// Which events are wanted. What is not named does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Only of this channel.
    pub channel: Option<String>,
    /// Only from this sender.
    pub from: Option<String>,
    /// Only with this tag.
    pub tag: Option<String>,
    /// Only with this status.
    pub status: Option<EventStatus>,
    /// Only events received at this time or later, in Unix milliseconds.
    pub since_ms: Option<u64>,
}

/// Why the ledger did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// Something about an event, an identity or a tag is malformed.
    #[error("invalid {field}: {problem}")]
    Invalid {
        /// Which part.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// No event has this id.
    #[error("no event has the id `{id}`")]
    NoEvent {
        /// The id.
        id: String,
    },
    /// Another node has the account that the events were read from; nothing was stored.
    #[error("another node reads the account now")]
    Fenced,
    /// Storage failed; nothing was changed, or the answer was lost.
    #[error("the event ledger cannot be used: {0}")]
    Storage(#[from] StorageError),
    /// The program is ending.
    #[error("the event ledger is closed")]
    Closed,
}

impl LedgerError {
    /// What would help.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Invalid { .. } | Self::Fenced => None,
            Self::NoEvent { .. } => Some("`dispatch event list` shows the events that are stored"),
            Self::Storage(_) => {
                Some("`dispatch doctor` checks the database; what was not acknowledged can be sent again")
            }
            Self::Closed => Some("send it again when the program runs again"),
        }
    }
}

/// Stores events and finds them again.
pub trait EventLedger: Send + Sync {
    /// Stores an event. It outlives a power cut once this is answered; the same event again is found, not stored.
    fn append(&self, event: NewEvent) -> BoxFuture<'_, Result<Appended, LedgerError>>;
    /// Stores several events: all of them, or none.
    fn append_all(&self, events: Vec<NewEvent>) -> BoxFuture<'_, Result<Vec<Appended>, LedgerError>>;
    /// Stores events and how far their account was read with them, in one transaction.
    fn append_with_position(
        &self,
        events: Vec<NewEvent>,
        position: AdapterPosition,
    ) -> BoxFuture<'_, Result<Vec<Appended>, LedgerError>>;
    /// How far an account was read.
    fn position<'a>(&'a self, channel: &'a str, account: &'a str)
    -> BoxFuture<'a, Result<Option<String>, LedgerError>>;
    /// The event with an id.
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Event>, LedgerError>>;
    /// The events behind a number, oldest first. Numbers are committed in order, so that a reader that goes on from the
    /// last one it saw misses none.
    fn after(&self, sequence: u64, limit: u32) -> BoxFuture<'_, Result<Vec<Event>, LedgerError>>;
    /// The same of one channel alone.
    fn after_in<'a>(
        &'a self,
        channel: &'a str,
        sequence: u64,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<Event>, LedgerError>>;
    /// The newest events that fit a filter, newest first.
    fn newest(&self, filter: EventFilter, limit: u32) -> BoxFuture<'_, Result<Vec<Event>, LedgerError>>;
    /// The number of the newest event; 0 if there is none.
    fn last_sequence(&self) -> BoxFuture<'_, Result<u64, LedgerError>>;
    /// What was said before an event in its conversation (channel, account, peer and thread), oldest first: the last
    /// `limit` events with a lower number.
    fn thread_history<'a>(&'a self, event: &'a Event, limit: u32) -> BoxFuture<'a, Result<Vec<Event>, LedgerError>>;
    /// The events in whose content every word of a question begins a word, newest first.
    fn search<'a>(&'a self, question: &'a str, limit: u32) -> BoxFuture<'a, Result<Vec<Event>, LedgerError>>;
    /// The person whom a channel knows by a name, if the user linked it.
    fn person_of<'a>(&'a self, channel: &'a str, id: &'a str) -> BoxFuture<'a, Result<Option<Person>, LedgerError>>;
    /// Everybody, by name.
    fn persons(&self) -> BoxFuture<'_, Result<Vec<Person>, LedgerError>>;
    /// Says that an identity is this person's. It is no other person's from then on.
    fn link<'a>(&'a self, person: &'a str, identity: Identity) -> BoxFuture<'a, Result<Person, LedgerError>>;
    /// The status of an event.
    fn status<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<EventStatus, LedgerError>>;
    /// Changes the status of an event.
    fn set_status<'a>(&'a self, id: &'a str, status: EventStatus) -> BoxFuture<'a, Result<(), LedgerError>>;
    /// The tags of an event, in order.
    fn tags<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Vec<String>, LedgerError>>;
    /// Adds a tag; one that is there stays.
    fn tag<'a>(&'a self, id: &'a str, tag: &'a str) -> BoxFuture<'a, Result<(), LedgerError>>;
    /// Takes a tag away; one that is not there is no error.
    fn untag<'a>(&'a self, id: &'a str, tag: &'a str) -> BoxFuture<'a, Result<(), LedgerError>>;
    /// What came in per channel since this time, in Unix milliseconds, in the order of channels. Repetitions and refused
    /// requests are counted by whole days.
    fn channel_counts(&self, since_ms: u64) -> BoxFuture<'_, Result<Vec<ChannelCount>, LedgerError>>;
    /// Hears of appended events from now on: those of this process at once. Those of other processes are found by
    /// whoever looks at intervals too.
    fn listen(&self) -> Receiver<()>;
    /// Says who knows what was done with events.
    fn receipts_from(&self, receipts: Arc<dyn EventReceipts>);
    /// The replies to an event that are kept for their readers, in order.
    fn kept_replies<'a>(&'a self, event: &'a str) -> BoxFuture<'a, Result<Vec<KeptReply>, LedgerError>>;
    /// What was done with an event; nothing where nobody knows.
    fn receipt<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<EventReceipt, LedgerError>>;
}
