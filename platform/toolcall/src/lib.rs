//! Says what a tool call of any host does: its kind, the paths it touches and the effects of its shell command.
//!
//! Everything here is a function from values to values: no file is opened, no
//! variable of the environment is read, no clock is asked. Paths are therefore
//! resolved by their text alone; a symbolic link is not followed.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

mod access;
mod call;
mod hosts;
mod input;
mod mcp;
mod patch;
mod path;
mod shell;

pub use access::{Access, PathAccess, ToolKind};
pub use call::{ReportedCall, ToolCall};
pub use mcp::only_looks;
pub use patch::{PatchError, patch_paths};
pub use path::resolve;
pub use shell::{
    DestroyedWord, EffectPath, MAX_COMMAND_BYTES, PathMove, ShellContext, ShellEffects, SimpleCommand, UnboundedCall,
    UnboundedKind, UnknownPart, UnknownReason, analyze, destroyed_words,
};
