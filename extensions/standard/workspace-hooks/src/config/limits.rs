//! How much a configuration may ask for.

use std::ops::RangeInclusive;

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

/// Runs of one hook at a time.
pub(crate) const CONCURRENCY: RangeInclusive<u64> = 1..=256;
/// How long a run may take: a second to a day.
pub(crate) const TIMEOUT_MS: RangeInclusive<u64> = 1_000..=86_400_000;
/// How many times a failed run is repeated.
pub(crate) const RETRY_COUNT: RangeInclusive<u64> = 0..=20;
/// The wait before the first repetition: up to ten minutes.
pub(crate) const BACKOFF_MS: RangeInclusive<u64> = 0..=600_000;
/// What each further wait is multiplied by.
pub(crate) const BACKOFF_FACTOR: RangeInclusive<f64> = 1.0..=10.0;
/// The wait for the next change: up to a minute.
pub(crate) const DEBOUNCE_MS: RangeInclusive<u64> = 0..=60_000;
/// Runs in the span of a rate limit.
pub(crate) const RATE_RUNS: RangeInclusive<u64> = 1..=100_000;
/// The span of a rate limit: a second to a day.
pub(crate) const RATE_SPAN_MS: RangeInclusive<u64> = 1_000..=86_400_000;
/// Tokens of a day.
pub(crate) const TOKENS_PER_DAY: RangeInclusive<u64> = 1..=1_000_000_000_000;
/// Dollars of a day.
pub(crate) const USD_PER_DAY: RangeInclusive<f64> = 0.000_001..=1_000_000.0;
/// Runs that may wait.
pub(crate) const QUEUED: RangeInclusive<u64> = 1..=10_000;

/// What a hook gets that says nothing else.
pub(crate) const DEFAULT_CONCURRENCY: u32 = 4;
/// The same for the time of a run.
pub(crate) const DEFAULT_TIMEOUT_MS: u64 = 60_000;
/// The same for the wait before the first repetition.
pub(crate) const DEFAULT_BACKOFF_MS: u64 = 1_000;
/// The same for what each further wait is multiplied by.
pub(crate) const DEFAULT_BACKOFF_FACTOR: f64 = 2.0;
/// The same for the wait for the next change.
pub(crate) const DEFAULT_DEBOUNCE_MS: u64 = 200;
