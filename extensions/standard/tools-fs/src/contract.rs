//! What other extensions may rely on: the names of the tools.

/// Reads a file.
pub const READ_FILE: &str = "read_file";
/// Writes a whole file.
pub const WRITE_FILE: &str = "write_file";
/// Replaces a text in a file.
pub const EDIT_FILE: &str = "edit_file";
/// Changes several files at once.
pub const APPLY_PATCH: &str = "apply_patch";
/// Lists a folder.
pub const LIST_FILES: &str = "list_files";
