//! What clients see of a session: stored rows with their place, and live news that may be missed.

use super::approval::{ApprovalId, ApprovalRequest};
use super::dispatch::DispatchView;
use dispatch_contracts::BoxStream;
use dispatch_contracts::conversation::Row;
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::turn::TurnEvent;
use serde::{Deserialize, Serialize};

/// One thing that happened. Only a stored row has a place; a client that comes back names the last
/// place it saw and misses nothing that lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionEvent {
    /// The row's place in the session, for rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// What happened.
    #[serde(flatten)]
    pub news: SessionNews,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum SessionNews {
    /// A row was stored.
    Row {
        /// The row.
        row: Row,
    },
    /// A turn moves; the rows will say it again.
    Live {
        /// Which turn.
        turn: TurnId,
        /// What it does.
        live: TurnEvent,
    },
    /// A dispatch came in or changed its state.
    Dispatch {
        /// The dispatch now.
        dispatch: DispatchView,
    },
    /// A person is asked.
    Asked {
        /// The question.
        request: ApprovalRequest,
    },
    /// A question was answered, or nobody waits for the answer any more.
    Settled {
        /// Which question.
        id: ApprovalId,
    },
    /// News came faster than this client took it; rows are read from storage again, live news is lost.
    Lagged,
}

/// The news of one session.
pub type SessionEvents = BoxStream<'static, SessionEvent>;
