//! What others may use: submitting input, watching a session, answering questions, joining the context.

mod approval;
mod context;
mod dispatch;
mod history;
mod outbox;
mod persona;
mod watch;

pub use crate::redaction::redactor;
pub use approval::{
    APPROVALS, Answer, Answerer, ApprovalError, ApprovalId, ApprovalRecord, ApprovalRequest, ApprovalState, Approvals,
    PermissionGrant,
};
pub use context::{CONTEXT, MESSAGE_RECEIVED, MessageReceived, ToolChoice, TurnContext};
pub use dispatch::{
    Ask, CancelOutcome, Delivery, DispatchId, DispatchState, DispatchView, HistoryUse, MAX_IMAGES, MAX_TEXT_BYTES,
    MessageSender, Mode, Receipt, SESSIONS, Sessions, SessionsError, Submission, ToolBounds,
};
pub use history::{HISTORY, HistoryCompaction, HistoryReading, PastTurn, ReadConversation, past_turns};
pub use outbox::{
    OUTBOX, Outbox, OutboxError, ReplyCount, ReplyFilter, ReplySender, ReplyState, ReplyView, SendAttempt, SendVerdict,
    SettledAs,
};
pub use persona::{PERSONAS, PersonaCheck, PersonaChecking};
pub use watch::{SessionEvent, SessionEvents, SessionNews};
