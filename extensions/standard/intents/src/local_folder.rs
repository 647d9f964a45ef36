//! The folder of data that is only used on this machine, and what git needs to know about the files beside it.

use dispatch_os::files;

use crate::error::IntentsError;
use crate::layout::{ATTRIBUTES_FILE, IGNORE_FILE, OrchestrationLayout};

const IGNORE_EVERYTHING: &[u8] = b"*\n";
/// Keeps what can be made again out of git.
pub const GIT_IGNORE: &str =
    "# Made again from the ledger on each machine.\n/.trace/\n/agent_trace.head\n/intent_map.md\n";
/// Makes git merge the ledger by keeping the lines of both sides, byte for byte.
pub const GIT_ATTRIBUTES: &str = "# Each line follows the last line of its session, so a merge keeps the lines of both sides.\n\
     agent_trace*.jsonl -text merge=union linguist-generated\n";

/// Creates the folder with a `.gitignore`, and the files for git beside it, unless they exist.
///
/// # Errors
/// When the folder cannot be created.
pub(crate) fn create_local_folder(layout: &OrchestrationLayout) -> Result<(), IntentsError> {
    let folder = layout.local_folder();
    let ignore = folder.join(IGNORE_FILE);
    if files::exists(&ignore) {
        return Ok(());
    }
    files::create_dir_all(&folder).map_err(|source| IntentsError::io("create", &folder, source))?;
    files::replace(&ignore, IGNORE_EVERYTHING)?;
    write_git_files(layout)
}

/// Writes the files for git, unless they exist.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn write_git_files(layout: &OrchestrationLayout) -> Result<(), IntentsError> {
    for (name, text) in [(IGNORE_FILE, GIT_IGNORE), (ATTRIBUTES_FILE, GIT_ATTRIBUTES)] {
        let path = layout.folder().join(name);
        if !files::exists(&path) {
            files::replace(&path, text.as_bytes())?;
        }
    }
    Ok(())
}
