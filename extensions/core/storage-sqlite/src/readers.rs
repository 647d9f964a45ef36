//! A few threads that read, each with a connection of its own: made when they are needed, gone when
//! they are not.

use crate::database::{Database, Purpose};
use crate::place::Place;
use crate::queue::{Queue, Refused, Taken};
use crate::writer::{Answer, Errand};
use dispatch_contracts::storage::StorageError;
use futures_channel::oneshot::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The most readers.
pub(crate) const READER_LIMIT: usize = 4;
/// The most reads that wait.
pub(crate) const QUEUE_LIMIT: usize = 4 * 1024;
/// A reader that has had nothing to do for so long gives its memory back.
const PATIENCE: Duration = Duration::from_secs(20);

/// A read and whom to answer.
struct Read {
    errand: Errand,
    reply: Sender<Answer>,
}

/// The readers of one file.
pub(crate) struct Readers {
    place: Place,
    queue: Arc<Queue<Read>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Readers {
    pub(crate) fn new(place: Place) -> Self {
        Self { place, queue: Arc::new(Queue::new(QUEUE_LIMIT)), threads: Mutex::default() }
    }

    /// Hands a read to whoever is free.
    pub(crate) fn submit(&self, errand: Errand, reply: Sender<Answer>) -> Result<(), StorageError> {
        let mut threads = self.threads();
        let free = self.queue.push(Read { errand, reply }).map_err(told)?;
        if free > 0 {
            return Ok(());
        }
        threads.retain(|thread| !thread.is_finished());
        if threads.len() < READER_LIMIT {
            let (place, queue) = (self.place.clone(), Arc::clone(&self.queue));
            let started =
                std::thread::Builder::new().name("storage-reader".to_owned()).spawn(move || serve(&place, &queue));
            match started {
                Ok(thread) => threads.push(thread),
                Err(error) if threads.is_empty() => {
                    return Err(StorageError::Unwritable(format!("no thread could be started: {error}")));
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Takes no more reads, finishes those that wait, and ends the threads.
    pub(crate) fn close(&self) {
        self.queue.close();
        let threads = std::mem::take(&mut *self.threads());
        for thread in threads.into_iter().filter(|thread| thread.thread().id() != std::thread::current().id()) {
            _ = thread.join();
        }
    }

    fn threads(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a refused caller is told.
pub(crate) fn told(refused: Refused) -> StorageError {
    match refused {
        Refused::Full => StorageError::Busy,
        Refused::Closed => StorageError::Unwritable("the storage is closed".to_owned()),
    }
}

fn serve(place: &Place, queue: &Queue<Read>) {
    let mut database = None;
    loop {
        let jobs = match queue.take(1, Some(PATIENCE)) {
            Taken::Jobs(jobs) => jobs,
            Taken::Idle | Taken::Closed => return,
        };
        for Read { errand, reply } in jobs.into_iter().filter(|read| !read.reply.is_canceled()) {
            let opened = match database.take() {
                Some(opened) => Ok(opened),
                None => Database::open(place, Purpose::Read),
            };
            let answer = opened.and_then(|opened| {
                let answer = opened.refresh().and_then(|()| errand(&opened));
                // A connection that met damage or a lost file is not used again.
                if !matches!(answer, Err(StorageError::Corrupt(_) | StorageError::Unwritable(_))) {
                    database = Some(opened);
                }
                answer
            });
            _ = reply.send(answer);
        }
    }
}
