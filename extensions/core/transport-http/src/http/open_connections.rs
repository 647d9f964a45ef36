//! The open connections: how many there are, and which are dropped before they showed the token.

use super::connection::lock;
use crate::guard::{ConnectionId, StrangerTable};
use crate::settings::{MAX_STRANGERS_PER_PEER, STRANGER_GRACE_MS, STRANGER_TIMEOUT_MS};
use core::net::SocketAddr;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::ports::Clock;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How soon a full server looks again for a connection that can go.
const LOOK_AGAIN_MS: u64 = 20;

/// All connections of one listener.
pub(super) struct OpenConnections {
    places: Arc<Semaphore>,
    max: u32,
    next_id: AtomicU64,
    clock: Arc<dyn Clock>,
    strangers: Mutex<StrangerTable>,
    drops: Mutex<BTreeMap<ConnectionId, CancelToken>>,
}

/// One open connection. Dropping it makes room for another.
pub(super) struct ConnectionPlace {
    id: ConnectionId,
    all: Arc<OpenConnections>,
    dropped: CancelToken,
    _permit: OwnedSemaphorePermit,
}

impl OpenConnections {
    pub(super) fn new(max: usize, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            places: Arc::new(Semaphore::new(max)),
            max: u32::try_from(max).unwrap_or(u32::MAX),
            next_id: AtomicU64::new(0),
            clock,
            strangers: Mutex::new(StrangerTable::new(MAX_STRANGERS_PER_PEER, STRANGER_GRACE_MS)),
            drops: Mutex::default(),
        })
    }

    /// Finds a place for a connection that was accepted. Who has not shown the token makes room; without such
    /// a one the newcomer waits, and those after it in the system's queue, which is bounded too.
    pub(super) async fn admit(self: &Arc<Self>, peer: SocketAddr) -> Option<ConnectionPlace> {
        let permit = self.free_place().await?;
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let dropped = CancelToken::new();
        lock(&self.drops).insert(id, dropped.clone());
        let leaving = lock(&self.strangers).open(id, peer.ip(), self.clock.monotonic_ms());
        self.drop_all(leaving);
        Some(ConnectionPlace { id, all: Arc::clone(self), dropped, _permit: permit })
    }

    async fn free_place(&self) -> Option<OwnedSemaphorePermit> {
        loop {
            if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
                return Some(permit);
            }
            let leaving = lock(&self.strangers).give_way(self.clock.monotonic_ms());
            self.drop_all(leaving);
            let place = Arc::clone(&self.places).acquire_owned();
            // By then somebody else may have been silent for long enough.
            match tokio::time::timeout(Duration::from_millis(LOOK_AGAIN_MS), place).await {
                Ok(place) => return place.ok(),
                Err(_) => continue,
            }
        }
    }

    /// Resolves when the last connection has ended.
    pub(super) async fn all_closed(&self) {
        let _ = self.places.acquire_many(self.max).await;
    }

    fn drop_all(&self, leaving: impl IntoIterator<Item = ConnectionId>) {
        let drops = lock(&self.drops);
        let dropped: Vec<CancelToken> = leaving.into_iter().filter_map(|id| drops.get(&id).cloned()).collect();
        drop(drops);
        dropped.iter().for_each(CancelToken::cancel);
    }
}

impl ConnectionPlace {
    /// A request showed the token: from now on only the client or the program ends the connection.
    pub(super) fn mark_known(&self) {
        lock(&self.all.strangers).remove(self.id);
    }

    /// A request came without the token.
    pub(super) fn mark_active(&self) {
        lock(&self.all.strangers).touch(self.id, self.all.clock.monotonic_ms());
    }

    /// Resolves when the connection has to go: it was silent for too long, or made room for another.
    pub(super) async fn has_to_go(&self) {
        tokio::select! {
            () = self.dropped.cancelled() => {}
            () = self.silent_for_too_long() => {}
        }
    }

    async fn silent_for_too_long(&self) {
        loop {
            let active_ms = lock(&self.all.strangers).active_ms(self.id);
            let Some(active_ms) = active_ms else { return std::future::pending().await };
            let left = (active_ms + STRANGER_TIMEOUT_MS).saturating_sub(self.all.clock.monotonic_ms());
            if left == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(left)).await;
        }
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        lock(&self.all.strangers).remove(self.id);
        lock(&self.all.drops).remove(&self.id);
    }
}
