//! The seam between the scheduler and whatever answers a turn.

use crate::queue_store::{Lease, StartedTurn};
use crate::turn_environment::TurnEnvironment;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::conversation::Message;
use dispatch_contracts::provider::Usage;
use dispatch_contracts::turn::TurnEnd;

/// A turn that is to be run.
pub(crate) struct TurnJob {
    pub(crate) lease: Lease,
    pub(crate) begun: StartedTurn,
    /// What was said before this turn's input.
    pub(crate) history: Vec<Message>,
    pub(crate) cancel: CancelToken,
}

/// How a turn ended.
pub(crate) struct TurnResult {
    pub(crate) end: TurnEnd,
    pub(crate) usage: Usage,
}

/// Runs turns.
pub(crate) trait TurnRunner: Send + Sync {
    /// The model that would answer now, for the record.
    fn model(&self) -> String;
    /// Runs one to its end; all that lasts goes through the environment.
    fn run<'a>(&'a self, job: TurnJob, environment: &'a TurnEnvironment) -> BoxFuture<'a, TurnResult>;
}
