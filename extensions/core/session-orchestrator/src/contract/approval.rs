//! Asking a person: one question at a time per call, answered by whoever is there first.

use dispatch_contracts::BoxFuture;
use dispatch_contracts::conversation::ToolCall;
use dispatch_contracts::hooks::Question;
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::service::Service;
use serde::{Deserialize, Serialize};

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
    /// The turn.
    pub turn: TurnId,
    /// The call, as it would run.
    pub call: ToolCall,
    /// What the call is about: paths, a command.
    pub targets: Vec<String>,
    /// What rules and guards want to know.
    pub questions: Vec<Question>,
    /// When it was asked, in Unix milliseconds.
    pub at_ms: u64,
}

/// What a person says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// This once.
    Once,
    /// This tool on this target, as long as the session lives in this process.
    Session,
    /// No.
    Deny {
        /// What the model is told.
        #[serde(default)]
        reason: Option<String>,
    },
}

/// Why an answer was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalError {
    /// Nobody asks that, or somebody else was faster.
    #[error("the question `{}` is not open", .0.0)]
    NotOpen(ApprovalId),
}

/// The open questions.
pub trait Approvals: Send + Sync {
    /// The questions of one session or of all, oldest first.
    fn open(&self, session: Option<&str>) -> Vec<ApprovalRequest>;
    /// Answers one.
    fn answer<'a>(&'a self, id: &'a ApprovalId, answer: Answer) -> BoxFuture<'a, Result<(), ApprovalError>>;
}
