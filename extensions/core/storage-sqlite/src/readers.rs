//! A few threads that read, each with a connection of its own: made when they are needed, gone when
//! they are not.

use crate::database::{ConnectionPurpose, Database};
use crate::job_queue::{JobQueue, JobRefused, TakenJobs};
use crate::quiet_window::QuietWindow;
use crate::resolved_location::ResolvedLocation;
use crate::writer::{DatabaseJob, StorageAnswer};
use dispatch_contracts::storage::StorageError;
use dispatch_os::threads::{BusyThreads, JoinHandle, is_current, spawn};
use dispatch_os::time::monotonic_ms;
use futures_channel::oneshot::Sender;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most readers.
pub(crate) const READER_LIMIT: usize = 4;
/// The most reads that wait.
pub(crate) const QUEUE_LIMIT: usize = 4 * 1024;
/// A reader that has had nothing to do for so long, or was not needed beside the others, gives its memory back.
const PATIENCE: Duration = Duration::from_secs(8);

/// A read and whom to answer.
struct ReadJob {
    job: DatabaseJob,
    reply: Sender<StorageAnswer>,
}

/// The readers of one file.
pub(crate) struct Readers {
    shared: Arc<ReaderPool>,
}

/// What the readers share with whoever asks them.
struct ReaderPool {
    place: ResolvedLocation,
    queue: JobQueue<ReadJob>,
    /// Held while a read is handed over and while a reader leaves, so that no read is left to nobody.
    threads: Mutex<ReaderThreads>,
}

#[derive(Default)]
struct ReaderThreads {
    /// Those that will look at the queue again.
    serving: usize,
    busy: BusyThreads,
    handles: Vec<JoinHandle<()>>,
}

impl Readers {
    pub(crate) fn new(place: ResolvedLocation) -> Self {
        Self { shared: Arc::new(ReaderPool { place, queue: JobQueue::new(QUEUE_LIMIT), threads: Mutex::default() }) }
    }

    /// Hands a read to whoever is free.
    pub(crate) fn submit(&self, job: DatabaseJob, reply: Sender<StorageAnswer>) -> Result<(), StorageError> {
        let mut threads = self.shared.threads();
        let free = self.shared.queue.push(ReadJob { job, reply }).map_err(told)?;
        let busy = threads.serving.saturating_sub(free) + 1;
        threads.busy.note(busy);
        if free > 0 || threads.serving >= READER_LIMIT {
            return Ok(());
        }
        let shared = Arc::clone(&self.shared);
        let started = spawn("storage-reader", move || shared.serve());
        match started {
            Ok(thread) => {
                threads.handles.retain(|thread| !thread.is_finished());
                threads.handles.push(thread);
                threads.serving += 1;
                Ok(())
            }
            Err(_) if threads.serving > 0 => Ok(()),
            Err(error) => {
                self.shared.queue.clear();
                Err(StorageError::Unwritable(format!("cannot start a thread: {error}")))
            }
        }
    }

    /// Takes no more reads, finishes those that wait, and ends the threads.
    pub(crate) fn close(&self) {
        self.shared.queue.close();
        let handles = std::mem::take(&mut self.shared.threads().handles);
        for thread in handles.into_iter().filter(|thread| !is_current(thread)) {
            _ = thread.join();
        }
    }
}

impl ReaderPool {
    fn threads(&self) -> MutexGuard<'_, ReaderThreads> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self) {
        let mut database = None;
        let mut window = QuietWindow::default();
        loop {
            match self.queue.take(1, Some(PATIENCE)) {
                TakenJobs::Jobs(reads) => {
                    let count = reads.len() as u64;
                    reads.into_iter().for_each(|read| self.answer(&mut database, read));
                    // The reader that is left over for the looks of an idle process keeps nothing of the work.
                    if window.begins_rest(count, monotonic_ms())
                        && let Some(database) = &database
                    {
                        database.shrink();
                    }
                    let mut threads = self.threads();
                    let (serving, patience_ms) = (threads.serving, u64::try_from(PATIENCE.as_millis()).unwrap_or(0));
                    if threads.busy.is_surplus(serving, monotonic_ms(), patience_ms) {
                        threads.serving -= 1;
                        return;
                    }
                }
                TakenJobs::Idle | TakenJobs::Closed => {
                    let mut threads = self.threads();
                    if self.queue.is_empty() {
                        threads.serving -= 1;
                        return;
                    }
                }
            }
        }
    }

    fn answer(&self, database: &mut Option<Database>, ReadJob { job, reply }: ReadJob) {
        if reply.is_canceled() {
            return;
        }
        let opened = match database.take() {
            Some(opened) => Ok(opened),
            None => Database::open(&self.place, ConnectionPurpose::Read),
        };
        // A reader that fails must not take the thread with it; the caller sees that no answer comes.
        let answer = catch_unwind(AssertUnwindSafe(|| {
            opened.and_then(|opened| {
                let answer = opened.refresh().and_then(|()| job(&opened));
                // A connection that met damage or a lost file is not used again.
                if !matches!(answer, Err(StorageError::Corrupt(_) | StorageError::Unwritable(_))) {
                    *database = Some(opened);
                }
                answer
            })
        }));
        if let Ok(answer) = answer {
            _ = reply.send(answer);
        }
    }
}

/// What a refused caller is told.
pub(crate) fn told(refused: JobRefused) -> StorageError {
    match refused {
        JobRefused::Full => StorageError::Busy,
        JobRefused::Closed => StorageError::Unwritable("the storage is closed".to_owned()),
    }
}
