//! One connection: its requests, one after the other, under the limits on time.

use super::incomplete_input::{CountedStream, SocketInput};
use super::open_connections::ConnectionPlace;
use super::stall::StallLimit;
use crate::guard::{HostPolicy, RateLimit};
use crate::openai::Continuations;
use crate::services::TransportServices;
use crate::settings::{HEADER_TIMEOUT_MS, MAX_CLIENTS, MAX_STREAMS, STRANGER_RATE, ServerSettings, WRITE_STALL_MS};
use crate::token::TokenCheck;
use axum::Router;
use axum::extract::State;
use core::net::SocketAddr;
use dispatch_contracts::cancel::CancelToken;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// The most of a request or an answer that is held between the client and us.
const MAX_BUFFER_BYTES: usize = 64 * 1024;

/// How handlers take what all connections share.
pub(super) type ServerState = State<Arc<ServerShared>>;

/// What all connections of a server share.
pub(super) struct ServerShared {
    pub(super) services: Arc<TransportServices>,
    pub(super) hosts: HostPolicy,
    pub(super) origins: Vec<String>,
    pub(super) token: TokenCheck,
    /// Clients with the token and clients without are counted apart, so that strangers cannot lock out the others.
    pub(super) known: Mutex<RateLimit>,
    pub(super) strangers: Mutex<RateLimit>,
    /// Callers of routes that find out themselves who calls.
    pub(super) open_callers: Mutex<RateLimit>,
    pub(super) streams: Arc<Semaphore>,
    pub(super) continuations: Mutex<Continuations>,
}

/// The connection of a request: the client's address, and the place that a WebSocket keeps after the request.
#[derive(Clone)]
pub(super) struct ClientConnection {
    pub(super) peer: SocketAddr,
    pub(super) place: Arc<ConnectionPlace>,
    pub(super) input: Arc<SocketInput>,
}

impl ServerShared {
    pub(super) fn new(
        services: Arc<TransportServices>,
        hosts: HostPolicy,
        settings: ServerSettings,
        token: TokenCheck,
    ) -> Self {
        Self {
            services,
            hosts,
            origins: settings.allowed_origins,
            token,
            known: Mutex::new(RateLimit::new(settings.rate, MAX_CLIENTS)),
            open_callers: Mutex::new(RateLimit::new(settings.rate, MAX_CLIENTS)),
            strangers: Mutex::new(RateLimit::new(STRANGER_RATE, MAX_CLIENTS)),
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            continuations: Mutex::new(Continuations::default()),
        }
    }
}

/// A lock that a panic elsewhere leaves usable: what it guards is whole after every statement.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers requests until the client or the program closes the connection, or it has to make room.
pub(super) async fn serve(stream: TcpStream, client: ClientConnection, router: Router, closing: CancelToken) {
    let stream = CountedStream::new(stream, Arc::clone(&client.input));
    let stream = StallLimit::new(stream, Duration::from_millis(WRITE_STALL_MS));
    let place = Arc::clone(&client.place);
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: http::Request<Incoming>| {
        request.extensions_mut().insert(client.clone());
        router.call(request)
    });
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(Duration::from_millis(HEADER_TIMEOUT_MS));
    server.max_buf_size(MAX_BUFFER_BYTES);
    let connection = server.serve_connection(TokioIo::new(stream), service).with_upgrades();
    tokio::pin!(connection);
    tokio::select! {
        // A client that breaks off or does not speak HTTP is not worth a log entry.
        _ = connection.as_mut() => return,
        () = place.has_to_go() => return,
        () = closing.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
