//! What other extensions may use: the conversations as a service, and the ledger as plain functions
//! over a running transaction.

mod label;
pub mod ledger;
pub(crate) mod records;

use dispatch_contracts::BoxFuture;
use dispatch_contracts::conversation::{Message, ResultStatus, Row, project};
use dispatch_contracts::ids::{CallId, SessionId, TurnId};
use dispatch_contracts::provider::Usage;
use dispatch_contracts::service::Service;
use dispatch_contracts::storage::StorageError;
use dispatch_contracts::turn::TurnEnd;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

pub use crate::extension::open;
pub use label::{MAX_LABEL_BYTES, check_label};

/// The namespace of the ledger's tables: what to join to write turns and one's own rows at once.
pub const NAMESPACE: &str = "conversation-store";

/// The most rows, sessions or hits that one call gives.
pub const MAX_PAGE: u32 = 1_000;

/// The longest title, in characters.
pub const MAX_TITLE_CHARS: usize = 200;

/// The version of [`Export`]'s shape.
pub const EXPORT_FORMAT: &str = "dispatch-conversation/1";

/// The conversations of our own agent.
pub const CONVERSATIONS: Service<dyn Conversations> = Service::new("conversation-store/conversations");

/// Reads and arranges conversations. Turns are written through [`ledger`].
pub trait Conversations: Send + Sync {
    /// One session; `None` when nobody has the label.
    fn session<'a>(&'a self, label: &'a str) -> BoxFuture<'a, Result<Option<Session>, ConversationError>>;
    /// Sessions, the one that changed last first.
    fn sessions(&self, filter: SessionFilter) -> BoxFuture<'_, Result<Vec<Session>, ConversationError>>;
    /// Makes an empty session.
    fn create<'a>(&'a self, label: &'a str, persona: &'a str) -> BoxFuture<'a, Result<Session, ConversationError>>;
    /// The whole conversation as the model would get it.
    fn history<'a>(&'a self, label: &'a str) -> BoxFuture<'a, Result<History, ConversationError>>;
    /// The rows that were written in this session behind a position, in storage order; at most
    /// [`MAX_PAGE`]. The turns that a fork shares are in the stream of the session that wrote them.
    fn rows_after<'a>(
        &'a self,
        session: &'a SessionId,
        seq: u64,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<StoredRow>, ConversationError>>;
    /// One turn with its rows as they were written, and its calls; `None` when there is none.
    fn turn<'a>(&'a self, turn: &'a TurnId) -> BoxFuture<'a, Result<Option<TurnLog>, ConversationError>>;
    /// What a call of a turn said, if it was too large for the model; `None` when nothing is kept under the name.
    fn output<'a>(
        &'a self,
        turn: &'a TurnId,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, ConversationError>>;
    /// Makes a session that goes on from a turn of another one (from its head if none is named). The
    /// turns are shared, not copied.
    fn fork<'a>(
        &'a self,
        label: &'a str,
        at: Option<&'a TurnId>,
        new_label: &'a str,
    ) -> BoxFuture<'a, Result<Session, ConversationError>>;
    /// Gives a session another label.
    fn rename<'a>(&'a self, label: &'a str, new_label: &'a str) -> BoxFuture<'a, Result<Session, ConversationError>>;
    /// Gives a session a title for people; `None` takes it away. Longer ones are cut.
    fn set_title<'a>(
        &'a self,
        label: &'a str,
        title: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Session, ConversationError>>;
    /// Removes a session and the turns that no other session goes on from.
    fn delete<'a>(&'a self, label: &'a str) -> BoxFuture<'a, Result<(), ConversationError>>;
    /// What people and models said, newest first, one hit per turn.
    fn search<'a>(&'a self, text: &'a str, limit: u32) -> BoxFuture<'a, Result<Vec<Hit>, ConversationError>>;
    /// Everything there is of a session, as it was written.
    fn export<'a>(&'a self, label: &'a str) -> BoxFuture<'a, Result<Export, ConversationError>>;
}

