//! Handlers that change something: messages, answers, and the sessions themselves.

use super::answering::AnsweringClient;
use super::answers::{Accepted, ApprovalReceipt, CancelReceipt, Created, MessageReceipt, NoContent};
use super::connection::ServerState;
use super::input::{FromHead, JsonBody, SessionLabel};
use crate::approval_answer::ApprovalAnswerWire;
use crate::message::MessageWire;
use crate::refusal::Refusal;
use crate::settings::{MAX_BODY_BYTES, MAX_MESSAGE_BYTES};
use axum::Json;
use axum::extract::State;
use dispatch_contracts::ids::TurnId;
use ext_conversation_store::contract::{ConversationError, Session};
use ext_session_orchestrator::contract::{ApprovalId, DispatchId};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

/// A JSON body without a message in it.
type SmallBody<T> = JsonBody<T, MAX_BODY_BYTES>;

/// Answers once the message is durable.
pub(super) async fn submit(
    State(shared): ServerState,
    FromHead(SessionLabel(label)): FromHead<SessionLabel>,
    JsonBody(message): JsonBody<MessageWire, MAX_MESSAGE_BYTES>,
) -> Result<Accepted<MessageReceipt>, Refusal> {
    let receipt = shared.services.sessions()?.submit(message.into_submission(label.clone(), "http")).await?;
    Ok(Accepted(MessageReceipt {
        dispatch: receipt.dispatch,
        session: label,
        session_id: receipt.session,
        fresh: receipt.fresh,
        mode: receipt.mode,
        note: receipt.note,
    }))
}

pub(super) async fn cancel(
    State(shared): ServerState,
    FromHead(dispatch): FromHead<DispatchId>,
) -> Result<Json<CancelReceipt>, Refusal> {
    let outcome = shared.services.sessions()?.cancel(&dispatch).await?;
    Ok(Json(CancelReceipt { dispatch, outcome }))
}

pub(super) async fn answer(
    State(shared): ServerState,
    FromHead(approval): FromHead<ApprovalId>,
    FromHead(client): FromHead<AnsweringClient>,
    JsonBody(answer): SmallBody<ApprovalAnswerWire>,
) -> Result<Json<ApprovalReceipt>, Refusal> {
    if !client.may_answer(&shared) {
        return Err(Refusal::needs_approval_token());
    }
    shared.services.answer(&approval, answer, client.from).await?;
    Ok(Json(ApprovalReceipt { approval }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ForkSession")]
pub(super) struct ForkSessionWire {
    /// The label of the new session.
    label: String,
    /// The turn to continue from; the last one by default.
    #[serde(default)]
    turn: Option<TurnId>,
}

pub(super) async fn fork(
    State(shared): ServerState,
    FromHead(SessionLabel(label)): FromHead<SessionLabel>,
    JsonBody(wanted): SmallBody<ForkSessionWire>,
) -> Result<Created<Session>, Refusal> {
    let made = shared.services.conversations()?.fork(&label, wanted.turn.as_ref(), &wanted.label).await?;
    Ok(Created(made))
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ChangeSession")]
pub(super) struct ChangeSessionWire {
    /// The new label.
    #[serde(default)]
    label: Option<String>,
    /// The new title; absent keeps the title, `null` removes it.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Option<String>")]
    title: Option<Option<String>>,
}

fn present<'de, D: Deserializer<'de>>(field: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(field).map(Some)
}

pub(super) async fn change(
    State(shared): ServerState,
    FromHead(SessionLabel(mut label)): FromHead<SessionLabel>,
    JsonBody(wanted): SmallBody<ChangeSessionWire>,
) -> Result<Json<Session>, Refusal> {
    let conversations = shared.services.conversations()?;
    if let Some(title) = wanted.title {
        conversations.set_title(&label, title.as_deref()).await?;
    }
    if let Some(new_label) = wanted.label.filter(|new| *new != label) {
        label = conversations.rename(&label, &new_label).await?.label;
    }
    let now = conversations.session(&label).await?;
    Ok(Json(now.ok_or(ConversationError::NoSession { label })?))
}

pub(super) async fn delete(
    State(shared): ServerState,
    FromHead(SessionLabel(label)): FromHead<SessionLabel>,
) -> Result<NoContent, Refusal> {
    shared.services.conversations()?.delete(&label).await?;
    Ok(NoContent)
}
