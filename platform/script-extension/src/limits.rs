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
/// How long one request to a route may take; less than the server waits.
pub(crate) const ROUTE: Duration = Duration::from_secs(55);
/// How long one run of a job may take.
pub(crate) const JOB: Duration = Duration::from_secs(10 * 60);
/// How often a job may run at most.
pub(crate) const MIN_JOB_MS: u64 = 1_000;
/// The longest pause between two runs of a job.
pub(crate) const MAX_JOB_MS: u64 = 30 * 24 * 60 * 60 * 1000;
/// How long a call of a service may take.
pub(crate) const SERVICE: Duration = Duration::from_secs(30);
/// How long one reply of a model may take.
pub(crate) const MODEL: Duration = Duration::from_secs(10 * 60);
/// How long the list of a provider's models may take.
pub(crate) const MODELS: Duration = Duration::from_secs(10);
/// How long a credential may take.
pub(crate) const CREDENTIAL: Duration = Duration::from_secs(20);
/// How long code that nobody waits for may take to notice; then its worker is killed.
pub(crate) const ABANDONED_GRACE: Duration = Duration::from_millis(500);

/// The most worker processes for tools, commands, providers, routes, jobs and services.
pub(crate) const MAX_CALL_WORKERS: usize = 8;
/// The most worker processes for events.
pub(crate) const MAX_EVENT_WORKERS: usize = 2;
/// The most worker processes for filters.
pub(crate) const MAX_FILTER_WORKERS: usize = 4;

/// The longest message of a program.
pub(crate) const MAX_MESSAGE_BYTES: usize = 8 * 1024 * 1024;
/// The longest line of a program's standard error that is logged.
pub(crate) const MAX_LOGGED_LINE_BYTES: usize = 8 * 1024;
/// The most messages that wait until a program reads them.
pub(crate) const MAX_WAITING_MESSAGES: usize = 1_000;
/// The most questions of one call of a program that wait for an answer.
pub(crate) const MAX_OPEN_QUESTIONS: usize = 64;
/// How long a program has between the signal that asks it to end and the one that ends it.
pub(crate) const PROGRAM_GRACE: Duration = Duration::from_millis(500);
/// How long a program has to end once its standard input is closed.
pub(crate) const PROGRAM_EXIT: Duration = Duration::from_secs(1);

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
/// How long an answer that is read piece by piece may take in all.
pub(crate) const FETCH_STREAM: Duration = Duration::from_secs(10 * 60);
/// The most answers that one call reads piece by piece at once.
pub(crate) const MAX_OPEN_BODIES: usize = 16;
/// The most rows that one statement answers.
pub(crate) const MAX_ROWS: usize = 10_000;
/// The largest body of a raw route unless it says otherwise.
pub(crate) const RAW_BODY_BYTES: usize = 1024 * 1024;
/// The largest body that a raw route may ask for: it passes the pipe to the worker as text.
pub(crate) const MAX_RAW_BODY_BYTES: usize = 4 * 1024 * 1024;
/// The largest value of `storage`.
pub(crate) const MAX_STORED_BYTES: usize = 1024 * 1024;
/// The longest name of a storage namespace or key.
pub(crate) const MAX_KEY_BYTES: usize = 200;
