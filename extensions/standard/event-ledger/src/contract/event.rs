//! Events: facts from outside, as they are stored and as an adapter hands them in.
//!
//! Pure.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Whether an event came from one peer or from many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PeerKind {
    /// A direct conversation with one peer.
    #[default]
    Dm,
    /// A group, a room or a channel with several members.
    Group,
}

impl PeerKind {
    /// The word in events and in the database.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Dm => "dm",
            Self::Group => "group",
        }
    }

    /// The kind with this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Dm, Self::Group].into_iter().find(|kind| kind.word() == word)
    }
}

/// Where an event came from if Dispatch itself caused it: a reply that came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventOrigin {
    /// The event that the reply was for.
    pub event: String,
    /// How many replies led to this event, this one included.
    pub hops: u32,
}

/// A stored event. It is never changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// `CHANNEL:EXTERNALID`. Where two accounts of a channel use one external id, the later event is called
    /// `CHANNEL:EXTERNALID#ACCOUNT`.
    pub id: String,
    /// Its number in the ledger. A higher one was committed later, on every node.
    pub sequence: u64,
    /// Which kind of channel: `webhook`, `mail`, `cli`, ...
    pub channel: String,
    /// Which account of the channel.
    pub account_id: String,
    /// Who sent it, by the channel's own name for the sender.
    pub from: String,
    /// Whether it came from one peer or from many.
    pub peer_kind: PeerKind,
    /// The conversation: the sender of a direct message, or the group.
    pub peer_id: String,
    /// The thread in the conversation, if there are threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// What it says, without secrets.
    pub content: String,
    /// `text`, `json`, `image`, `audio`, ...
    pub content_type: String,
    /// When it was sent, in Unix milliseconds, as its sender says.
    pub timestamp: u64,
    /// When it was stored, in Unix milliseconds.
    pub received_at: u64,
    /// What else is known of it, without secrets.
    #[serde(default)]
    pub metadata: Map<String, Value>,
    /// Which event caused it, if it is a reply of ours that came back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<EventOrigin>,
}

/// An event that is not stored yet. The ledger redacts its texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewEvent {
    /// Which kind of channel.
    pub channel: String,
    /// Which account of the channel; `default` if it has but one.
    pub account_id: String,
    /// The channel's own name for the event; a fresh one if there is none. The same one again is the same event.
    pub external_id: Option<String>,
    /// Who sent it.
    pub from: String,
    /// Whether it came from one peer or from many.
    pub peer_kind: PeerKind,
    /// The conversation; the sender if nothing is named.
    pub peer_id: Option<String>,
    /// The thread in the conversation.
    pub thread_id: Option<String>,
    /// What it says.
    pub content: String,
    /// `text` if nothing is named.
    pub content_type: Option<String>,
    /// When it was sent, in Unix milliseconds; now if nothing is named.
    pub timestamp: Option<u64>,
    /// What else is known of it.
    pub metadata: Map<String, Value>,
    /// Who else it is addressed to, by the channel's own names.
    pub participants: Vec<String>,
    /// Which event caused it, if it is a reply of ours that came back.
    pub origin: Option<EventOrigin>,
}

/// How far a person is with an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventStatus {
    /// Nobody has looked at it.
    #[default]
    Unread,
    /// It was answered, or needs nothing.
    Handled,
    /// Put away.
    Archived,
}

impl EventStatus {
    /// The word in the database and on the command line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unread => "unread",
            Self::Handled => "handled",
            Self::Archived => "archived",
        }
    }

    /// The status with this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Unread, Self::Handled, Self::Archived].into_iter().find(|status| status.word() == word)
    }
}
