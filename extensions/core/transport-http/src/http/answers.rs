//! What handlers answer: the bodies as types, and the statuses and media types they come with.

use axum::Json;
use axum::response::{IntoResponse, Response};
use dispatch_contracts::conversation::Message;
use dispatch_contracts::ids::{ExtensionId, SessionId};
use dispatch_kernel::host::ExtensionStatus;
use ext_conversation_store::contract::{Hit, Session, Turn};
use ext_session_orchestrator::contract::{ApprovalId, CancelOutcome, DispatchId, DispatchView, Mode};
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

/// Whether the server works.
#[derive(Serialize, JsonSchema)]
pub(super) struct Health {
    pub(super) status: HealthStatus,
    /// The version of the server.
    pub(super) version: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum HealthStatus {
    Ok,
    /// The program is shutting down.
    Draining,
    /// A core extension has failed.
    Failing,
}

impl IntoResponse for Health {
    fn into_response(self) -> Response {
        let status = if self.status == HealthStatus::Ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        (status, Json(self)).into_response()
    }
}

#[derive(Serialize, JsonSchema)]
pub(super) struct SessionList {
    pub(super) sessions: Vec<Session>,
}

/// A whole conversation, as the model would get it.
#[derive(Serialize, JsonSchema)]
pub(super) struct Conversation {
    pub(super) session: Session,
    pub(super) turns: Vec<Turn>,
    pub(super) messages: Vec<Message>,
}

/// The message is durable.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Receipt")]
pub(super) struct MessageReceipt {
    /// Where to ask what became of the message.
    pub(super) dispatch: DispatchId,
    /// The label of the session.
    pub(super) session: String,
    pub(super) session_id: SessionId,
    /// Whether the message is new, or the same as one before.
    pub(super) fresh: bool,
    /// How the message meets the session, which is not always as it was asked for.
    pub(super) mode: Mode,
    /// Why not as it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct CancelReceipt {
    pub(super) dispatch: DispatchId,
    pub(super) outcome: CancelOutcome,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct DispatchList {
    pub(super) dispatches: Vec<DispatchView>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct HitList {
    pub(super) hits: Vec<Hit>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct ApprovalReceipt {
    pub(super) approval: ApprovalId,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct ExtensionList {
    pub(super) extensions: Vec<ExtensionStatus>,
}

/// The models of all providers, in the shape that OpenAI clients read.
#[derive(Serialize, JsonSchema)]
pub(super) struct ModelList {
    #[schemars(extend("const" = "list"))]
    pub(super) object: &'static str,
    pub(super) data: Vec<Model>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Model {
    /// `PROVIDER/MODEL`, or `dispatch` for the configured one.
    pub(super) id: String,
    #[schemars(extend("const" = "model"))]
    pub(super) object: &'static str,
    pub(super) created: u64,
    /// The provider.
    pub(super) owned_by: String,
    /// How many tokens fit, where the provider says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) context_tokens: Option<u64>,
}

/// Status 201 with a body.
pub(super) struct Created<T>(pub(super) T);

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, Json(self.0)).into_response()
    }
}

/// Status 202 with a body.
pub(super) struct Accepted<T>(pub(super) T);

impl<T: Serialize> IntoResponse for Accepted<T> {
    fn into_response(self) -> Response {
        (StatusCode::ACCEPTED, Json(self.0)).into_response()
    }
}

/// Status 204.
pub(super) struct NoContent;

impl IntoResponse for NoContent {
    fn into_response(self) -> Response {
        StatusCode::NO_CONTENT.into_response()
    }
}

/// Server-sent events with the news of a session.
pub(super) struct SessionEventStream(pub(super) Response);

impl IntoResponse for SessionEventStream {
    fn into_response(self) -> Response {
        self.0
    }
}

/// A chat completion, whole or as server-sent events.
pub(super) struct ChatAnswer(pub(super) Response);

impl IntoResponse for ChatAnswer {
    fn into_response(self) -> Response {
        self.0
    }
}

/// The change from HTTP to WebSocket.
pub(super) struct ProtocolSwitch(pub(super) Response);

impl IntoResponse for ProtocolSwitch {
    fn into_response(self) -> Response {
        self.0
    }
}

#[derive(Serialize, JsonSchema)]
pub(super) struct CommandList {
    pub(super) commands: Vec<CommandInfo>,
}

/// A command that an extension adds.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Command")]
pub(super) struct CommandInfo {
    pub(super) name: String,
    /// What it does.
    pub(super) summary: String,
    /// Whose it is.
    pub(super) extension: ExtensionId,
}

/// What a command answered.
#[derive(Serialize, JsonSchema)]
pub(super) struct CommandAnswer {
    pub(super) answer: serde_json::Value,
}
