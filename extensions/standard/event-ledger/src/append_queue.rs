//! Appends that wait are committed together: one transaction takes whatever has arrived, so that many senders share
//! one wait for the disk although numbers are given one after the other.

use crate::account_rows::{AccountLease, is_held};
use crate::contract::{AdapterPosition, Appended, LedgerError};
use crate::event_rows::{APPEND_KEY, append, set_position};
use crate::prepared_event::PreparedEvent;
use dispatch_contracts::storage::{Keys, Storage, StorageError, Transaction};
use dispatch_durable_queue::transact;
use futures_channel::{mpsc, oneshot};
use futures_util::StreamExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many appends may wait.
const MAX_WAITING: usize = 4_096;
/// The most appends of one transaction.
const MAX_BATCH: usize = 256;

/// What one caller wants stored: all of it or nothing.
pub(crate) struct AppendRequest {
    pub(crate) events: Vec<PreparedEvent>,
    pub(crate) position: Option<AdapterPosition>,
    /// The right to read the account that the events come from; they are stored only while it is held.
    pub(crate) lease: Option<AccountLease>,
    pub(crate) now_ms: u64,
}

type AppendAnswer = Result<Vec<Appended>, LedgerError>;

struct WaitingAppend {
    request: Arc<AppendRequest>,
    answer: oneshot::Sender<AppendAnswer>,
}

/// Where appends are handed in.
#[derive(Clone)]
pub(crate) struct AppendQueue {
    waiting: mpsc::UnboundedSender<WaitingAppend>,
    /// How many wait: a channel with a limit grants each of its senders one more.
    length: Arc<AtomicUsize>,
}

/// The other end, which commits them.
pub(crate) struct AppendWriter {
    storage: Arc<dyn Storage>,
    waiting: mpsc::UnboundedReceiver<WaitingAppend>,
    length: Arc<AtomicUsize>,
}

/// A queue over a store.
pub(crate) fn append_queue(storage: Arc<dyn Storage>) -> (AppendQueue, AppendWriter) {
    let (sender, receiver) = mpsc::unbounded();
    let length = Arc::<AtomicUsize>::default();
    let writer = AppendWriter { storage, waiting: receiver, length: Arc::clone(&length) };
    (AppendQueue { waiting: sender, length }, writer)
}

impl AppendQueue {
    /// Stores events; answered when they outlive a power cut.
    pub(crate) async fn append(&self, request: AppendRequest) -> AppendAnswer {
        let (answer, answered) = oneshot::channel();
        if self.length.fetch_add(1, Ordering::Relaxed) >= MAX_WAITING {
            self.length.fetch_sub(1, Ordering::Relaxed);
            return Err(LedgerError::Storage(StorageError::Busy));
        }
        let request = Arc::new(request);
        self.waiting.unbounded_send(WaitingAppend { request, answer }).map_err(|_| LedgerError::Closed)?;
        answered.await.unwrap_or(Err(LedgerError::Closed))
    }
}

impl AppendWriter {
    /// Commits what arrives until nobody can hand in any more. `stored` is called after each commit that added events.
    pub(crate) async fn run(mut self, stored: impl Fn() + Send) {
        while let Some(first) = self.waiting.next().await {
            let mut batch = vec![first];
            while batch.len() < MAX_BATCH {
                match self.waiting.try_recv() {
                    Ok(next) => batch.push(next),
                    Err(_) => break,
                }
            }
            self.length.fetch_sub(batch.len(), Ordering::Relaxed);
            if self.commit(batch).await {
                stored();
            }
        }
    }

    /// Whether something new was stored.
    async fn commit(&self, batch: Vec<WaitingAppend>) -> bool {
        let requests = batch.iter().map(|waiting| Arc::clone(&waiting.request)).collect();
        let alone = batch.len() == 1;
        let answers: Vec<AppendAnswer> = match self.store(requests).await {
            Ok(stored) => stored,
            // What one of them did wrong must not cost the others.
            Err(StorageError::Statement(_) | StorageError::Constraint(_)) if !alone => {
                let mut answers = Vec::with_capacity(batch.len());
                for waiting in &batch {
                    let stored = self.store(vec![Arc::clone(&waiting.request)]).await;
                    let only = |mut all: Vec<AppendAnswer>| all.pop().unwrap_or(Err(LedgerError::Closed));
                    answers.push(stored.map_err(LedgerError::from).and_then(only));
                }
                answers
            }
            Err(error) => batch.iter().map(|_| Err(LedgerError::Storage(error.clone()))).collect(),
        };
        let fresh = answers.iter().flatten().flatten().any(|appended| appended.fresh);
        for (waiting, answer) in batch.into_iter().zip(answers) {
            // Whoever left finds the event when it sends it again.
            let _ = waiting.answer.send(answer);
        }
        fresh
    }

    async fn store(&self, requests: Vec<Arc<AppendRequest>>) -> Result<Vec<AppendAnswer>, StorageError> {
        let leases = requests.iter().filter_map(|request| request.lease.as_ref());
        let keys = Keys::of(leases.map(AccountLease::key).chain([APPEND_KEY.to_owned()]));
        let work = move |tx: &mut dyn Transaction| requests.iter().map(|request| store_one(tx, request)).collect();
        transact(self.storage.as_ref(), keys, work).await
    }
}

fn store_one(tx: &mut dyn Transaction, request: &AppendRequest) -> Result<AppendAnswer, StorageError> {
    if let Some(lease) = &request.lease
        && !is_held(tx, lease)?
    {
        return Ok(Err(LedgerError::Fenced));
    }
    let appended = request.events.iter().map(|event| append(tx, event)).collect::<Result<_, _>>()?;
    if let Some(position) = &request.position {
        set_position(tx, position, request.now_ms)?;
    }
    Ok(Ok(appended))
}
