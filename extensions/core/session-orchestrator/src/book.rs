//! The book that the queue is kept in: every change is one step that happens whole or not at all.

pub(crate) mod memory;
pub(crate) mod sql;
pub(crate) mod tables;

use crate::contract::{CancelOutcome, DispatchId, DispatchState, DispatchView, SessionsError, Submission};
use crate::queue::Waiting;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::conversation::{Message, Row};
use dispatch_contracts::ids::{SessionId, TurnId};
use dispatch_contracts::provider::Usage;
use dispatch_contracts::turn::TurnEnd;

/// The right to run a session, until it is lost to a higher fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) session: SessionId,
    pub(crate) label: String,
    pub(crate) owner: String,
    pub(crate) fence: u64,
}

/// Who wants a lease, and until when.
#[derive(Clone, Debug)]
pub(crate) struct Claimant {
    pub(crate) owner: String,
    pub(crate) until_ms: u64,
}

/// Input on its way in.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    pub(crate) id: DispatchId,
    /// The id that the session gets if it is new.
    pub(crate) session: SessionId,
    pub(crate) submission: Submission,
    pub(crate) now_ms: u64,
    /// Takes the session at once if nobody has it.
    pub(crate) claimant: Option<Claimant>,
}

/// What became of input.
#[derive(Clone, Debug)]
pub(crate) struct Admitted {
    pub(crate) view: DispatchView,
    pub(crate) session: SessionId,
    pub(crate) fresh: bool,
    pub(crate) lease: Option<Lease>,
    /// What an interrupt left no room for.
    pub(crate) superseded: Vec<DispatchView>,
}

/// A turn that has begun: its inputs are consumed and stored.
#[derive(Clone, Debug)]
pub(crate) struct Begun {
    pub(crate) turn: TurnId,
    pub(crate) inputs: Vec<Waiting>,
    /// The inputs as they stand now.
    pub(crate) views: Vec<DispatchView>,
    /// The rows that the inputs became, with their places.
    pub(crate) rows: Vec<(u64, Row)>,
    pub(crate) persona: Option<String>,
}

/// What a session does next.
#[derive(Clone, Debug)]
pub(crate) enum Beginning {
    Turn(Box<Begun>),
    /// Nothing is due.
    Rest,
}

/// What a turn needs to begin.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) turn: TurnId,
    pub(crate) model: String,
    pub(crate) now_ms: u64,
    /// One id per row that the inputs may become.
    pub(crate) row_prefix: String,
}

/// How a turn ends in the book.
#[derive(Clone, Debug)]
pub(crate) struct Finish {
    pub(crate) turn: TurnId,
    pub(crate) end: TurnEnd,
    pub(crate) usage: Usage,
    pub(crate) reason: String,
    pub(crate) now_ms: u64,
}

/// A stored row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub(crate) seq: u64,
    /// Whether somebody asked for the turn to stop.
    pub(crate) stop: bool,
}

/// What the sweep found of processes that are gone.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Swept {
    /// Turns that ended there and then.
    pub(crate) interrupted: Vec<DispatchView>,
    /// Inputs whose turn had done nothing yet: they wait again.
    pub(crate) requeued: Vec<DispatchView>,
    /// Inputs that were tried too often.
    pub(crate) parked: Vec<DispatchView>,
}

impl Swept {
    /// Files each input under what became of it.
    fn add(&mut self, views: Vec<DispatchView>) {
        for view in views {
            match view.state {
                DispatchState::Pending => self.requeued.push(view),
                DispatchState::Parked => self.parked.push(view),
                _ => self.interrupted.push(view),
            }
        }
    }
}

/// The book. Every method that takes a lease fails with [`BookError::Fenced`] when it is lost.
pub(crate) trait Book: Send + Sync {
    fn admit(&self, admission: Admission) -> BoxFuture<'_, Result<Admitted, SessionsError>>;
    /// Leases of sessions that have something to do now.
    fn claim(&self, claimant: Claimant, now_ms: u64, limit: u32) -> BoxFuture<'_, Result<Vec<Lease>, BookError>>;
    /// Keeps a lease; answers whether its turn should stop.
    fn renew<'a>(&'a self, lease: &'a Lease, until_ms: u64) -> BoxFuture<'a, Result<bool, BookError>>;
    /// What was said before, for a turn that is about to begin.
    fn history<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, Result<Vec<Message>, BookError>>;
    /// Takes what is due and writes the turn that consumes it.
    fn begin<'a>(&'a self, lease: &'a Lease, start: Start) -> BoxFuture<'a, Result<Beginning, BookError>>;
    /// What could enter the running turn.
    fn steers<'a>(&'a self, lease: &'a Lease, partition: &'a str) -> BoxFuture<'a, Result<Vec<Waiting>, BookError>>;
    /// Stores a row; with `consumes`, the input that the row came from is consumed in the same step.
    fn record<'a>(
        &'a self,
        lease: &'a Lease,
        row: &'a Row,
        consumes: Option<&'a DispatchId>,
    ) -> BoxFuture<'a, Result<Recorded, BookError>>;
    /// Ends the turn and its inputs; the lease stays.
    fn finish<'a>(&'a self, lease: &'a Lease, finish: Finish) -> BoxFuture<'a, Result<Vec<DispatchView>, BookError>>;
    /// Gives a lease back.
    fn release<'a>(&'a self, lease: &'a Lease, now_ms: u64) -> BoxFuture<'a, Result<(), BookError>>;
    /// When the next session without a lease has something to do.
    fn next_due(&self) -> BoxFuture<'_, Result<Option<u64>, BookError>>;
    /// Takes an input back; the view says which session's turn must stop.
    fn cancel<'a>(
        &'a self,
        id: &'a DispatchId,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<(CancelOutcome, DispatchView), SessionsError>>;
    fn dispatch<'a>(&'a self, id: &'a DispatchId) -> BoxFuture<'a, Result<DispatchView, SessionsError>>;
    fn queue<'a>(&'a self, session: Option<&'a str>) -> BoxFuture<'a, Result<Vec<DispatchView>, SessionsError>>;
    /// Stored rows behind a place, at most a page.
    fn rows_after<'a>(&'a self, label: &'a str, seq: u64) -> BoxFuture<'a, Result<Vec<(u64, Row)>, SessionsError>>;
    /// The place of the last stored row of a session; 0 when there is none.
    fn last_place<'a>(&'a self, label: &'a str) -> BoxFuture<'a, Result<u64, SessionsError>>;
    /// Owners that hold a lease, for whoever can tell the living from the dead.
    fn owners(&self) -> BoxFuture<'_, Result<Vec<String>, BookError>>;
    /// Settles what dead owners, and leases that ran out, left behind.
    fn sweep<'a>(&'a self, dead: &'a [String], now_ms: u64) -> BoxFuture<'a, Result<Swept, BookError>>;
}

/// Why the book refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BookError {
    /// Somebody else has the session now.
    #[error("the session was taken over by another process")]
    Fenced,
    /// The input was taken back by its sender.
    #[error("the input was taken back by its sender")]
    TakenBack,
    /// Storage failed.
    #[error("{0}")]
    Storage(String),
}

impl From<BookError> for SessionsError {
    fn from(error: BookError) -> Self {
        Self::Storage(error.to_string())
    }
}
