//! The Agent Client Protocol, version 1: editors drive our agent over standard streams.
//!
//! A session of the protocol is one of ours, named by its label. Prompts run beside everything else;
//! other requests are answered in the order they came.

mod agent;
mod prompt;
mod replay;
mod rpc;
mod tool;

use crate::contract::{Input, Output, TransportError};
use crate::desk::Desk;
use crate::line::{Line, LineReader, write_line};
use crate::settings::MAX_MESSAGE_BYTES;
use agent::Agent;
use rpc::{Incoming, Peer, RpcError};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinSet;

/// Messages that wait for a client that reads slowly; more of them make the sender wait.
const MAX_UNSENT: usize = 256;
/// How long running prompts have to stop when the client is gone.
const STOP_TIMEOUT_MS: u64 = 5_000;
/// Prompts and closings at once; one more is answered only when one of them is over.
const MAX_PROMPTS: usize = 64;

/// Serves one client until its input ends or the program closes.
pub(crate) async fn serve(desk: Arc<Desk>, input: Input, output: Output) -> Result<(), TransportError> {
    let (sender, unsent) = channel(MAX_UNSENT);
    let writing = tokio::spawn(write_all(unsent, output));
    let peer = Arc::new(Peer::new(sender));
    let agent = Arc::new(Agent::new(Arc::clone(&desk), Arc::clone(&peer)));
    let mut prompts = JoinSet::new();
    let mut reader = LineReader::new(input, MAX_MESSAGE_BYTES);
    let closing = desk.closing.clone();
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
    peer.hang_up();
    agent.stop_all().await;
    let stopped = async { while prompts.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(Duration::from_millis(STOP_TIMEOUT_MS), stopped).await;
    drop((agent, peer, prompts));
    // What was already said still goes out, unless nobody takes it.
    let _ = tokio::time::timeout(Duration::from_millis(STOP_TIMEOUT_MS), writing).await;
    outcome
}

async fn write_all(mut unsent: Receiver<String>, mut output: Output) {
    while let Some(message) = unsent.recv().await {
        if write_line(&mut output, &message).await.is_err() {
            return;
        }
    }
}

async fn hear(agent: &Arc<Agent>, peer: &Arc<Peer>, line: Line, prompts: &mut JoinSet<()>) {
    let incoming = match line {
        Line::Text(text) => rpc::read(&text),
        Line::TooLong => Incoming::Broken { id: Value::Null, error: RpcError::invalid("the message is too long") },
        Line::NotText => Incoming::Broken { id: Value::Null, error: RpcError::parse("the message is no UTF-8") },
    };
    match incoming {
        Incoming::Request { id, method, params } if method == "session/prompt" => {
            let (agent, peer) = (Arc::clone(agent), Arc::clone(peer));
            // Taken in the order of arrival, so that a cancellation behind it finds it.
            let begun = agent.begin_prompt(params);
            prompts.spawn(async move {
                let outcome = match begun {
                    Ok(prompt) => agent.run_prompt(prompt).await,
                    Err(error) => Err(error),
                };
                peer.respond(id, outcome).await;
            });
        }
        Incoming::Request { id, method, params } => {
            let outcome = agent.answer(&method, params).await;
            peer.respond(id, outcome).await;
        }
        Incoming::Notification { method, params } => agent.notified(&method, params).await,
        Incoming::Response { id, result } => peer.settle(id, result),
        Incoming::Broken { id, error } => peer.respond(id, Err(error)).await,
    }
}
