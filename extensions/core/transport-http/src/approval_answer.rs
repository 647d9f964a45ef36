//! Questions to a person and the answers to them, as clients spell them.
//!
//! Pure.

use dispatch_os::time::rfc3339;
use ext_session_orchestrator::contract::{Answer, ApprovalId, ApprovalRequest, DispatchId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A person's answer, as clients spell it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ApprovalAnswer")]
pub(crate) struct ApprovalAnswerWire {
    pub(crate) answer: ApprovalAnswerWord,
    /// Why not; the model is told.
    #[serde(default)]
    pub(crate) reason: Option<String>,
    /// Allow calls of this form in the same project from now on.
    #[serde(default)]
    pub(crate) remember: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum ApprovalAnswerWord {
    Allow,
    Deny,
}

impl ApprovalAnswerWire {
    /// The answer as the queue takes it.
    pub(crate) fn into_answer(self) -> Answer {
        match self.answer {
            ApprovalAnswerWord::Allow => Answer::Allow { remember: self.remember },
            ApprovalAnswerWord::Deny => Answer::Deny { reason: self.reason },
        }
    }
}

/// An open question, as clients read it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OpenApproval")]
pub(crate) struct OpenApprovalWire {
    pub(crate) id: ApprovalId,
    /// The label of the session.
    session: String,
    /// The message whose turn asks.
    dispatch: DispatchId,
    tool: String,
    /// The call on one line.
    summary: String,
    /// The folder that the call works in.
    folder: PathBuf,
    /// When it is answered no by itself.
    expires: String,
}

impl From<ApprovalRequest> for OpenApprovalWire {
    fn from(request: ApprovalRequest) -> Self {
        Self {
            id: request.id,
            session: request.session,
            dispatch: request.dispatch,
            tool: request.call.name,
            summary: request.summary,
            folder: request.folder,
            expires: rfc3339(i64::try_from(request.expires_at_ms).unwrap_or(i64::MAX)),
        }
    }
}
