//! Asking a person: questions about tool calls are stored, so that any attached client can answer them, once.

use super::dispatch::DispatchId;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::conversation::ToolCall;
use dispatch_contracts::hooks::Question;
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::service::Service;
use dispatch_contracts::storage::StorageError;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Questions about tool calls, and their answers.
pub const APPROVALS: Service<dyn Approvals> = Service::new("session-orchestrator/approvals");

/// Names one question.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[serde(transparent)]
pub struct ApprovalId(pub String);

/// A call that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Approval"))]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// The question's name.
    pub id: ApprovalId,
    /// The session's label.
    pub session: String,
    /// The message whose turn asks.
    pub dispatch: DispatchId,
    /// The turn.
    pub turn: TurnId,
    /// The call, as it would run, without its secrets.
    pub call: ToolCall,
    /// What the call is about: paths, a command.
    pub targets: Vec<String>,
    /// The same on one line.
    pub summary: String,
    /// The folder that the call works in.
    pub folder: PathBuf,
    /// The workspace whose rules hold, and for which an answer can be remembered.
    pub workspace: PathBuf,
    /// What rules and guards want to know.
    pub questions: Vec<Question>,
    /// The forms that remembering the answer allows for this tool; empty if none could stand for the call.
    pub remember: Vec<String>,
    /// When it was asked, in Unix milliseconds.
    pub at_ms: u64,
    /// When it is answered no by itself, in Unix milliseconds.
    pub expires_at_ms: u64,
}

/// What a person says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// Yes.
    Allow {
        /// Whether calls of the same form are allowed in this workspace from now on.
        #[serde(default)]
        remember: bool,
    },
    /// No.
    Deny {
        /// What the model is told.
        #[serde(default)]
        reason: Option<String>,
    },
}

/// Who answered, and by which way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answerer {
    /// The person, as far as the system knows.
    pub who: String,
    /// The client: `chat`, `http 127.0.0.1`, `acp`, ...
    pub from: String,
}

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalState {
    /// Somebody must say.
    Open,
    /// Somebody said yes.
    Allowed,
    /// Somebody said no.
    Denied,
    /// Nobody said anything in time.
    Expired,
    /// The turn ended before anybody said something.
    Withdrawn,
}

impl ApprovalState {
    /// The word that the database and scripts know it by.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
        }
    }
}

/// A question and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRecord {
    /// The question.
    pub request: ApprovalRequest,
    /// What became of it.
    pub state: ApprovalState,
    /// What the model was told.
    pub reason: Option<String>,
    /// Who answered.
    pub answered: Option<Answerer>,
    /// When, in Unix milliseconds.
    pub answered_at_ms: Option<u64>,
}

/// A remembered answer: a rule that allows calls in one workspace until it is removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionGrant {
    /// Its name.
    pub id: String,
    /// Where it holds.
    pub folder: PathBuf,
    /// The tool.
    pub permission: String,
    /// The form of the command, or the file.
    pub target: String,
    /// Who made it.
    pub granted: Answerer,
    /// When, in Unix milliseconds.
    pub at_ms: u64,
}

/// Why a question was not answered or a grant not removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalError {
    /// Nobody asks that, or somebody else was faster.
    #[error("the question `{}` is not open", .0.0)]
    NotOpen(ApprovalId),
    /// A tool call of an agent started the process that answers.
    #[error("an agent cannot answer a question: a tool call started this process")]
    NotAPerson,
    /// There is no such grant.
    #[error("there is no permission `{0}`")]
    NoGrant(String),
    /// Storage failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The questions, and what was remembered of their answers.
pub trait Approvals: Send + Sync {
    /// The open questions of one session or of all, of every process, oldest first.
    fn open<'a>(&'a self, session: Option<&'a str>) -> BoxFuture<'a, Result<Vec<ApprovalRequest>, ApprovalError>>;
    /// The last questions with their answers, newest first.
    fn recent(&self, limit: u32) -> BoxFuture<'_, Result<Vec<ApprovalRecord>, ApprovalError>>;
    /// Answers one. The first answer counts; every later one fails with [`ApprovalError::NotOpen`]. In a process that a
    /// tool call started it fails with [`ApprovalError::NotAPerson`], whoever is connected to it.
    fn answer<'a>(
        &'a self,
        id: &'a ApprovalId,
        answer: Answer,
        by: Answerer,
    ) -> BoxFuture<'a, Result<(), ApprovalError>>;
    /// The remembered answers of one workspace or of all, oldest first.
    fn grants<'a>(&'a self, workspace: Option<&'a Path>) -> BoxFuture<'a, Result<Vec<PermissionGrant>, ApprovalError>>;
    /// Forgets one.
    fn revoke<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<PermissionGrant, ApprovalError>>;
}
