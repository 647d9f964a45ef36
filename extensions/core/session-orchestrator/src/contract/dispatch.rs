//! The session queue as senders see it: what is submitted, where it stands, how it ended.

use super::watch::SessionEvents;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::conversation::Image;
use dispatch_contracts::ids::{SessionId, TurnId};
use dispatch_contracts::limits::DispatchPolicy;
use dispatch_contracts::permission::PermissionRule;
use dispatch_contracts::service::Service;
use dispatch_contracts::storage::StorageError;
use ext_conversation_store::contract::ConversationError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::path::{Path, PathBuf};

/// The most text that one dispatch may carry.
pub const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;
/// The most pictures that one dispatch may carry.
pub const MAX_IMAGES: usize = 16;

/// Submits input to sessions and says what became of it.
pub const SESSIONS: Service<dyn Sessions> = Service::new("session-orchestrator/sessions");

/// Names one dispatch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[serde(transparent)]
pub struct DispatchId(String);

impl DispatchId {
    /// Wraps a text as this id.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DispatchId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// How input meets a session that is busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Enters the running turn at its next boundary; becomes a turn of its own if there is none.
    Steer,
    /// Waits for its own turn.
    #[default]
    Followup,
    /// Waits for a quiet moment and shares a turn with others of its kind.
    Collect,
    /// Ends the running turn and comes next; what waits is superseded, as far as its sender may do that to others.
    Interrupt,
}

/// Who answers when a call needs a person's word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Ask {
    /// Whoever watches the session.
    #[default]
    Person,
    /// Nobody: every open question is a yes. Rules and guards that refuse still do.
    All,
    /// Nobody: every open question is a no.
    None,
}

/// Where a reply goes; opaque here, fixed when the dispatch is made.
pub type Delivery = Value;

/// Input for a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Submission {
    /// The session's label; made when there is none of this name.
    pub session: String,
    /// What is said.
    pub text: String,
    /// Pictures that go with it.
    pub images: Vec<Image>,
    /// How it meets a busy session.
    pub mode: Mode,
    /// The sender's own name for it: the same one again is the same dispatch.
    pub id: Option<String>,
    /// Who sent it, for people: `chat`, `http`, a routing hook.
    pub source: String,
    /// Which persona a new session gets.
    pub persona: Option<String>,
    /// Another model than the configured one, for this turn.
    pub model: Option<String>,
    /// Another tool policy than the configured one, for this turn.
    pub policy: Option<DispatchPolicy>,
    /// Rules on top of the configured ones; they can only make it stricter.
    pub rules: Vec<PermissionRule>,
    /// Who answers questions.
    pub ask: Ask,
    /// Where the reply goes.
    pub delivery: Delivery,
    /// The folder that the turn works in; the program's own by default.
    pub workdir: Option<PathBuf>,
    /// Further options for the model's provider, for this turn.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub options: Map<String, Value>,
    /// Further forms of secrets than the configured ones, as regular expressions, for this turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secret_patterns: Vec<String>,
    /// The id of the dispatch, if its sender made one: the same one again is the same dispatch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispatch: Option<DispatchId>,
    /// Who wrote it; `None` for somebody who works with this program directly, with the owner's rights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<MessageSender>,
    /// Which tools the turn may use, of those on offer; all by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolBounds>,
    /// Further sections of the system prompt, for the turn that takes it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<String>,
    /// What the model reads of the conversation before it.
    #[serde(skip_serializing_if = "HistoryUse::is_whole")]
    pub history: HistoryUse,
}

/// What the model reads of the conversation before a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HistoryUse {
    /// All that fits.
    #[default]
    Whole,
    /// Nothing.
    None,
}

impl HistoryUse {
    fn is_whole(&self) -> bool {
        *self == Self::Whole
    }
}

/// Somebody who wrote a message from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MessageSender {
    /// The identity, as `CHANNEL:ID`.
    pub id: String,
    /// Whether the settings name this identity as an owner.
    pub is_owner: bool,
}

/// Which tools a turn may use. In a pattern `*` stands for any text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolBounds {
    /// A tool is there if one of these matches its name,
    pub allow: Vec<String>,
    /// and none of these.
    pub deny: Vec<String>,
    /// A tool whose extension can read its own secrets is there if one of these matches the id of that extension.
    #[serde(default = "every_credential", skip_serializing_if = "is_every_credential")]
    pub credentials: Vec<String>,
}

fn every_credential() -> Vec<String> {
    vec!["*".to_owned()]
}

fn is_every_credential(credentials: &[String]) -> bool {
    *credentials == every_credential()
}

impl Default for Submission {
    fn default() -> Self {
        Self {
            session: String::new(),
            text: String::new(),
            images: Vec::new(),
            mode: Mode::default(),
            id: None,
            source: String::new(),
            persona: None,
            model: None,
            policy: None,
            rules: Vec::new(),
            ask: Ask::default(),
            delivery: Value::Null,
            workdir: None,
            options: Map::new(),
            secret_patterns: Vec::new(),
            dispatch: None,
            sender: None,
            tools: None,
            system: Vec::new(),
            history: HistoryUse::default(),
        }
    }
}

