//! Notices what becomes of the files of a workspace, whoever writes them.

mod burst;
mod changes;
mod events;
mod file_fingerprint;
mod file_watcher;
mod ignore_rules;
mod known_files;
mod notify_events;
mod observation;
mod skipped_names;
mod tree_scan;
mod watches;
mod without_watcher;

#[cfg(test)]
mod tests;

pub use file_watcher::{WatchBatch, WatchHandle, watch};
pub(crate) use ignore_rules::IgnoreRules;
pub use without_watcher::without_watcher;

pub(crate) use events::slashed;
pub(crate) use ignore_rules::{is_ignore_file, walk_of};
pub use watches::WatchError;
