//! Why a request is refused: a status, a code for programs, a message for people.
//!
//! Pure.

use dispatch_contracts::host::HostError;
use dispatch_contracts::storage::StorageError;
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

/// What an error of OpenAI has beside its message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct OpenAiError {
    /// The kind of error.
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    /// The parameter that is wrong.
    #[serde(rename = "param")]
    pub(crate) parameter: Option<String>,
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
    /// What clients of OpenAI look for, where they ask.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) openai: Option<Box<OpenAiError>>,
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
        Self { status, code, message: message.into(), openai: None, hint: None, retry_after_ms: None, cause: None }
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

    /// What a client is told that wants to answer a question with the server's token alone.
    pub(crate) fn needs_approval_token() -> Self {
        Self::forbidden("answering a question needs the approval token")
            .hint("send the content of the file `approval-token`, which is beside the server's token, as the token")
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

    /// The same with the kind that clients of OpenAI look for.
    #[must_use]
    pub(crate) fn for_openai(mut self) -> Self {
        let kind = match self.status.as_u16() {
            400 | 404 | 409 | 413 | 415 => "invalid_request_error",
            401 => "authentication_error",
            403 => "permission_error",
            429 => "rate_limit_error",
            _ => "api_error",
        };
        self.openai.get_or_insert_default().kind = kind;
        self
    }

    /// Names the parameter that is wrong.
    #[must_use]
    pub(crate) fn parameter(mut self, name: &str) -> Self {
        self.openai.get_or_insert_default().parameter = Some(name.to_owned());
        self
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
            SessionsError::Conversation(error) => error.into(),
            SessionsError::Storage(error) => error.into(),
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
            ConversationError::Storage(error) => error.into(),
        }
    }
}

/// A database that is away or has too much to do comes back; nothing was taken in meanwhile.
impl From<StorageError> for Refusal {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Unreachable(_) | StorageError::Busy => {
                let refusal =
                    Self::new(StatusCode::SERVICE_UNAVAILABLE, "storage", "the database does not answer; try again");
                Self { cause: Some(error.to_string()), ..refusal.retry_after(RETRY_AFTER_MS) }
            }
            other => Self::internal(other),
        }
    }
}

impl From<ApprovalError> for Refusal {
    fn from(error: ApprovalError) -> Self {
        match error {
            ApprovalError::Storage(error) => error.into(),
            ApprovalError::NotAPerson => Self::forbidden(error.to_string()).hint("answer it in a terminal of your own"),
            other => Self::not_found(other.to_string()).hint("GET /v1/approvals lists the open questions"),
        }
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
