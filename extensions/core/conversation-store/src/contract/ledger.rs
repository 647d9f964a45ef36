//! The ledger as plain functions over a running transaction, for whoever writes turns together with
//! rows of its own: open a store with `open_joined(own, &[NAMESPACE])` and call these in `transact`.
//!
//! One turn runs at a time in a session. Every write names the fence of its writer: a turn takes rows
//! and an end only under the fence that began it, and a turn begun under a higher fence interrupts
//! what a lower one left running. A transaction that writes turns holds the [`session_key`] of their
//! session. A writer that is refused gets [`StorageError::GivenUp`].
//!
//! The order that survives a crash anywhere: `begin_turn`, then `append_rows`, then `end_turn`. What a crash leaves is repaired when it is read.
//!
//! [`StorageError::GivenUp`]: dispatch_contracts::storage::StorageError::GivenUp

mod calls;
mod chain;
mod outputs;
mod rows;
mod sessions;
mod step_back;
mod texts;
mod turns;

pub use chain::{load_chain, load_rows, load_turn_rows};
pub use outputs::{MAX_OUTPUT_BYTES, keep_output};
pub use rows::{MAX_ROW_BYTES, append_row, append_rows};
pub use sessions::{NewSession, find_session, label_key, load_session, open_session, session_key};
pub use step_back::step_back;
pub use turns::{NewTurn, begin_turn, end_turn, has_only_input, is_running, load_turn, running_turns, sweep};

pub(crate) use chain::{by_turn, in_order, rows_of_chain, turns_of_chain};
pub(crate) use outputs::{joined, output};
pub(crate) use sessions::title_line;
