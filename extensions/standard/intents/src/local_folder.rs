//! The folder of data that is only used on this machine, which git ignores.

use dispatch_os::files;

use crate::error::IntentsError;
use crate::layout::OrchestrationLayout;

const IGNORE_EVERYTHING: &[u8] = b"*\n";

/// Creates the folder with a `.gitignore`, unless it exists.
///
/// # Errors
/// When the folder cannot be created.
pub(crate) fn create_local_folder(layout: &OrchestrationLayout) -> Result<(), IntentsError> {
    let folder = layout.local_folder();
    let ignore = folder.join(".gitignore");
    if files::exists(&ignore) {
        return Ok(());
    }
    files::create_dir_all(&folder).map_err(|source| IntentsError::io("create", &folder, source))?;
    Ok(files::replace(&ignore, IGNORE_EVERYTHING)?)
}
