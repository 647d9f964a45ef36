//! Why a request is refused: a status, a code for programs, a message for people.
//!
//! Pure.

use dispatch_contracts::host::HostError;
use ext_conversation_store::contract::ConversationError;
use ext_session_orchestrator::contract::{ApprovalError, SessionsError};
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

/// How long a client is asked to wait where nothing better is known.
const RETRY_AFTER_MS: u64 = 1_000;

/// The body of every refusal.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub(crate) struct ErrorBody<'a> {
    pub(crate) error: &'a Refusal,
}

/// A refused request. Holds nothing of the inside of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline, description = "Why the request was refused.")]
pub(crate) struct Refusal {
    #[serde(skip)]
    pub(crate) status: StatusCode,
    /// For programs.
    pub(crate) code: &'static str,
    /// For people.
    pub(crate) message: String,
    /// What would help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
    /// When another try may work.
    #[serde(skip)]
    pub(crate) retry_after_ms: Option<u64>,
    /// What the log should know and the client should not.
    #[serde(skip)]
    pub(crate) cause: Option<String>,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), hint: None, retry_after_ms: None, cause: None }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    pub(crate) fn busy(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message).retry_after(RETRY_AFTER_MS)
    }

    pub(crate) fn closing() -> Self {
        let message = SessionsError::Draining.to_string();
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "draining", message).retry_after(RETRY_AFTER_MS)
    }

    /// Something failed that should not have; the client learns no more than that.
    pub(crate) fn internal(cause: impl ToString) -> Self {
        let message = "the request failed; the server's log says why";
        let refusal = Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message);
        Self { cause: Some(cause.to_string()), ..refusal }
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub(crate) fn retry_after(mut self, ms: u64) -> Self {
        self.retry_after_ms = Some(ms);
        self
    }
}

impl From<SessionsError> for Refusal {
    fn from(error: SessionsError) -> Self {
        let message = error.to_string();
        match error {
            SessionsError::Invalid(_) => Self::invalid(message),
            SessionsError::Unknown { .. } => Self::not_found(message),
            SessionsError::Full { .. } => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "full", message).retry_after(RETRY_AFTER_MS)
            }
            SessionsError::Draining => Self::closing(),
            SessionsError::Conversation(_) | SessionsError::Storage(_) => Self::internal(message),
        }
    }
}

impl From<ConversationError> for Refusal {
    fn from(error: ConversationError) -> Self {
        let message = error.to_string();
        match error {
            ConversationError::BadLabel { .. } => Self::invalid(message),
            ConversationError::NoSession { .. } => Self::not_found(message).hint("GET /v1/sessions lists the sessions"),
            ConversationError::NoTurn { .. } => Self::not_found(message),
            ConversationError::LabelTaken { .. } | ConversationError::Running { .. } => Self::conflict(message),
            other => Self::internal(other),
        }
    }
}

impl From<ApprovalError> for Refusal {
    fn from(error: ApprovalError) -> Self {
        Self::not_found(error.to_string()).hint("GET /v1/approvals lists the open questions")
    }
}

impl From<HostError> for Refusal {
    fn from(error: HostError) -> Self {
        match error {
            HostError::NoService { .. } => {
                let message = "this needs an extension that is not running";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message).hint("GET /v1/extensions lists them")
            }
            other => Self::internal(other),
        }
    }
}
