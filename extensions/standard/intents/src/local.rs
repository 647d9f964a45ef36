//! The folder of what is only of use on this machine, which git must not see.

use std::fs;

use dispatch_os::files;

use crate::error::IntentsError;
use crate::layout::Layout;

const IGNORE_EVERYTHING: &[u8] = b"*\n";

/// Makes the folder, with the file that keeps git out of it, unless it is there.
///
/// # Errors
/// When the system refuses.
pub(crate) fn make_local_folder(layout: &Layout) -> Result<(), IntentsError> {
    let folder = layout.local_folder();
    let ignore = folder.join(".gitignore");
    if ignore.exists() {
        return Ok(());
    }
    fs::create_dir_all(&folder).map_err(|source| IntentsError::io("create", &folder, source))?;
    Ok(files::replace(&ignore, IGNORE_EVERYTHING)?)
}
