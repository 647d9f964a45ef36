//! What the program around the extensions may use: opening a port, and talking over two streams.
//!
//! Activating the extension opens nothing: a program that only chats has no server in it.
//!
//! A route that another extension contributes is asked with
//! `{"path": {..}, "query": {..}, "body": ..}`: the values of its `{placeholders}`, the query and
//! the JSON body (`null` if there is none). What it answers is sent with status 200; its error is
//! sent as a refusal of the request.

use dispatch_contracts::BoxFuture;
use dispatch_contracts::service::Service;
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio::io::{AsyncRead, AsyncWrite};

/// Serves the sessions of this program to others.
pub const TRANSPORT: Service<dyn Transport> = Service::new("transport-http/transport");

/// From where a server may be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// From this machine; another address is refused.
    #[default]
    Loopback,
    /// From wherever the address is reachable; somebody asked for that in so many words.
    Network,
}

/// A server that listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Where; with the port that was chosen if none was named.
    pub addr: SocketAddr,
    /// The file with the token that every request needs.
    pub token_file: PathBuf,
}

/// Where a client's words come from.
pub type Input = Box<dyn AsyncRead + Send + Unpin>;
/// Where the words for a client go.
pub type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Why nobody can be served.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The address is reachable from outside and nobody asked for that.
    #[error("{addr} can be reached from other machines, which nobody asked for")]
    NotLoopback {
        /// The address.
        addr: SocketAddr,
    },
    /// The address is taken or not ours.
    #[error("cannot listen on {addr}: {source}")]
    Bind {
        /// The address.
        addr: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// The token could not be read or made.
    #[error("the token in {} cannot be used: {problem}", file.display())]
    Token {
        /// Where it is kept.
        file: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The other end of a stream is gone.
    #[error("the connection broke: {0}")]
    Stream(#[from] std::io::Error),
    /// A part of the program that is needed is not there.
    #[error("{0}")]
    Missing(String),
}

impl TransportError {
    /// What would help.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotLoopback { .. } => {
                Some("listen on 127.0.0.1, or say that other machines may connect; they need the token then too")
            }
            Self::Bind { .. } => Some("choose another port, or port 0 for any that is free"),
            Self::Token { .. } => Some("remove the file; a new token is made at the next start"),
            Self::Stream(_) | Self::Missing(_) => None,
        }
    }
}

/// The ways in.
pub trait Transport: Send + Sync {
    /// Opens a port and serves in the background until [`Transport::close`].
    fn listen(&self, addr: SocketAddr, reach: Reach) -> BoxFuture<'_, Result<Bound, TransportError>>;
    /// Speaks JSON lines until the input ends: the same messages as the WebSocket.
    fn stdio(&self, input: Input, output: Output) -> BoxFuture<'_, Result<(), TransportError>>;
    /// Speaks the Agent Client Protocol until the input ends.
    fn acp(&self, input: Input, output: Output) -> BoxFuture<'_, Result<(), TransportError>>;
    /// Takes nothing new, tells the clients, lets running turns come to a boundary, and closes. Takes
    /// a bounded time.
    fn close(&self) -> BoxFuture<'_, ()>;
}
