//! Matches paths against globs as minimatch does with `{dot: true}`, in bounded time and with no regex.
//!
//! Braces with ranges, `**`, `*`, `?`, classes with POSIX names, extended globs, `!` in front of a
//! pattern and `#` comments are all understood. Paths are text with `/` between the parts; nothing
//! here looks at the disk.

mod alternative;
mod automaton;
mod braces;
mod class;
mod error;
mod glob;
mod segment;

pub use error::GlobError;
pub use glob::{Glob, MAX_PATTERN_BYTES};
