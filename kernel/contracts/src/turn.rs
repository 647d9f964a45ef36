//! What goes into a turn and what comes out, apart from the loop itself.

use crate::BoxFuture;
use crate::conversation::{Message, Row, ToolCall};
use crate::hooks::{Denial, Question};
use crate::ids::{CallId, ExtensionId, TurnId};
use crate::provider::{ProviderError, Usage};
use crate::tool::{Effect, OutputStream};
use serde::{Deserialize, Serialize};

/// How a turn ended. Every turn ends in one of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum TurnEnd {
    /// The model had nothing more to say or do.
    Finished,
    /// It was cancelled.
    Cancelled,
    /// A limit was reached.
    LimitReached {
        /// Which one.
        limit: Limit,
    },
    /// The model could not be reached, or broke off.
    ProviderFailed {
        /// Why.
        error: ProviderError,
    },
    /// A row could not be stored; nothing after it happened.
    StoreFailed {
        /// Why.
        message: String,
    },
    /// The kernel or a core extension failed.
    Faulted {
        /// Why.
        message: String,
    },
}

/// The limits of a turn that can end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Model calls in one turn.
    Steps,
    /// Wall-clock time of one turn.
    Time,
    /// Bytes the model may say in one turn.
    ReplyBytes,
}

/// Keeps the rows of a turn. Awaited: rows that could not be stored fail the turn.
pub trait StepSink: Send + Sync {
    /// Stores rows durably and in their order: all of them or none.
    fn record_all<'a>(&'a self, rows: &'a [Row]) -> BoxFuture<'a, Result<(), SinkError>>;
}

/// Why a row could not be stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SinkError(pub String);

/// Text that arrived while the turn was running, taken at a boundary.
pub trait Inbox: Send + Sync {
    /// What came since the last call; empty most of the time.
    fn take(&self) -> BoxFuture<'_, Vec<String>>;
}

/// A call that no guard refused, before it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The call as the guards left it.
    pub call: ToolCall,
    /// What it does to the world, as its tool says.
    pub effect: Effect,
    /// What guards want a person to decide; empty most of the time.
    pub questions: Vec<Question>,
}

/// Lets a call run or refuses it. May take as long as a person takes; a stopped turn drops the question.
pub trait Approver: Send + Sync {
    /// Why the call may not run; `None` lets it.
    fn refuse(&self, proposal: Proposal) -> BoxFuture<'_, Option<Denial>>;
}

/// Lets every call run that no guard wants a person to decide.
pub struct ApproveUnasked;

impl Approver for ApproveUnasked {
    fn refuse(&self, proposal: Proposal) -> BoxFuture<'_, Option<Denial>> {
        let question = proposal.questions.into_iter().next();
        let denial = question
            .map(|asked| Denial { code: asked.code, reason: format!("{} Nobody can be asked here.", asked.reason) });
        Box::pin(std::future::ready(denial))
    }
}

/// What a client may watch while a turn runs. Dropping one loses nothing: the rows hold it all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TurnEvent {
    /// A model call begins.
    StepStarted {
        /// The step's number.
        step: u32,
    },
    /// The model says something.
    TextDelta {
        /// The step's number.
        step: u32,
        /// What it says.
        text: String,
    },
    /// The model thinks something.
    ReasoningDelta {
        /// The step's number.
        step: u32,
        /// What it thinks.
        text: String,
    },
    /// A tool is about to run.
    CallStarted {
        /// Which call.
        call: CallId,
        /// Which tool.
        tool: String,
    },
    /// A tool prints something.
    CallOutput {
        /// Which call.
        call: CallId,
        /// On which stream.
        stream: OutputStream,
        /// What, as text; bytes that are not UTF-8 are replaced.
        text: String,
    },
    /// A call has its outcome.
    CallEnded {
        /// Which call.
        call: CallId,
        /// How it ended.
        status: crate::conversation::ResultStatus,
    },
    /// An extension delayed the turn, failed in it, or is switched off.
    Notice {
        /// Which one.
        extension: ExtensionId,
        /// What a person is told, with what to do about it.
        text: String,
    },
    /// The turn is over.
    TurnEnded {
        /// How.
        end: TurnEnd,
    },
}

/// Time that a turn spent waiting for one extension at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wait {
    /// Who was waited for.
    pub extension: ExtensionId,
    /// At which hook.
    pub place: String,
    /// How long in all, in milliseconds.
    pub ms: u64,
    /// How often.
    pub times: u32,
}

/// What a turn left behind.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnOutcome {
    /// Which turn.
    pub turn: TurnId,
    /// How it ended.
    pub end: TurnEnd,
    /// What was said after the input, valid to append to it.
    pub messages: Vec<Message>,
    /// Model calls made.
    pub steps: u32,
    /// What they cost together.
    pub usage: Usage,
    /// Whom the turn waited for, longest first.
    pub waits: Vec<Wait>,
}
