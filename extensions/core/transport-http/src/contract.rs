//! What the program around the extensions may use: opening a port, and serving a client over two streams.
//!
//! Activating the extension opens nothing: a program that only chats has no server in it.
//!
//! A route that another extension contributes is asked with
//! `{"path": {..}, "query": {..}, "body": ..}`: the values of its `{placeholders}`, the query and
//! the JSON body (`null` if there is none). What it answers is sent with status 200; its error is
//! sent as a refusal of the request. A raw route gets headers and bytes and chooses status and headers of its answer; one
//! with [`RouteAccess::Own`](dispatch_contracts::contribution::RouteAccess) is asked without the token too.

use core::net::SocketAddr;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::service::Service;
use dispatch_os::OsError;
use std::path::PathBuf;
use tokio::io::{AsyncRead, AsyncWrite};

/// Serves the sessions of this program to others.
pub const TRANSPORT: Service<dyn Transport> = Service::new("transport-http/transport");

/// The file of the data folder with the token that every request needs.
pub const TOKEN_FILE: &str = "token";

/// The file of the data folder with the token of people: a client that shows it may answer questions too. No tool gets
/// it, and no client needs it for anything else.
pub const APPROVAL_TOKEN_FILE: &str = "approval-token";

/// From where a server may be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// From this machine; another address is refused.
    #[default]
    Loopback,
    /// From wherever the address is reachable; the user asked for that explicitly.
    Network,
}

/// A server that listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundServer {
    /// Where; with the port that was chosen if none was named.
    pub addr: SocketAddr,
    /// The file with the token that every request needs.
    pub token_file: PathBuf,
    /// The file with the token that an answer to a question needs.
    pub approval_token_file: PathBuf,
}

/// What a client sends.
pub type ClientInput = Box<dyn AsyncRead + Send + Unpin>;
/// What is sent to a client.
pub type ClientOutput = Box<dyn AsyncWrite + Send + Unpin>;

/// Why clients cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The address is reachable from other machines, and only loopback was allowed.
    #[error("{addr} can be reached from other machines, and only loopback addresses are allowed")]
    NotLoopback {
        /// The address.
        addr: SocketAddr,
    },
    /// The address is in use, or does not belong to this machine.
    #[error("cannot listen on {addr}: {source}")]
    Bind {
        /// The address.
        addr: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// The file of the token could not be read or written.
    #[error("cannot use the token in {}: {source}", file.display())]
    TokenFile {
        /// Where it is kept.
        file: PathBuf,
        /// Why not.
        source: OsError,
    },
    /// The file holds something that cannot be a token.
    #[error("cannot use the token in {}: {problem}", file.display())]
    InvalidToken {
        /// Where it is kept.
        file: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The client closed the stream, or it failed.
    #[error("the connection to the client broke: {0}")]
    Stream(#[from] std::io::Error),
}

impl TransportError {
    /// What would help.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotLoopback { .. } => {
                Some("listen on 127.0.0.1, or allow other machines to connect; they need the token too")
            }
            Self::Bind { .. } => Some("choose another port, or port 0 for any free one"),
            Self::TokenFile { .. } | Self::InvalidToken { .. } => {
                Some("remove the file; the next start creates a new token")
            }
            Self::Stream(_) => None,
        }
    }
}

/// Serves clients over HTTP, over JSON lines and over the Agent Client Protocol.
pub trait Transport: Send + Sync {
    /// Opens a port and serves in the background until [`Transport::close`].
    fn listen(&self, addr: SocketAddr, reach: Reach) -> BoxFuture<'_, Result<BoundServer, TransportError>>;
    /// Speaks JSON lines until the input ends: the same messages as the WebSocket.
    fn stdio(&self, input: ClientInput, output: ClientOutput) -> BoxFuture<'_, Result<(), TransportError>>;
    /// Speaks the Agent Client Protocol until the input ends.
    fn acp(&self, input: ClientInput, output: ClientOutput) -> BoxFuture<'_, Result<(), TransportError>>;
    /// Accepts nothing new, tells the clients, lets running turns come to a boundary, and closes. Takes
    /// a bounded time.
    fn close(&self) -> BoxFuture<'_, ()>;
}
