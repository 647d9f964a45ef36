//! The client at the other end of a JSON-RPC connection: answers to it, and requests that it answers.

use super::rpc_message::RpcError;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc::Sender;
use tokio::sync::oneshot;

/// The client at the other end.
pub(super) struct RpcPeer {
    out: Mutex<Option<Sender<String>>>,
    pending: Mutex<BTreeMap<u64, oneshot::Sender<Option<Value>>>>,
    next: AtomicU64,
}

impl RpcPeer {
    pub(super) fn new(out: Sender<String>) -> Self {
        Self { out: Mutex::new(Some(out)), pending: Mutex::default(), next: AtomicU64::new(1) }
    }

    pub(super) async fn notify(&self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    pub(super) async fn respond(&self, id: Value, outcome: Result<Value, RpcError>) {
        let message = match outcome {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": error.code, "message": error.message}})
            }
        };
        self.send(&message).await;
    }

    /// Sends a request to the client and waits for its answer; `None` when it has none or is gone.
    pub(super) async fn ask(&self, method: &str, params: Value) -> Option<Value> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (reply, answered) = oneshot::channel();
        lock(&self.pending).insert(id, reply);
        let _pending = PendingRequest { peer: self, id };
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        answered.await.ok().flatten()
    }

    /// Takes the answer to a request of ours.
    pub(super) fn settle(&self, id: u64, result: Option<Value>) {
        if let Some(reply) = lock(&self.pending).remove(&id) {
            // The waiter may be gone.
            let _ = reply.send(result);
        }
    }

    /// The client will send no more answers.
    pub(super) fn hang_up(&self) {
        lock(&self.pending).clear();
    }

    async fn send(&self, message: &Value) {
        let Some(out) = lock(&self.out).clone() else { return };
        if out.send(message.to_string()).await.is_err() {
            // The client is gone, so requests that wait for its answer end.
            lock(&self.out).take();
            self.hang_up();
        }
    }
}

/// Removes a request from the pending ones when its waiter is gone.
struct PendingRequest<'a> {
    peer: &'a RpcPeer,
    id: u64,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        lock(&self.peer.pending).remove(&self.id);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
