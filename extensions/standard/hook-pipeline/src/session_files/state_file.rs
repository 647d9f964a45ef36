//! `state.json` on disk: merged with what is there at the moment of writing, and replaced as a whole.

use std::path::Path;
use std::time::Duration;

use dispatch_hook_module::state::{merge, rebuild};
use dispatch_hook_module::{Paths, Record, SessionState};
use dispatch_os::files::{read_at_most, read_complete_lines, replace};
use serde_json::Value;

use super::brief_lock::HeldLock;
use super::{FilesError, SessionFolder};

const STATE_LIMIT_BYTES: u64 = 1024 * 1024;
/// The lock that writers of the state take.
pub(crate) const STATE_LOCK: &str = "state";
/// How long a writer waits for another one; then it writes all the same.
const LOCK_WAIT: Duration = Duration::from_millis(40);
const REBUILD_BLOCK_BYTES: usize = 32 * 1024 * 1024;

/// The state on disk; nothing if there is none that can be read.
#[must_use]
pub fn read_state(paths: &Paths) -> Option<SessionState> {
    SessionState::parse(&read_at_most(&paths.state_file(), STATE_LIMIT_BYTES).ok()?)
}

/// Merges the patches into what is on disk now, and writes that if it differs.
///
/// `held` is the lock named [`STATE_LOCK`] if the caller has it already.
///
/// # Errors
/// When the system refuses.
pub(crate) fn write_state(
    folder: &SessionFolder<'_>,
    patches: &[&Value],
    held: Option<&HeldLock>,
) -> Result<(), FilesError> {
    let paths = folder.paths();
    let _lock = match held {
        Some(_) => None,
        None => folder.lock(STATE_LOCK, LOCK_WAIT),
    };
    let on_disk = read_state(paths);
    let before = on_disk.clone().unwrap_or_default();
    let after = patches.iter().fold(before.clone(), |state, patch| merge(&state, patch).0);
    if on_disk.is_some() && after == before {
        return Ok(());
    }
    replace(&paths.state_file(), &after.to_bytes())?;
    Ok(())
}

/// The state that the whole log implies. Reads all of it.
///
/// # Errors
/// When the log cannot be read.
pub(crate) fn rebuild_state(events_file: &Path) -> Result<SessionState, FilesError> {
    let mut records = Vec::new();
    let mut offset = 0;
    loop {
        let block = read_complete_lines(events_file, offset, REBUILD_BLOCK_BYTES)?;
        if block.is_empty() {
            return Ok(rebuild(&records));
        }
        let matters = |record: &Record| {
            record.kind == dispatch_hook_module::RecordType::Prompt || record.data.get("statePatch").is_some()
        };
        records.extend(block.iter().filter_map(Record::parse).filter(matters));
        offset = block.next_offset();
    }
}
