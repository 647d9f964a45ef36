//! The listener: accepts connections, at most as many as allowed, until the program closes.

use super::connection::{ClientConnection, ServerShared, serve};
use super::incomplete_input::{IncompleteInput, SocketInput};
use super::open_connections::OpenConnections;
use super::routes::route_table;
use crate::contract::TransportError;
use crate::guard::HostPolicy;
use crate::services::TransportServices;
use crate::token::{ServerTokens, TokenCheck};
use axum::Router;
use core::net::SocketAddr;
use dispatch_contracts::ports::Level;
use serde_json::{Map, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// How long to wait when the system has no more connections to give, for example for lack of file handles.
const ACCEPT_PAUSE_MS: u64 = 100;

/// A port that is listened on.
pub(crate) struct HttpServer {
    pub(crate) addr: SocketAddr,
    listening: JoinHandle<()>,
    connections: Arc<OpenConnections>,
}

impl HttpServer {
    /// Opens the port and serves in the background.
    pub(crate) async fn open(
        services: &Arc<TransportServices>,
        addr: SocketAddr,
        tokens: &ServerTokens,
    ) -> Result<Self, TransportError> {
        let failed = |source| TransportError::Bind { addr, source };
        let listener = TcpListener::bind(addr).await.map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        let settings = services.settings();
        let connections = OpenConnections::new(settings.max_connections, services.clock());
        let policy = HostPolicy { bound, allowed: settings.allowed_hosts.clone() };
        let shared = Arc::new(ServerShared::new(Arc::clone(services), policy, settings, TokenCheck::new(tokens)));
        let router = route_table().into_router(shared);
        let listening = tokio::spawn(accept(listener, Arc::clone(services), router, Arc::clone(&connections)));
        Ok(Self { addr: bound, listening, connections })
    }

    /// Resolves when the port is closed and the last connection has ended.
    pub(crate) async fn closed(self) {
        let _ = self.listening.await;
        self.connections.all_closed().await;
    }
}

async fn accept(
    listener: TcpListener,
    services: Arc<TransportServices>,
    router: Router,
    connections: Arc<OpenConnections>,
) {
    tokio::select! {
        () = services.closing.cancelled() => {}
        () = accept_all(&listener, &services, &router, &connections) => {}
    }
}

async fn accept_all(
    listener: &TcpListener,
    services: &Arc<TransportServices>,
    router: &Router,
    connections: &Arc<OpenConnections>,
) {
    let incomplete = Arc::new(IncompleteInput::new());
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Small messages must not wait for each other; a system that refuses this is only slower.
                let _ = stream.set_nodelay(true);
                let Some(place) = connections.admit(peer).await else { return };
                let input = Arc::new(SocketInput::new(&incomplete));
                let client = ClientConnection { peer, place: Arc::new(place), input };
                tokio::spawn(serve(stream, client, router.clone(), services.closing.clone()));
            }
            Err(error) => {
                let fields = Map::from_iter([("cause".to_owned(), json!(error.to_string()))]);
                services.log(Level::Warn, "cannot accept a connection", fields);
                tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
            }
        }
    }
}
