//! The moment before a turn: what the model is told and may use, as a value that extensions shape.

use dispatch_contracts::hook::{Event, Filter};
use dispatch_contracts::ids::{SessionId, TurnId};
use dispatch_contracts::limits::DispatchPolicy;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::dispatch::{DispatchId, Mode};

/// Runs before every turn; personas, skills and others contribute. Fails open: a contributor that
/// fails is left out and named.
pub const CONTEXT: Filter<TurnContext> = Filter::new("session-orchestrator/context").invariant(keeps_identity);

/// Input came in and is durable.
pub const MESSAGE_RECEIVED: Event<MessageReceived> = Event::new("session-orchestrator/message.received");

/// Payload of [`MESSAGE_RECEIVED`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageReceived {
    /// The session.
    pub session: SessionId,
    /// Its label.
    pub label: String,
    /// The dispatch.
    pub dispatch: DispatchId,
    /// How it meets a busy session.
    pub mode: Mode,
}

/// Which tools a turn may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// All that active extensions offer.
    #[default]
    All,
    /// Those whose names match one of these patterns: `*` stands for any text.
    Only(Vec<String>),
}

/// Value of [`CONTEXT`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnContext {
    /// The session.
    pub session: SessionId,
    /// Its label.
    pub label: String,
    /// The turn that will run.
    pub turn: TurnId,
    /// The session's persona, if it has one.
    pub persona: Option<String>,
    /// The system prompt, in sections; the order stays, so that prompt caches do.
    pub system: Vec<String>,
    /// Which tools the model may use.
    pub tools: ToolChoice,
    /// The models to try, in order; a name may begin with `provider/`.
    pub models: Vec<String>,
    /// How tool calls are started: what a persona says here yields to the turn's own policy.
    pub policy: DispatchPolicy,
    /// Further options for the provider.
    pub options: Map<String, Value>,
    /// Why the turn must not run: what would bound it is missing. Whoever fails without saying so is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<String>,
}

fn keeps_identity(before: &TurnContext, after: &TurnContext) -> Result<(), &'static str> {
    if before.session == after.session && before.turn == after.turn && before.label == after.label {
        Ok(())
    } else {
        Err("a handler may shape a turn, but not move it to another session")
    }
}
