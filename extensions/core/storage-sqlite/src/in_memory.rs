//! A database in memory, whose work is done by whoever asks for it, one after the other.

use crate::database::Database;
use crate::job_queue::JobRefused;
use crate::layout::FoundDatabase;
use crate::writer::{WriterJob, serve_one};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The database and what was found in it.
pub(crate) struct InMemory {
    open: Mutex<(Database, FoundDatabase)>,
    closed: AtomicBool,
}

impl InMemory {
    pub(crate) fn new(database: Database, found: FoundDatabase) -> Self {
        Self { open: Mutex::new((database, found)), closed: AtomicBool::new(false) }
    }

    /// Does a job, and has answered it then.
    pub(crate) fn serve(&self, job: WriterJob) -> Result<(), JobRefused> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(JobRefused::Closed);
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (database, found) = &mut *open;
        serve_one(database, found, job);
        Ok(())
    }

    /// Takes no more jobs. It takes no lock: the last store may be dropped by a work.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }
}
