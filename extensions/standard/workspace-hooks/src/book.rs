//! The book that runs are kept in: every change is one step that happens whole or not at all.

pub(crate) mod memory;
mod run;
mod shelf;
pub(crate) mod sql;
pub(crate) mod tables;

pub(crate) use run::{Doubt, Facts, Key, Run, StoredFile};
pub(crate) use shelf::{Shelf, Write, WriteState};

use crate::contract::{RunQuery, RunsError};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::storage::{Durability, StorageError};
use std::sync::{Arc, Mutex, PoisonError};

/// One step: everything in it is stored, or nothing.
pub(crate) type Step = Box<dyn FnOnce(&mut dyn Shelf) -> Result<(), BookError> + Send>;

/// How far somebody has read the changes of a workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) version: u64,
    pub(crate) number: u64,
}

/// Numbers over the runs of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) running: u64,
    pub(crate) waiting: u64,
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    /// From queued to ended, of the last runs.
    pub(crate) latencies_ms: Vec<u64>,
}

/// The book. Steps change it; everything else looks at what is stored.
pub(crate) trait Book: Send + Sync {
    fn step(&self, durability: Durability, work: Step) -> BoxFuture<'_, Result<(), BookError>>;
    /// The hooks of a workspace that have a run waiting.
    fn hooks_waiting<'a>(&'a self, workspace: &'a str) -> BoxFuture<'a, Result<Vec<String>, BookError>>;
    /// The first waiting runs of a hook by the time they are due, without those whose key runs.
    fn heads<'a>(&'a self, workspace: &'a str, hook: &'a str, limit: u32)
    -> BoxFuture<'a, Result<Vec<Run>, BookError>>;
    /// Every run of a workspace that goes.
    fn running<'a>(&'a self, workspace: &'a str) -> BoxFuture<'a, Result<Vec<Run>, BookError>>;
    /// Every owner of a run that goes, in whatever workspace.
    fn holders(&self) -> BoxFuture<'_, Result<Vec<String>, BookError>>;
    /// Whether anything of a workspace waits or goes.
    fn is_busy<'a>(&'a self, workspace: &'a str) -> BoxFuture<'a, Result<bool, BookError>>;
    /// Runs whose id starts so, at most two; one whose id is exactly that alone.
    fn named<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Vec<Run>, BookError>>;
    /// What a run printed.
    fn output(&self, number: u64) -> BoxFuture<'_, Result<Option<String>, BookError>>;
    /// Runs, newest first; those whose output, facts or reason could hold the text, if one is asked for.
    fn list<'a>(
        &'a self,
        query: &'a RunQuery,
        before: Option<u64>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<Run>, BookError>>;
    /// Runs of a workspace that changed behind a place, in the order they changed.
    fn changed<'a>(&'a self, workspace: &'a str, after: Place) -> BoxFuture<'a, Result<Vec<Run>, BookError>>;
    /// The place of the last change.
    fn last_place(&self) -> BoxFuture<'_, Result<Place, BookError>>;
    /// Numbers; those of the day since the given time.
    fn tally<'a>(&'a self, workspace: &'a str, day_from_ms: u64) -> BoxFuture<'a, Result<Tally, BookError>>;
    /// When an owner was last heard of.
    fn heard<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Option<u64>, BookError>>;
}

/// Runs one durable step that gives a value.
pub(crate) async fn step<T: Send + 'static>(
    book: &dyn Book,
    work: impl FnOnce(&mut dyn Shelf) -> Result<T, BookError> + Send + 'static,
) -> Result<T, BookError> {
    step_with(book, Durability::Disk, work).await
}

/// Runs one step that gives a value, as durable as asked.
pub(crate) async fn step_with<T: Send + 'static>(
    book: &dyn Book,
    durability: Durability,
    work: impl FnOnce(&mut dyn Shelf) -> Result<T, BookError> + Send + 'static,
) -> Result<T, BookError> {
    let slot = Arc::new(Mutex::new(None));
    let inner = Arc::clone(&slot);
    let done = book.step(
        durability,
        Box::new(move |shelf| {
            let value = work(shelf)?;
            *inner.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
            Ok(())
        }),
    );
    done.await?;
    let value = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    value.ok_or_else(|| BookError::Storage("the step did not run".to_owned()))
}

/// Why the book refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BookError {
    /// The run is not ours any more.
    #[error("the run was taken over by another process")]
    Fenced,
    /// Somebody asked for what cannot be done.
    #[error(transparent)]
    Refused(#[from] RunsError),
    /// Storage failed.
    #[error("{0}")]
    Storage(String),
}

impl From<StorageError> for BookError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error.to_string())
    }
}

impl From<BookError> for RunsError {
    fn from(error: BookError) -> Self {
        match error {
            BookError::Refused(refused) => refused,
            other => Self::Storage(other.to_string()),
        }
    }
}
