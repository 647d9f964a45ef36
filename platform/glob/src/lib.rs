//! Matches paths against globs as minimatch does with `{dot: true}`, in bounded time and with no regex.
//!
//! Braces with ranges, `**`, `*`, `?`, classes with POSIX names, extended globs, `!` in front of a
//! pattern and `#` comments are all understood. Paths are text with `/` between the parts; nothing
//! here looks at the disk.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

mod alternative;
mod automaton;
mod braces;
mod class;
mod error;
mod glob;
mod segment;

pub use error::GlobError;
pub use glob::{Glob, MAX_PATTERN_BYTES};