/// Why a conversation could not be had or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConversationError {
    /// Nobody has the label.
    #[error("there is no session `{label}`")]
    NoSession {
        /// The label.
        label: String,
    },
    /// Somebody has the label already.
    #[error("session `{label}` exists already")]
    LabelTaken {
        /// The label.
        label: String,
    },
    /// The text cannot be a label.
    #[error("`{label}` cannot be the label of a session: {problem}")]
    BadLabel {
        /// The text, cut to a readable length.
        label: String,
        /// What is wrong with it, and what would be right.
        problem: &'static str,
    },
    /// The turn is none of the session's.
    #[error("turn `{turn}` is not part of session `{label}`")]
    NoTurn {
        /// The session.
        label: String,
        /// The turn.
        turn: TurnId,
    },
    /// A turn runs; wait for its end or cancel it.
    #[error("session `{label}` has a turn that is still running; cancel it first, or wait for its end")]
    Running {
        /// The session.
        label: String,
    },
    /// The database did not do what it was asked.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// One conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Stays the same when the label changes.
    pub id: SessionId,
    /// What people call it.
    pub label: String,
    /// Who answers in it.
    pub persona: String,
    /// A line for people; the beginning of the first message until somebody changes it.
    #[serde(default)]
    pub title: Option<String>,
    /// The folder that its first message was for; none in a session of an older version that nobody has used since.
    #[serde(default)]
    pub folder: Option<PathBuf>,
    /// Its last turn; the others are reached through parents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<TurnId>,
    /// How many turns were begun in it.
    pub turns: u64,
    /// The position of the last row that was written in it; 0 when there is none.
    pub last_seq: u64,
    /// Where it began, if it is a fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkPoint>,
    /// In Unix milliseconds.
    pub created_at_ms: u64,
    /// In Unix milliseconds.
    pub updated_at_ms: u64,
}

/// Where a fork began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ForkPoint {
    /// Of which session; it may be gone since.
    pub session: SessionId,
    /// Behind which turn; none when the session was empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
}

/// Which sessions to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SessionFilter {
    /// Labels that start with this.
    pub label_prefix: Option<String>,
    /// Sessions of this persona.
    pub persona: Option<String>,
    /// Sessions of this folder.
    pub folder: Option<PathBuf>,
    /// Sessions that last changed before this, in Unix milliseconds: how to page on.
    pub updated_before_ms: Option<u64>,
    /// At most so many; 0 and anything above mean [`MAX_PAGE`].
    pub limit: u32,
}

/// Where a turn stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TurnState {
    /// Somebody drives it, or did until a moment ago.
    Running,
    /// It has an end.
    Ended,
    /// Its process died.
    Interrupted,
}

/// One reply of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// Unique in the database.
    pub id: TurnId,
    /// The session that it was written in.
    pub session: SessionId,
    /// Its number in that session, from 0.
    pub ord: u64,
    /// The turn before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TurnId>,
    /// The fence of the lease that it was written under.
    pub fence: u64,
    /// Where it stands.
    pub state: TurnState,
    /// The model that answered.
    pub model: String,
    /// In Unix milliseconds.
    pub started_at_ms: u64,
    /// In Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at_ms: Option<u64>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<TurnEnd>,
    /// What it cost.
    pub usage: Usage,
}

/// A row and its place in the stream of its session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredRow {
    /// From 1, without gaps, in storage order.
    pub seq: u64,
    /// The row.
    #[serde(flatten)]
    pub row: Row,
}

/// One tool call of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallLog {
    /// Which turn.
    pub turn: TurnId,
    /// Which call.
    pub call: CallId,
    /// The tool; empty when the call was refused before it had a name on record.
    pub name: String,
    /// How it ended; none while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ResultStatus>,
    /// In Unix milliseconds; none when it never started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at_ms: Option<u64>,
    /// In Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at_ms: Option<u64>,
}

/// One turn as it was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnLog {
    /// The turn.
    pub turn: Turn,
    /// Its rows, in storage order.
    pub rows: Vec<StoredRow>,
    /// Its calls, in the order of their start.
    pub calls: Vec<CallLog>,
}

/// A conversation that every provider accepts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Whose.
    pub session: Session,
    /// The turns from the root to the head.
    pub turns: Vec<Turn>,
    /// Their rows, repaired, in reading order.
    pub rows: Vec<Row>,
}

impl History {
    /// The rows as messages.
    #[must_use]
    pub fn messages(&self) -> Vec<Message> {
        project(&self.rows)
    }
}

/// Something that was said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Hit {
    /// The label of a session that has the turn in its history.
    pub label: String,
    /// The session that it was said in.
    pub session: SessionId,
    /// In which turn.
    pub turn: TurnId,
    /// By which row.
    pub seq: u64,
    /// The words around it, on one line.
    pub snippet: String,
}

/// Everything there is of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Export {
    /// [`EXPORT_FORMAT`].
    pub format: String,
    /// The session.
    pub session: Session,
    /// The turns from the root to the head, with all that was written in them.
    pub turns: Vec<TurnLog>,
}
