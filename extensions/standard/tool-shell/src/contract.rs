//! What other extensions may rely on: the names of the tools.

/// Runs a command.
pub const RUN_SHELL: &str = "run_shell";
/// Says how a background command is doing.
pub const SHELL_STATUS: &str = "shell_status";
/// Shows what a background command printed.
pub const SHELL_OUTPUT: &str = "shell_output";
/// Ends a background command.
pub const SHELL_KILL: &str = "shell_kill";
