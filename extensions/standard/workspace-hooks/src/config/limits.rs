//! How large the parts of a configuration may be. The ranges of single values stand with their keys in `format.rs`.
//!
//! Pure.

/// The largest file.
pub(crate) const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Hooks of one file.
pub(crate) const MAX_HOOKS: usize = 2_000;
/// The longest id.
pub(crate) const MAX_ID_CHARS: usize = 120;
/// The longest prompt.
pub(crate) const MAX_PROMPT_BYTES: usize = 256 * 1024;
/// The arguments of a program, with its name.
pub(crate) const MAX_ARGUMENTS: usize = 256;
/// The bytes of all arguments of a program.
pub(crate) const MAX_ARGUMENT_BYTES: usize = 128 * 1024;
/// The free part of a hook, as JSON.
pub(crate) const MAX_METADATA_BYTES: usize = 64 * 1024;
/// Globs of one hook.
pub(crate) const MAX_PATTERNS: usize = 64;
/// Variables that a hook may pass on, and headers.
pub(crate) const MAX_NAMES: usize = 64;
/// The longest address of a server.
pub(crate) const MAX_URL_BYTES: usize = 2_048;
