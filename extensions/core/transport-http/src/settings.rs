//! The settings of the server, and its fixed limits.
//!
//! Pure.

use dispatch_contracts::settings::Settings;

/// The largest body of a request with a message in it: the longest text and some pictures.
pub(crate) const MAX_MESSAGE_BYTES: usize = 32 * 1024 * 1024;
/// The largest body of any other request.
pub(crate) const MAX_BODY_BYTES: usize = 1024 * 1024;
/// How long the head of a request may take, and how long a connection may be silent.
pub(crate) const HEADER_TIMEOUT_MS: u64 = 30_000;
/// How long a connection that has not shown the token may be silent or take for the head of a request.
pub(crate) const STRANGER_TIMEOUT_MS: u64 = 10_000;
/// How long a connection may be silent before it gives way to another.
pub(crate) const STRANGER_GRACE_MS: u64 = 400;
/// How many connections one address may have open without having shown the token.
pub(crate) const MAX_STRANGERS_PER_PEER: usize = 32;
/// The largest message of a WebSocket; a larger one goes through `POST`.
pub(crate) const MAX_SOCKET_MESSAGE_BYTES: usize = 8 * 1024 * 1024;
/// How much of requests and messages that are not complete yet is held in all.
pub(crate) const MAX_INCOMPLETE_BYTES: usize = 64 * 1024 * 1024;
/// How long the body of a request may take.
pub(crate) const BODY_TIMEOUT_MS: u64 = 60_000;
/// How long a write may wait for the client to read.
pub(crate) const WRITE_STALL_MS: u64 = 60_000;
/// How many event streams and WebSockets are open at once.
pub(crate) const MAX_STREAMS: usize = 128;
/// How long clients and turns may take to end when the server closes.
pub(crate) const CLOSE_TIMEOUT_MS: u64 = 10_000;
/// How often a silent event stream sends a comment to keep the connection open.
pub(crate) const HEARTBEAT_MS: u64 = 15_000;
/// How long a provider may take to list its models.
pub(crate) const MODELS_TIMEOUT_MS: u64 = 5_000;
/// How many clients the rate limit remembers.
pub(crate) const MAX_CLIENTS: usize = 1_024;
/// Requests per second and at once of clients without a token.
pub(crate) const STRANGER_RATE: RequestRate = RequestRate { per_second: 5, burst: 30 };

const DEFAULT_RATE: u32 = 500;
/// A client may be quicker than its rate for this long.
const BURST_SECONDS: u32 = 2;
const DEFAULT_CONNECTIONS: usize = 256;
const MAX_CONNECTIONS: usize = 65_536;

/// How quickly requests may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestRate {
    /// On average.
    pub(crate) per_second: u32,
    /// At once.
    pub(crate) burst: u32,
}

/// What the user's settings say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerSettings {
    pub(crate) allowed_hosts: Vec<String>,
    pub(crate) allowed_origins: Vec<String>,
    pub(crate) rate: RequestRate,
    pub(crate) max_connections: usize,
}

impl ServerSettings {
    /// Reads the extension's section; a value that is missing or has the wrong type gets its default.
    pub(crate) fn read(settings: &Settings) -> Self {
        let lower = |name| {
            let found: Vec<String> = settings.read(name).unwrap_or_default();
            found.into_iter().map(|text| text.trim_end_matches('/').to_ascii_lowercase()).collect()
        };
        let per_second = settings.read("requests_per_second").unwrap_or(DEFAULT_RATE).max(1);
        let connections = settings.read("max_connections").unwrap_or(DEFAULT_CONNECTIONS);
        Self {
            allowed_hosts: lower("allowed_hosts"),
            allowed_origins: lower("allowed_origins"),
            rate: RequestRate { per_second, burst: per_second.saturating_mul(BURST_SECONDS) },
            max_connections: connections.clamp(1, MAX_CONNECTIONS),
        }
    }
}
