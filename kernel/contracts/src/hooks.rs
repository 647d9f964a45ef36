//! The hooks that the kernel itself owns: the moments of a turn and of an extension's life.

use crate::conversation::{Row, ToolCall, ToolResult, validate};
use crate::fault::{Disabled, Fault};
use crate::hook::{Event, Filter};
use crate::ids::{SessionId, TurnId};
use crate::provider::{ModelRequest, Usage};
use crate::turn::TurnEnd;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Which turn of which session a hook speaks of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnRef {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The folder that its tools work in, so that a guard knows where a relative path leads.
    pub workdir: PathBuf,
}

/// Payload of [`TURN_STARTED`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnStarted {
    /// Which turn.
    #[serde(flatten)]
    pub turn: TurnRef,
    /// The model that will answer.
    pub model: String,
}

/// Payload of [`TURN_SEALED`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnSealed {
    /// Which turn.
    #[serde(flatten)]
    pub turn: TurnRef,
    /// How it ended.
    pub end: TurnEnd,
    /// What it cost.
    pub usage: Usage,
}

/// Payload of [`ROW_RECORDED`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RowRecorded {
    /// The session.
    pub session: SessionId,
    /// The row, after it was stored.
    pub row: Row,
}

/// Value of [`TOOL_BEFORE`]: a call that has not run yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolBefore {
    /// Which turn.
    #[serde(flatten)]
    pub turn: TurnRef,
    /// The call. A handler may change the arguments; name and id stay.
    pub call: ToolCall,
    /// Set by a handler that refuses the call; a later handler that takes it back fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<Denial>,
    /// What a person must decide before the call runs; handlers add to it, none takes away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
}

/// A guard's question to a person about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Question {
    /// A short code that rules and people refer to.
    pub code: String,
    /// What the person is told.
    pub reason: String,
}

/// Why a call may not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// A short code that rules and people refer to.
    pub code: String,
    /// What the model is told.
    pub reason: String,
}

/// Value of [`TOOL_AFTER`]: a call and its result, before the model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAfter {
    /// Which turn.
    #[serde(flatten)]
    pub turn: TurnRef,
    /// The call as it ran.
    pub call: ToolCall,
    /// The result. A handler may change the text and the pictures; call id and status stay.
    pub result: ToolResult,
}

/// Value of [`REQUEST_BEFORE`]: a model call about to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestBefore {
    /// Which turn.
    #[serde(flatten)]
    pub turn: TurnRef,
    /// The request. A handler may change it; the history must stay valid.
    pub request: ModelRequest,
}

/// A turn begins.
pub const TURN_STARTED: Event<TurnStarted> = Event::new("kernel/turn.started");

/// A turn is over and all its rows are stored.
pub const TURN_SEALED: Event<TurnSealed> = Event::new("kernel/turn.sealed");

/// A row was stored.
pub const ROW_RECORDED: Event<RowRecorded> = Event::new("kernel/row.recorded");

/// An extension failed somewhere.
pub const EXTENSION_FAULTED: Event<Fault> = Event::new("kernel/extension.faulted");

/// An extension was switched off because it kept failing.
pub const EXTENSION_DISABLED: Event<Disabled> = Event::new("kernel/extension.disabled");

/// A tool call is about to run: guards change or refuse it. Fails closed.
pub const TOOL_BEFORE: Filter<ToolBefore> = Filter::new("kernel/tool.before").fail_closed().invariant(keeps_call);

/// A tool call has ended: its result may be changed before the model reads it.
pub const TOOL_AFTER: Filter<ToolAfter> = Filter::new("kernel/tool.after").invariant(keeps_outcome);

/// A model call is about to be made.
pub const REQUEST_BEFORE: Filter<RequestBefore> = Filter::new("kernel/request.before").invariant(keeps_history_valid);

fn keeps_call(before: &ToolBefore, after: &ToolBefore) -> Result<(), &'static str> {
    if before.turn != after.turn || before.call.id != after.call.id || before.call.name != after.call.name {
        return Err("a guard may change a call's arguments, but not which call it is");
    }
    if before.denied.is_some() && after.denied != before.denied {
        return Err("a guard may not take back another guard's refusal");
    }
    if !after.questions.starts_with(&before.questions) {
        return Err("a guard may not take back another guard's question");
    }
    Ok(())
}

fn keeps_outcome(before: &ToolAfter, after: &ToolAfter) -> Result<(), &'static str> {
    let same = before.turn == after.turn
        && before.call == after.call
        && before.result.call == after.result.call
        && before.result.status == after.result.status;
    if same {
        Ok(())
    } else {
        Err("a handler may change what a result says, but not which call it answers or how it ended")
    }
}

fn keeps_history_valid(before: &RequestBefore, after: &RequestBefore) -> Result<(), &'static str> {
    if before.turn != after.turn {
        return Err("a handler may not move a request to another turn");
    }
    validate(&after.request.messages).map_err(|_| "a handler left a history that providers refuse")
}
