//! One connection: its requests, one after the other, under the limits on time.

use super::stall::StallLimit;
use crate::desk::Desk;
use crate::guard::{HostPolicy, RateLimit};
use crate::openai::Continuations;
use crate::settings::{HEADER_TIMEOUT_MS, MAX_CLIENTS, MAX_STREAMS, STRANGER_RATE, ServerSettings, WRITE_STALL_MS};
use crate::token::TokenCheck;
use axum::Router;
use dispatch_contracts::cancel::CancelToken;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most of a request or an answer that is held between the client and us.
const MAX_BUFFER_BYTES: usize = 64 * 1024;

/// What all connections of a server share.
pub(super) struct Shared {
    pub(super) desk: Arc<Desk>,
    pub(super) hosts: HostPolicy,
    pub(super) origins: Vec<String>,
    pub(super) token: TokenCheck,
    /// Who has the token and who has not are counted apart, so that strangers lock nobody out.
    pub(super) known: Mutex<RateLimit>,
    pub(super) strangers: Mutex<RateLimit>,
    pub(super) streams: Arc<Semaphore>,
    pub(super) continuations: Mutex<Continuations>,
}

/// A request's connection: who is there, and the right to be there, which a WebSocket takes along.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) peer: SocketAddr,
    pub(super) permit: Arc<OwnedSemaphorePermit>,
}

impl Shared {
    pub(super) fn new(desk: Arc<Desk>, hosts: HostPolicy, settings: ServerSettings, token: TokenCheck) -> Self {
        Self {
            desk,
            hosts,
            origins: settings.allowed_origins,
            token,
            known: Mutex::new(RateLimit::new(settings.rate, MAX_CLIENTS)),
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

/// Answers requests until the client or the program closes the connection.
pub(super) async fn serve(stream: TcpStream, line: Line, router: Router, closing: CancelToken) {
    let stream = StallLimit::new(stream, Duration::from_millis(WRITE_STALL_MS));
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: http::Request<Incoming>| {
        request.extensions_mut().insert(line.clone());
        router.call(request)
    });
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(Duration::from_millis(HEADER_TIMEOUT_MS));
    server.max_buf_size(MAX_BUFFER_BYTES);
    let connection = server.serve_connection(TokioIo::new(stream), service).with_upgrades();
    tokio::pin!(connection);
    tokio::select! {
        // A client that breaks off, or says what is no HTTP, is no news.
        _ = connection.as_mut() => return,
        () = closing.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
