//! Where the hooks of a workspace stand.
//!
//! Pure.

/// The folder that holds the hooks of a workspace.
pub(crate) const FOLDER: &str = ".akira";
/// The hooks themselves; also the name of the user's own file in the folder for configuration.
pub(crate) const HOOKS_FILE: &str = "hooks.json";
/// The file of the workspace, as messages and the JSON Schema call it.
pub const SHOWN: &str = ".akira/hooks.json";
