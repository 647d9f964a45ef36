//! What others may use: submitting input, watching a session, answering questions, joining the context.

mod approval;
mod context;
mod dispatch;
mod history;
mod watch;

pub use crate::redaction::redactor;
pub use approval::{
    APPROVALS, Answer, Answerer, ApprovalError, ApprovalId, ApprovalRecord, ApprovalRequest, ApprovalState, Approvals,
    PermissionGrant,
};
pub use context::{CONTEXT, MESSAGE_RECEIVED, MessageReceived, ToolChoice, TurnContext};
pub use dispatch::{
    Ask, CancelOutcome, Delivery, DispatchId, DispatchState, DispatchView, MAX_IMAGES, MAX_TEXT_BYTES, Mode, Receipt,
    SESSIONS, Sessions, SessionsError, Submission,
};
pub use history::{HISTORY, HistoryCompaction, HistoryReading, PastTurn, ReadConversation, past_turns};
pub use watch::{SessionEvent, SessionEvents, SessionNews};
