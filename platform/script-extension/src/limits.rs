//! Every bound that an extension from outside has, in one place and with a name.
//!
//! Pure.

use std::time::Duration;

/// The most files of one extension.
pub(crate) const MAX_FILES: usize = 1_000;
/// The most bytes of all its files together.
pub(crate) const MAX_BYTES: u64 = 8 * 1024 * 1024;
/// How deep its folders may nest.
pub(crate) const MAX_DEPTH: usize = 16;
/// The most extensions of one place.
pub(crate) const MAX_EXTENSIONS: usize = 200;

/// How long loading and `activate` may take; less than the kernel waits.
pub(crate) const ACTIVATE: Duration = Duration::from_secs(8);
/// How long `deactivate` may take; less than the kernel waits.
pub(crate) const DEACTIVATE: Duration = Duration::from_secs(3);
/// How long a filter may take; less than the bus waits.
pub(crate) const FILTER: Duration = Duration::from_millis(4_500);
/// How long an event handler may take; less than the bus waits.
pub(crate) const EVENT: Duration = Duration::from_secs(25);
/// How long a command may take.
pub(crate) const COMMAND: Duration = Duration::from_secs(120);
/// How long a call of a tool may take unless it says otherwise.
pub(crate) const TOOL: Duration = Duration::from_secs(30);
/// How long one unit test may take.
pub(crate) const UNIT_TEST: Duration = Duration::from_secs(10);
/// The longest that a tool may ask for.
pub(crate) const MAX_TOOL_MS: u64 = 10 * 60 * 1000;
/// How long a worker process may take to start on a machine that has other things to do.
pub(crate) const START: Duration = Duration::from_secs(30);

/// The lowest priority of a filter: the guards of the program stand below it, so they judge what a filter made of a call.
pub(crate) const MIN_PRIORITY: i64 = -99;
/// The highest priority of a filter.
pub(crate) const MAX_PRIORITY: i64 = 1_000;

/// The largest file that `files.read` reads.
pub(crate) const MAX_READ_BYTES: u64 = 4 * 1024 * 1024;
/// The most entries that `files.list` lists.
pub(crate) const MAX_ENTRIES: usize = 10_000;
/// The largest answer of `fetch`.
pub(crate) const MAX_RESPONSE_BYTES: usize = 4 * 1024 * 1024;
/// How long `fetch` waits for an answer.
pub(crate) const FETCH: Duration = Duration::from_secs(30);
/// The largest value of `storage`.
pub(crate) const MAX_STORED_BYTES: usize = 1024 * 1024;
/// The longest name of a storage namespace or key.
pub(crate) const MAX_KEY_BYTES: usize = 200;
