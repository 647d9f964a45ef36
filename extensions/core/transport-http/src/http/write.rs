//! What changes something: messages, answers, and the sessions themselves.

use super::body::{Named, Posted};
use super::connection::Shared;
use crate::desk::AnswerWire;
use crate::message::MessageWire;
use crate::refusal::Refusal;
use crate::settings::{MAX_BODY_BYTES, MAX_MESSAGE_BYTES};
use axum::Json;
use axum::extract::State;
use dispatch_contracts::ids::TurnId;
use ext_conversation_store::contract::{ConversationError, Session};
use ext_session_orchestrator::contract::{ApprovalId, DispatchId};
use http::StatusCode;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use std::sync::Arc;

type Shop = State<Arc<Shared>>;
type Small<T> = Posted<T, MAX_BODY_BYTES>;

/// Answers when the message is durable, never before.
pub(super) async fn submit(
    State(shared): Shop,
    Named(label): Named,
    Posted(message): Posted<MessageWire, MAX_MESSAGE_BYTES>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let receipt = shared.desk.sessions()?.submit(message.into_submission(label.clone(), "http")).await?;
    let said = json!({
        "dispatch": receipt.dispatch,
        "session": label,
        "sessionId": receipt.session,
        "fresh": receipt.fresh,
    });
    Ok((StatusCode::ACCEPTED, Json(said)))
}

pub(super) async fn cancel(State(shared): Shop, Named(id): Named) -> Result<Json<Value>, Refusal> {
    let id = DispatchId::new(id);
    let outcome = shared.desk.sessions()?.cancel(&id).await?;
    Ok(Json(json!({"dispatch": id, "outcome": outcome})))
}

pub(super) async fn answer(
    State(shared): Shop,
    Named(id): Named,
    Posted(answer): Small<AnswerWire>,
) -> Result<Json<Value>, Refusal> {
    let id = ApprovalId(id);
    answer.give(&shared.desk, &id).await?;
    Ok(Json(json!({"approval": id})))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ForkWire {
    label: String,
    #[serde(default)]
    turn: Option<TurnId>,
}

pub(super) async fn fork(
    State(shared): Shop,
    Named(label): Named,
    Posted(wanted): Small<ForkWire>,
) -> Result<(StatusCode, Json<Session>), Refusal> {
    let made = shared.desk.conversations()?.fork(&label, wanted.turn.as_ref(), &wanted.label).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ChangeWire {
    #[serde(default)]
    label: Option<String>,
    /// Absent leaves the title, `null` takes it away.
    #[serde(default, deserialize_with = "present")]
    title: Option<Option<String>>,
}

fn present<'de, D: Deserializer<'de>>(field: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(field).map(Some)
}

pub(super) async fn change(
    State(shared): Shop,
    Named(mut label): Named,
    Posted(wanted): Small<ChangeWire>,
) -> Result<Json<Session>, Refusal> {
    let conversations = shared.desk.conversations()?;
    if let Some(title) = wanted.title {
        conversations.set_title(&label, title.as_deref()).await?;
    }
    if let Some(new_label) = wanted.label.filter(|new| *new != label) {
        label = conversations.rename(&label, &new_label).await?.label;
    }
    let now = conversations.session(&label).await?;
    Ok(Json(now.ok_or(ConversationError::NoSession { label })?))
}

pub(super) async fn delete(State(shared): Shop, Named(label): Named) -> Result<StatusCode, Refusal> {
    shared.desk.conversations()?.delete(&label).await?;
    Ok(StatusCode::NO_CONTENT)
}
