//! What a turn reads of the conversation so far, so that another extension can make it fit the model.

use dispatch_contracts::BoxFuture;
use dispatch_contracts::conversation::{Message, Row, project};
use dispatch_contracts::ids::{SessionId, TurnId};
use dispatch_contracts::provider::Provider;
use dispatch_contracts::service::Service;
use dispatch_contracts::turn::TurnEnd;
use ext_conversation_store::contract::History;
use std::sync::Arc;

/// Where an extension offers to make conversations fit. Without one the model reads all of them.
pub const HISTORY: Service<dyn HistoryReading> = Service::new("session-orchestrator/history");

/// Takes whoever makes conversations fit.
pub trait HistoryReading: Send + Sync {
    /// Uses this from the next turn on, in the place of an earlier one; `None` ends that.
    fn compact_with(&self, compaction: Option<Arc<dyn HistoryCompaction>>);
}

/// A turn that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct PastTurn {
    /// Which one.
    pub turn: TurnId,
    /// The session that it was written in; a fork shares turns of another.
    pub session: SessionId,
    /// What was said in it.
    pub messages: Vec<Message>,
    /// How it ended; none if its process died.
    pub end: Option<TurnEnd>,
}

/// A conversation as the model reads it.
pub struct ReadConversation {
    /// The messages before the input of the turn that begins.
    pub history: Vec<Message>,
    /// Answers in the place of the turn's provider. Its requests begin with the history above.
    pub provider: Arc<dyn Provider>,
}

/// Makes conversations fit the model that reads them.
pub trait HistoryCompaction: Send + Sync {
    /// What a turn of this session reads of the past, and the provider that it asks.
    fn read<'a>(
        &'a self,
        session: &'a SessionId,
        turns: Vec<PastTurn>,
        provider: Arc<dyn Provider>,
    ) -> BoxFuture<'a, ReadConversation>;
}

/// A history turn by turn.
#[must_use]
pub fn past_turns(history: History) -> Vec<PastTurn> {
    let mut rows = history.rows.into_iter().peekable();
    let past = |turn: ext_conversation_store::contract::Turn| {
        // Rows are in reading order: those of one turn stand together.
        let own: Vec<Row> = std::iter::from_fn(|| rows.next_if(|row| row.turn == turn.id)).collect();
        PastTurn { turn: turn.id, session: turn.session, messages: project(&own), end: turn.end }
    };
    history.turns.into_iter().map(past).collect()
}
