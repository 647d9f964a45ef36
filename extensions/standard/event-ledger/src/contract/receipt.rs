//! What was done with an event, as its receipt shows it. The broker fills it in; without a broker it is empty.

use super::ledger::LedgerError;
use dispatch_contracts::BoxFuture;
use serde::{Deserialize, Serialize};

/// What one routing hook decided about the event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookLine {
    /// Which hook.
    pub hook: String,
    /// `fired`, `passed`, `invalid`, ...
    pub outcome: String,
    /// Why, if the outcome needs a reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How long it took.
    pub ms: u64,
    /// When it was decided, in Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
}

/// One dispatch that the event led to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DispatchLine {
    /// Its id, which is the submission's id too.
    pub id: String,
    /// Which hook fired it.
    pub hook: String,
    /// The label of its session.
    pub session: String,
    /// The persona that answers.
    pub persona: String,
    /// `steer`, `followup`, `collect` or `interrupt`.
    pub mode: String,
    /// Where it stands.
    pub state: String,
    /// Why it stands there.
    pub reason: Option<String>,
    /// The turn that consumed it.
    pub turn: Option<String>,
    /// The dispatch whose turn it shares.
    pub merged_into: Option<String>,
    /// How far its sender is trusted in this turn: `full`, `restricted`, `group` or `minimal`.
    pub permissions: String,
    /// When it was made, in Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
}

/// One message that was sent, or is to be, because of the event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SendLine {
    /// Its id in the outbox.
    pub id: String,
    /// Through which channel.
    pub channel: String,
    /// `pending`, `sending`, `sent`, `failed` or `unknown`.
    pub state: String,
    /// How often it was tried.
    pub attempt: u32,
    /// Why it stands there, if that needs a reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it came to this state, in Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
}

/// Everything that was done with an event, in the order it was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventReceipt {
    /// Whether every hook has decided, so that nothing further follows from the event but what is listed.
    #[serde(skip)]
    pub is_decided: bool,
    /// What the hooks decided.
    pub hooks: Vec<HookLine>,
    /// What they led to.
    pub dispatches: Vec<DispatchLine>,
    /// What was sent.
    pub sends: Vec<SendLine>,
}

/// Knows what was done with events: the broker, which registers itself with
/// [`EventLedger::receipts_from`](super::EventLedger::receipts_from).
pub trait EventReceipts: Send + Sync {
    /// What was done with an event so far.
    fn receipt<'a>(&'a self, event: &'a str) -> BoxFuture<'a, Result<EventReceipt, LedgerError>>;
}
