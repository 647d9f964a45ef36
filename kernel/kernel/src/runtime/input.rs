//! Everything a turn depends on, passed in one value: nothing is read from elsewhere.

use crate::bus::Bus;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::conversation::Message;
use dispatch_contracts::hooks::TurnRef;
use dispatch_contracts::ids::{ExtensionId, SessionId, TurnId};
use dispatch_contracts::limits::{DispatchPolicy, TurnLimits};
use dispatch_contracts::ports::{Clock, Ids, Spill};
use dispatch_contracts::provider::Provider;
use dispatch_contracts::tool::Tool;
use dispatch_contracts::turn::{Approver, Inbox, StepSink, TurnEvent};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::Arc;

/// A tool that the model may call in this turn, and whose fault it is when it crashes.
#[derive(Clone)]
pub struct OfferedTool {
    /// The extension that defined it.
    pub owner: ExtensionId,
    /// The tool.
    pub tool: Arc<dyn Tool>,
}

/// The input of one turn.
pub struct TurnInput<'a> {
    /// The session it belongs to.
    pub session: SessionId,
    /// Its own id.
    pub turn: TurnId,
    /// The model's source.
    pub provider: Arc<dyn Provider>,
    /// The model's name.
    pub model: String,
    /// Further options for the provider.
    pub options: Map<String, Value>,
    /// The system prompt, in sections.
    pub system: Vec<String>,
    /// A valid history that ends with the user.
    pub messages: Vec<Message>,
    /// The tools on offer; names are unique.
    pub tools: Vec<OfferedTool>,
    /// The folder that tools work in.
    pub workdir: PathBuf,
    /// How tool calls are started.
    pub policy: DispatchPolicy,
    /// The bounds.
    pub limits: TurnLimits,
    /// Events and filters.
    pub bus: &'a Bus,
    /// Where rows are kept.
    pub steps: &'a dyn StepSink,
    /// Text that arrives while the turn runs.
    pub inbox: &'a dyn Inbox,
    /// Who lets calls run that no guard refused.
    pub approver: &'a dyn Approver,
    /// Where outputs too large for the model are kept.
    pub spill: &'a dyn Spill,
    /// Who watches. Must not block.
    pub emit: Arc<dyn Fn(TurnEvent) + Send + Sync>,
    /// Ends the turn early.
    pub cancel: CancelToken,
    /// Time.
    pub clock: &'a dyn Clock,
    /// Fresh ids for rows and calls.
    pub ids: &'a dyn Ids,
}

impl TurnInput<'_> {
    /// Which turn this is, as hooks are told.
    pub(super) fn turn_ref(&self) -> TurnRef {
        TurnRef { session: self.session.clone(), turn: self.turn.clone(), workdir: self.workdir.clone() }
    }
}
