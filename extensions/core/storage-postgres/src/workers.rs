//! A few threads with a connection each: started when they are needed, gone when they are not.

use crate::connection::{Connection, ConnectionShared};
use dispatch_contracts::storage::StorageError;
use dispatch_os::threads::{BusyThreads, spawn};
use dispatch_os::time::monotonic_ms;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most jobs that wait; a caller beyond that is told that the database is busy.
const QUEUE_LIMIT: usize = 16 * 1024;
/// The most connections of one process.
pub(crate) const CONNECTION_LIMIT: usize = 16;
/// A thread that has had nothing to do for so long, or was not needed beside the others, closes its connection and ends.
const PATIENCE: Duration = Duration::from_secs(20);

/// Something to do with a connection. A connection that is lost is left out.
pub(crate) type ConnectionJob = Box<dyn FnOnce(&mut Connection) + Send>;

/// The threads of one database.
pub(crate) struct Workers {
    shared: Arc<ConnectionShared>,
    state: Arc<(Mutex<WorkerState>, Condvar)>,
}

#[derive(Default)]
struct WorkerState {
    jobs: VecDeque<ConnectionJob>,
    idle: usize,
    threads: usize,
    busy: BusyThreads,
    closed: bool,
}

impl Workers {
    pub(crate) fn new(shared: Arc<ConnectionShared>) -> Self {
        Self { shared, state: Arc::default() }
    }

    /// Hands a job to whoever is free.
    pub(crate) fn submit(&self, job: ConnectionJob) -> Result<(), StorageError> {
        let mut state = lock(&self.state.0);
        if state.closed {
            return Err(StorageError::Unwritable("the storage is closed".to_owned()));
        }
        if state.jobs.len() >= QUEUE_LIMIT {
            return Err(StorageError::Busy);
        }
        if state.idle <= state.jobs.len() && state.threads < CONNECTION_LIMIT {
            let (shared, own) = (Arc::clone(&self.shared), Arc::clone(&self.state));
            match spawn("storage-worker", move || serve(&shared, &own)) {
                Ok(_) => state.threads += 1,
                Err(_) if state.threads > 0 => {}
                Err(error) => return Err(StorageError::Unwritable(format!("cannot start a thread: {error}"))),
            }
        }
        state.jobs.push_back(job);
        let busy = (state.threads.saturating_sub(state.idle) + state.jobs.len()).min(CONNECTION_LIMIT);
        state.busy.note(busy);
        drop(state);
        self.state.1.notify_one();
        Ok(())
    }

    /// Takes no more jobs and waits until those that were taken are done.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state.0);
        state.closed = true;
        self.state.1.notify_all();
        while state.threads > 0 {
            let (next, waited) = self.state.1.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner);
            state = next;
            if waited.timed_out() {
                return;
            }
        }
    }
}

fn serve(shared: &Arc<ConnectionShared>, state: &(Mutex<WorkerState>, Condvar)) {
    let mut connection = Connection::new(Arc::clone(shared));
    while let Some(job) = next(state) {
        // A job that fails must not take the thread with it; its caller sees that no answer comes.
        if catch_unwind(AssertUnwindSafe(|| job(&mut connection))).is_err() {
            connection.close();
        }
        if is_surplus(state) {
            return;
        }
    }
}

/// Whether the thread that asks is to end, because the others are enough; that is noted then.
fn is_surplus(state: &(Mutex<WorkerState>, Condvar)) -> bool {
    let mut held = lock(&state.0);
    let (threads, window_ms) = (held.threads, u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX));
    let ends = !held.closed && held.jobs.is_empty() && held.busy.is_surplus(threads, monotonic_ms(), window_ms);
    if ends {
        held.threads -= 1;
    }
    ends
}

/// The next job; none when the thread is to end, which is then noted.
fn next(state: &(Mutex<WorkerState>, Condvar)) -> Option<ConnectionJob> {
    let mut held = lock(&state.0);
    loop {
        if let Some(job) = held.jobs.pop_front() {
            return Some(job);
        }
        let mut timed_out = false;
        if !held.closed {
            held.idle += 1;
            let (next, waited) = state.1.wait_timeout(held, PATIENCE).unwrap_or_else(PoisonError::into_inner);
            held = next;
            held.idle -= 1;
            timed_out = waited.timed_out();
        }
        if held.jobs.is_empty() && (held.closed || timed_out) {
            held.threads -= 1;
            state.1.notify_all();
            return None;
        }
    }
}

fn lock(state: &Mutex<WorkerState>) -> MutexGuard<'_, WorkerState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
