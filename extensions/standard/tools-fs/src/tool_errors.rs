//! Says to the model what went wrong with a file and what to do instead.

use std::io::ErrorKind;
use std::path::Path;

use dispatch_contracts::tool::ToolError;
use dispatch_os::OsError;

pub(crate) fn explain(error: &OsError, shown: &Path) -> ToolError {
    let shown = shown.display();
    let text = match error {
        OsError::Outside { root, .. } => format!(
            "{shown} is outside of the workspace {}, or a link on the way leads out of it. Only files in the workspace can be used.",
            root.display()
        ),
        OsError::Closed { .. } => format!(
            "{shown} belongs to Dispatch itself (its token, keys and database are there). No tool may read or change it."
        ),
        OsError::NotAFile { .. } => {
            format!("{shown} is not a regular file (a folder, a pipe, a socket or a device) and cannot be used.")
        }
        OsError::LinkAppeared { .. } => {
            format!("{shown} was replaced by a symbolic link while it was opened. Nothing was done.")
        }
        OsError::TooLarge { size, limit, .. } => format!(
            "{shown} is too large: {size} bytes or more, and the limit is {limit}. Use search_files to find what you need in it."
        ),
        OsError::Io { source, .. } => match source.kind() {
            ErrorKind::NotFound => format!("{shown} does not exist. Use list_files or find_files to see what does."),
            ErrorKind::NotADirectory => format!("A part of {shown} is a file, not a folder."),
            ErrorKind::PermissionDenied => format!("{shown}: the permissions do not allow this."),
            ErrorKind::ReadOnlyFilesystem => format!("{shown} is on a disk that is mounted read-only."),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                format!("The disk is full. {shown} is as it was before.")
            }
            ErrorKind::InvalidFilename | ErrorKind::InvalidInput => format!("{shown} is not a valid file name here."),
            _ => error.to_string(),
        },
        _ => error.to_string(),
    };
    ToolError(text)
}
