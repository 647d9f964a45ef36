//! A turn that the scheduler hands over, and what it gets back.

use crate::contract::PastTurn;
use crate::queue_store::{Lease, StartedTurn};
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::provider::Usage;
use dispatch_contracts::turn::TurnEnd;

/// A turn that is to be run.
pub(crate) struct TurnJob {
    pub(crate) lease: Lease,
    pub(crate) begun: StartedTurn,
    /// What was said before this turn's input.
    pub(crate) history: Vec<PastTurn>,
    pub(crate) cancel: CancelToken,
}

/// How a turn ended.
pub(crate) struct TurnResult {
    pub(crate) end: TurnEnd,
    pub(crate) usage: Usage,
}
