//! Recovery as a pure function: whatever a crash left of a log, a history that every provider takes.
//!
//! `reconcile` is total (any rows will do), idempotent (repairing twice changes nothing), makes the
//! same synthetic rows every time (so prompt caches stay warm), and never drops what was completed.
//! It reads leniently: a bookkeeping fault costs a note in `repairs`, never the session.

mod calls;
mod markers;
mod reading;

#[cfg(test)]
mod tests;

use dispatch_contracts::conversation::{Message, Row, project};
use dispatch_contracts::ids::{CallId, RowId, TurnId};

pub use calls::{NEVER_STARTED, OUTCOME_UNKNOWN};
pub use markers::{INTERRUPTED, LOST_OPENING, NO_REPLY, NO_TEXT};
pub(crate) use reading::NO_OUTPUT;

/// A log that every provider accepts, and what had to be done for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reconciled {
    /// The rows, in reading order.
    pub rows: Vec<Row>,
    /// What was repaired; empty for a clean log.
    pub repairs: Vec<Repair>,
}

/// One repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repair {
    /// A row of an unknown kind was left out.
    Unreadable(RowId),
    /// A row that was there before was left out.
    Duplicate(RowId),
    /// A row stood where its kind cannot stand and was moved.
    Moved(RowId),
    /// A call whose chunk was lost was rebuilt from its start.
    RebuiltCall(CallId),
    /// A call id that was used twice got a new one.
    RenamedCall(CallId),
    /// A result without a call was left out.
    OrphanResult(CallId),
    /// A call without a result got one: it never ran.
    NeverStarted(CallId),
    /// A call without a result got one: whether it ran is unknown.
    OutcomeUnknown(CallId),
    /// Words were put where the model or the user said nothing.
    Marked {
        /// In which turn.
        turn: TurnId,
        /// In which step.
        step: u32,
    },
}

/// Which part of a conversation some rows are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// A whole log as it was found: the user speaks first, and the last turn is over.
    Log,
    /// One turn behind a history that ends with the user; it is over.
    EndedTurn,
    /// The same, still running.
    RunningTurn,
}

/// Repairs a whole log.
pub fn reconcile(rows: &[Row]) -> Reconciled {
    reconcile_as(rows, Extent::Log)
}

/// The history that a log holds, repaired.
pub fn history(rows: &[Row]) -> Vec<Message> {
    project(&reconcile(rows).rows)
}

pub(crate) fn reconcile_as(rows: &[Row], extent: Extent) -> Reconciled {
    let mut repairs = Vec::new();
    let rows = reading::read(rows, &mut repairs);
    let rows = calls::answer(rows, &mut repairs);
    let rows = markers::mark(rows, extent, &mut repairs);
    Reconciled { rows, repairs }
}
