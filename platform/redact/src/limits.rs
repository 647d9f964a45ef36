//! Every bound of this crate in one place, so that callers can show them and tests can reach them.
//!
//! Pure.

/// How many user patterns one redactor takes.
pub const MAX_USER_PATTERNS: usize = 64;
/// How long the source of one user pattern may be.
pub const MAX_USER_PATTERN_BYTES: usize = 2 * 1024;
/// How much memory one compiled user pattern may take.
pub const MAX_USER_PATTERN_COMPILED_BYTES: usize = 1024 * 1024;
/// How much memory the lazy automaton of one user pattern may take while it searches.
pub const MAX_USER_PATTERN_CACHE_BYTES: usize = 2 * 1024 * 1024;
/// How many entries the allow-list may have.
pub const MAX_ALLOWED: usize = 256;
/// How often a text is looked at again because a replacement changed it.
///
/// Built-in patterns settle in two passes. A text that has not settled after this many
/// is withheld whole, so that redaction is idempotent for every user pattern.
pub const MAX_PASSES: usize = 8;
/// How many bytes of one line a [`crate::StreamRedactor`] holds back before it cuts the line.
pub const STREAM_HOLD_BYTES: usize = 64 * 1024;
/// How many bytes stay held back when a line is cut: a secret up to this size is never split.
pub const STREAM_TAIL_BYTES: usize = 8 * 1024;

/// How far behind the word that gives it away a secret may begin, operators and blanks in between.
pub(crate) const OPEN_BYTES: usize = 512;
/// No longer word is given out before its end has come.
pub(crate) const LONGEST_PLAIN_WORD: usize = 24;
/// How far past a `BEGIN` line key material may start.
pub(crate) const PEM_WINDOW_BYTES: usize = 512;
/// How much of an assigned value is looked at to judge it.
pub(crate) const MAX_JUDGED_BYTES: usize = 256;
/// How long a key name, with its prefix, may be.
pub(crate) const MAX_KEY_BYTES: usize = 128;
/// How much blank space may stand around an assignment operator.
pub(crate) const MAX_BLANK_BYTES: usize = 64;
/// How long the user part and password of a URL may be together.
pub(crate) const MAX_USERINFO_BYTES: usize = 512;
