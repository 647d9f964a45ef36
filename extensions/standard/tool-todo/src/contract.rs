//! What other extensions may rely on: the name of the tool.

/// Reads and replaces the session's list.
pub const TODO: &str = "todo";
