//! The WebSocket: JSON messages over one connection.

use super::answering::AnsweringClient;
use super::answers::ProtocolSwitch;
use super::connection::{ClientConnection, ServerState};
use super::input::FromHead;
use crate::guard::SUBPROTOCOL;
use crate::message_channel::{ChannelClient, IncomingMessage, serve_messages};
use crate::refusal::Refusal;
use crate::settings::MAX_SOCKET_MESSAGE_BYTES;
use axum::Extension;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use futures_util::{SinkExt, StreamExt};
use http::StatusCode;
use std::future::ready;
use std::sync::Arc;

/// What waits for a client that reads slowly.
const MAX_UNSENT_BYTES: usize = 4 * 1024 * 1024;

pub(super) async fn open(
    State(shared): ServerState,
    Extension(client): Extension<ClientConnection>,
    FromHead(answering): FromHead<AnsweringClient>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<ProtocolSwitch, Refusal> {
    let upgrade = upgrade
        .map_err(|_| Refusal::new(StatusCode::UPGRADE_REQUIRED, "upgrade_required", "this path speaks WebSocket"))?;
    let permit =
        Arc::clone(&shared.streams).try_acquire_owned().map_err(|_| Refusal::busy("too many WebSockets are open"))?;
    let upgrade = upgrade
        .protocols([SUBPROTOCOL])
        .max_message_size(MAX_SOCKET_MESSAGE_BYTES)
        .max_frame_size(MAX_SOCKET_MESSAGE_BYTES)
        .max_write_buffer_size(MAX_UNSENT_BYTES);
    let services = Arc::clone(&shared.services);
    let may_answer = answering.may_answer(&shared);
    Ok(ProtocolSwitch(upgrade.on_upgrade(async move |socket: WebSocket| {
        let (said, heard) = socket.split();
        let input = Arc::clone(&client.input);
        input.count();
        let heard = heard.take_while(|message| ready(message.is_ok())).filter_map(|message| {
            ready(match message {
                Ok(Message::Text(text)) => {
                    input.message_complete();
                    Some(IncomingMessage::Text(text.as_str().to_owned()))
                }
                Ok(Message::Binary(_)) => {
                    input.message_complete();
                    Some(IncomingMessage::Unreadable("messages are text, not bytes"))
                }
                Ok(Message::Ping(data) | Message::Pong(data)) => {
                    input.control_frame_complete(data.len());
                    None
                }
                Ok(Message::Close(_)) | Err(_) => None,
            })
        });
        let said = said.with(|text: String| ready(Ok::<_, axum::Error>(Message::Text(text.into()))));
        // A client that is gone needs no answer.
        let _ = serve_messages(services, ChannelClient { source: "websocket", may_answer }, heard, said).await;
        drop((client, permit));
    })))
}