/// The word that a dispatch is durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// Its id.
    pub dispatch: DispatchId,
    /// The session it went to.
    pub session: SessionId,
    /// Whether it is new, or the same as one before.
    pub fresh: bool,
    /// How it meets the session, which is not always as it was asked for.
    pub mode: Mode,
    /// Why not as it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Where a dispatch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum DispatchState {
    /// It waits.
    Pending,
    /// A turn has taken it and runs.
    Running,
    /// Its turn ended, well or badly; the turn says how.
    Done,
    /// A later interrupt came before it.
    Superseded,
    /// It was not let in.
    Refused,
    /// It failed too often; it waits for somebody to look.
    Parked,
    /// Its sender took it back.
    Cancelled,
}

impl DispatchState {
    /// Whether nothing more will happen to it.
    pub const fn is_over(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }

    /// The word that the database and scripts know it by.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Done => "done",
            Self::Superseded => "superseded",
            Self::Refused => "refused",
            Self::Parked => "parked",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A dispatch and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Dispatch"))]
#[serde(rename_all = "camelCase")]
pub struct DispatchView {
    /// Its id.
    pub id: DispatchId,
    /// The label of its session.
    pub session: String,
    /// Its place in the session's queue.
    pub seq: u64,
    /// How it meets a busy session.
    pub mode: Mode,
    /// Where it stands.
    pub state: DispatchState,
    /// Why it stands there; empty while nothing is to be said.
    pub reason: String,
    /// The folder that it works in; not known of a message that an older version stored.
    #[serde(default)]
    pub folder: Option<PathBuf>,
    /// The turn that took it.
    pub turn: Option<TurnId>,
    /// How often a turn was begun for it and could not go on.
    pub attempts: u32,
    /// Who sent it.
    pub source: String,
    /// The beginning of its text.
    pub text: String,
    /// When it came, in Unix milliseconds.
    pub at_ms: u64,
}

/// What taking a dispatch back did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CancelOutcome {
    /// It was waiting and is gone.
    Cancelled,
    /// Its turn was told to stop.
    Stopping,
    /// It was over before.
    TooLate,
}

/// Why the queue did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionsError {
    /// The input itself is wrong.
    #[error("{0}")]
    Invalid(String),
    /// There is no such dispatch or session.
    #[error("there is no {what} `{name}`")]
    Unknown {
        /// What kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// Too much is waiting already.
    #[error("the session `{session}` has {waiting} inputs waiting, which is the most it takes; try again later")]
    Full {
        /// Which session.
        session: String,
        /// How many wait.
        waiting: u64,
    },
    /// The program is shutting down.
    #[error("the program is shutting down and takes no more input")]
    Draining,
    /// The conversation cannot be read.
    #[error(transparent)]
    Conversation(#[from] ConversationError),
    /// Storage failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The session queue.
pub trait Sessions: Send + Sync {
    /// Takes input in. Answers only when it is durable.
    fn submit(&self, submission: Submission) -> BoxFuture<'_, Result<Receipt, SessionsError>>;
    /// One dispatch.
    fn dispatch<'a>(&'a self, id: &'a DispatchId) -> BoxFuture<'a, Result<DispatchView, SessionsError>>;
    /// Resolves when the dispatch is over.
    fn wait<'a>(&'a self, id: &'a DispatchId) -> BoxFuture<'a, Result<DispatchView, SessionsError>>;
    /// Takes a dispatch back, or stops its turn.
    fn cancel<'a>(&'a self, id: &'a DispatchId) -> BoxFuture<'a, Result<CancelOutcome, SessionsError>>;
    /// Sends a message that waits to another folder, with that folder's own settings and rules.
    fn relocate<'a>(
        &'a self,
        id: &'a DispatchId,
        folder: &'a Path,
    ) -> BoxFuture<'a, Result<DispatchView, SessionsError>>;
    /// Lets a message wait again that was set aside because it failed too often.
    fn retry<'a>(&'a self, id: &'a DispatchId) -> BoxFuture<'a, Result<DispatchView, SessionsError>>;
    /// The messages that were set aside because they failed too often, newest first.
    fn parked(&self) -> BoxFuture<'_, Result<Vec<DispatchView>, SessionsError>>;
    /// What waits or runs, of one session or of all, in order.
    fn queue<'a>(&'a self, session: Option<&'a str>) -> BoxFuture<'a, Result<Vec<DispatchView>, SessionsError>>;
    /// What happens in a session: everything stored after `after`, then whatever comes, until dropped.
    /// The session need not exist yet. Without `after`, only what comes.
    fn watch<'a>(&'a self, session: &'a str, after: Option<u64>)
    -> BoxFuture<'a, Result<SessionEvents, SessionsError>>;
    /// The time that leases are kept by, in Unix milliseconds: the database's own where it has one.
    fn now_ms(&self) -> u64;
    /// Stops taking input, lets running turns come to a boundary, and hands their sessions on.
    fn drain(&self) -> BoxFuture<'_, ()>;
}
