//! Notices what becomes of the files of a workspace, whoever writes them.

mod burst;
mod changes;
mod event_list;
mod known;
mod names;
mod observation;
mod overseer;
mod sieve;
mod survey;
mod unheard;
mod watches;

#[cfg(test)]
mod tests;

pub use overseer::{Batch, Watching, watch};
pub use sieve::Sieve;
pub use unheard::unheard;

pub(crate) use event_list::slashed;
pub(crate) use sieve::{is_rule, walk_of};
pub use watches::WatchError;
