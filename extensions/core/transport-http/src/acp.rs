//! The Agent Client Protocol, version 1: editors drive our agent over standard streams.
//!
//! A session of the protocol is one of ours, named by its label. Prompts run concurrently; other
//! requests are answered in order.

mod agent;
mod prompt;
mod questions;
mod rpc;
mod rpc_message;
mod tool;
mod updates;

use crate::contract::{ClientInput, ClientOutput, TransportError};
use crate::line::{InputLine, LineReader, write_line};
use crate::services::TransportServices;
use crate::settings::MAX_MESSAGE_BYTES;
use agent::AcpAgent;
use rpc::RpcPeer;
use rpc_message::{RpcError, RpcMessage};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinSet;

/// Messages that wait for a client that reads slowly; when there are more, the sender waits.
const MAX_UNSENT: usize = 256;
/// How long running prompts may take to stop when the client is gone.
const STOP_TIMEOUT_MS: u64 = 5_000;
/// Prompts at once; the next message is read when one of them has ended.
const MAX_PROMPTS: usize = 64;

/// Serves one client until its input ends or the program closes.
pub(crate) async fn serve(
    services: Arc<TransportServices>,
    input: ClientInput,
    output: ClientOutput,
) -> Result<(), TransportError> {
    let (sender, unsent) = channel(MAX_UNSENT);
    let writing = tokio::spawn(write_all(unsent, output));
    let peer = Arc::new(RpcPeer::new(sender));
    let agent = Arc::new(AcpAgent::new(Arc::clone(&services), Arc::clone(&peer)));
    let mut prompts = JoinSet::new();
    let mut reader = LineReader::new(input, MAX_MESSAGE_BYTES);
    let closing = services.closing.clone();
    let outcome = loop {
        tokio::select! {
            () = closing.cancelled() => break Ok(()),
            Some(_) = prompts.join_next(), if !prompts.is_empty() => {}
            line = reader.next(), if prompts.len() < MAX_PROMPTS => match line {
                Ok(Some(line)) => hear(&agent, &peer, line, &mut prompts).await,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error.into()),
            },
        }
    };
    agent.stop_all().await;
    peer.hang_up();
    let stopped = async { while prompts.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(Duration::from_millis(STOP_TIMEOUT_MS), stopped).await;
    drop((agent, peer, prompts));
    // What is queued still goes out, unless the client has stopped reading.
    let _ = tokio::time::timeout(Duration::from_millis(STOP_TIMEOUT_MS), writing).await;
    outcome
}

async fn write_all(mut unsent: Receiver<String>, mut output: ClientOutput) {
    while let Some(message) = unsent.recv().await {
        if write_line(&mut output, &message).await.is_err() {
            return;
        }
    }
}

async fn hear(agent: &Arc<AcpAgent>, peer: &Arc<RpcPeer>, line: InputLine, prompts: &mut JoinSet<()>) {
    let incoming = match line {
        InputLine::Text(text) => rpc_message::read(&text),
        InputLine::TooLong => {
            RpcMessage::Broken { id: Value::Null, error: RpcError::invalid("the message is longer than 32 MiB") }
        }
        InputLine::NotText => {
            RpcMessage::Broken { id: Value::Null, error: RpcError::parse("the message is not valid UTF-8") }
        }
    };
    match incoming {
        RpcMessage::Request { id, method, params } if method == "session/prompt" => {
            let (agent, peer) = (Arc::clone(agent), Arc::clone(peer));
            // Registered in the order of arrival, so that a later cancellation finds it.
            let begun = agent.begin_prompt(params);
            prompts.spawn(async move {
                let outcome = match begun {
                    Ok(prompt) => agent.run_prompt(prompt).await,
                    Err(error) => Err(error),
                };
                peer.respond(id, outcome).await;
            });
        }
        RpcMessage::Request { id, method, params } => {
            let outcome = agent.answer(&method, params).await;
            peer.respond(id, outcome).await;
            // A client knows a session only from the answer on.
            agent.offer_all_commands().await;
        }
        RpcMessage::Notification { method, params } => agent.notified(&method, params).await,
        RpcMessage::Response { id, result } => peer.settle(id, result),
        RpcMessage::Broken { id, error } => peer.respond(id, Err(error)).await,
    }
}
