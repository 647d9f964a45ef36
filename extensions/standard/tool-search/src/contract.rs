//! What other extensions may rely on: the names of the tools.

/// Searches the contents of files.
pub const SEARCH_FILES: &str = "search_files";
/// Finds files by name.
pub const FIND_FILES: &str = "find_files";
