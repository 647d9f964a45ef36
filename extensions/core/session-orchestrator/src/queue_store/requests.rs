//! What the queue is asked for in one transaction, and what it answers.
//!
//! Pure.

use crate::contract::{DispatchId, DispatchState, DispatchView, HistoryUse, Submission};
use crate::queue::WaitingInput;
use crate::scope::{DispatchScope, RunnerScope};
use dispatch_contracts::conversation::Row;
use dispatch_contracts::ids::{SessionId, TurnId};
use dispatch_contracts::provider::Usage;
use dispatch_contracts::turn::TurnEnd;
use dispatch_durable_queue::LeaseToken;

/// The right to run a session, until it is lost to a higher fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) session: SessionId,
    pub(crate) label: String,
    pub(crate) token: LeaseToken,
}

/// Who wants a lease, until when, and what it can run.
#[derive(Clone)]
pub(crate) struct Claimant {
    pub(crate) owner: String,
    pub(crate) until_ms: u64,
    pub(crate) runner: RunnerScope,
}

/// Input on its way in.
#[derive(Clone)]
pub(crate) struct Admission {
    pub(crate) id: DispatchId,
    /// The id that the session gets if it is new.
    pub(crate) session: SessionId,
    pub(crate) submission: Submission,
    /// Where it belongs.
    pub(crate) scope: DispatchScope,
    pub(crate) now_ms: u64,
    /// Takes the session at once if nobody has it, and begins this turn with what is due.
    pub(crate) claimant: Option<(Claimant, TurnStart)>,
}

/// What became of input.
#[derive(Clone, Debug)]
pub(crate) struct Admitted {
    pub(crate) view: DispatchView,
    pub(crate) session: SessionId,
    pub(crate) fresh: bool,
    pub(crate) lease: Option<Lease>,
    /// The turn that began under the lease.
    pub(crate) begun: Option<Box<StartedTurn>>,
    /// What an interrupt left no room for.
    pub(crate) superseded: Vec<DispatchView>,
    /// Whether the turn that runs ends for it.
    pub(crate) stops_turn: bool,
    /// Why an input that should steer becomes a turn of its own.
    pub(crate) steer_obstacle: Option<String>,
}

/// A turn that has begun: its inputs are consumed and stored.
#[derive(Clone, Debug)]
pub(crate) struct StartedTurn {
    pub(crate) turn: TurnId,
    pub(crate) inputs: Vec<WaitingInput>,
    /// The inputs as they stand now.
    pub(crate) views: Vec<DispatchView>,
    /// The rows that the inputs became, with their places.
    pub(crate) rows: Vec<(u64, Row)>,
    pub(crate) persona: Option<String>,
}

impl StartedTurn {
    /// What the turn reads of the session; inputs that share a turn have the same wishes.
    pub(crate) fn history_use(&self) -> HistoryUse {
        self.inputs.first().map(|input| input.submission.history).unwrap_or_default()
    }
}

/// What a session does next.
#[derive(Clone, Debug)]
pub(crate) enum NextTurn {
    Turn(Box<StartedTurn>),
    /// Nothing is due.
    Rest,
}

/// What a turn needs to begin.
#[derive(Clone)]
pub(crate) struct TurnStart {
    pub(crate) turn: TurnId,
    pub(crate) model: String,
    pub(crate) now_ms: u64,
    /// One id per row that the inputs may become.
    pub(crate) row_prefix: String,
    /// What the process can run.
    pub(crate) runner: RunnerScope,
}

/// How a turn ends in the store.
#[derive(Clone)]
pub(crate) struct TurnFinish {
    pub(crate) turn: TurnId,
    pub(crate) end: TurnEnd,
    pub(crate) usage: Usage,
    pub(crate) reason: String,
    pub(crate) now_ms: u64,
    /// What the process can run next.
    pub(crate) runner: RunnerScope,
}

/// What became of a turn that ended, and of its session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FinishedTurn {
    /// Its inputs.
    pub(crate) ended: Vec<DispatchView>,
    pub(crate) rest: SessionRest,
    /// Whether it left a reply in the outbox.
    pub(crate) replies: bool,
}

/// What a session does after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionRest {
    /// Something is due; the lease stays.
    Continues,
    /// Nothing is due for this process; the lease was given back. Something waits for a later time or another process.
    Waits,
    /// Nothing waits; the lease was given back.
    Empty,
}

/// A row on its way into the store, and the input that it came from, if that is consumed with it.
#[derive(Clone, Debug)]
pub(crate) struct NewRow {
    pub(crate) row: Row,
    pub(crate) consumes: Option<DispatchId>,
}

/// Rows that were stored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordedRows {
    /// The place of each.
    pub(crate) places: Vec<u64>,
    /// Whether somebody asked for the turn to stop.
    pub(crate) stop: bool,
    /// What became of the turn, if it ended with them.
    pub(crate) finished: Option<FinishedTurn>,
}

/// What the sweep found of processes that are gone.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ExpiredLeases {
    /// Turns that ended there and then.
    pub(crate) interrupted: Vec<DispatchView>,
    /// Inputs whose turn had done nothing yet: they wait again.
    pub(crate) requeued: Vec<DispatchView>,
    /// Inputs that were tried too often.
    pub(crate) parked: Vec<DispatchView>,
}

impl ExpiredLeases {
    /// Files each input under what became of it.
    pub(super) fn add(&mut self, views: Vec<DispatchView>) {
        for view in views {
            match view.state {
                DispatchState::Pending => self.requeued.push(view),
                DispatchState::Parked => self.parked.push(view),
                _ => self.interrupted.push(view),
            }
        }
    }
}
