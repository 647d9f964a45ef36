//! What plays a turn: the real one asks a model, a simulated one only says what would have been said.

use crate::book::{Begun, Lease};
use crate::stage::Stage;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::conversation::Message;
use dispatch_contracts::provider::Usage;
use dispatch_contracts::turn::TurnEnd;

/// A turn that is to be played.
pub(crate) struct Piece {
    pub(crate) lease: Lease,
    pub(crate) begun: Begun,
    /// What was said before this turn's input.
    pub(crate) history: Vec<Message>,
    pub(crate) cancel: CancelToken,
}

/// How it went.
pub(crate) struct Performance {
    pub(crate) end: TurnEnd,
    pub(crate) usage: Usage,
}

/// Plays turns.
pub(crate) trait Performer: Send + Sync {
    /// The model that would answer now, for the record.
    fn model(&self) -> String;
    /// Plays one to its end; all that lasts goes through the stage.
    fn perform<'a>(&'a self, piece: Piece, stage: &'a Stage) -> BoxFuture<'a, Performance>;
}
