//! Remembers which extensions were switched off, across restarts.

use crate::bus::isolate::{TimeLimit, isolate};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::fault::Disabled;
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::ports::Clock;
use futures_util::lock::Mutex as Turnstile;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How long the store may take to read or write the list.
pub const DISABLED_STORE_TIMEOUT_MS: u64 = 5_000;

/// Where the list of disabled extensions is kept.
pub trait DisabledStore: Send + Sync {
    /// Reads the list; an empty one when there is none yet.
    fn load(&self) -> BoxFuture<'_, Result<Vec<Disabled>, DisabledStoreError>>;
    /// Replaces the list.
    fn save<'a>(&'a self, disabled: &'a [Disabled]) -> BoxFuture<'a, Result<(), DisabledStoreError>>;
}

/// Why the list could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read or write the list of disabled extensions: {0}")]
pub struct DisabledStoreError(pub String);

/// Keeps the list for as long as the process lives: for tests and `--minimal`.
#[derive(Debug, Default)]
pub struct MemoryDisabledStore {
    list: Mutex<Vec<Disabled>>,
}

impl DisabledStore for MemoryDisabledStore {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Disabled>, DisabledStoreError>> {
        Box::pin(std::future::ready(Ok(lock(&self.list).clone())))
    }

    fn save<'a>(&'a self, disabled: &'a [Disabled]) -> BoxFuture<'a, Result<(), DisabledStoreError>> {
        *lock(&self.list) = disabled.to_vec();
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Forgets that an extension was disabled, without starting anything; it starts at the next boot.
/// Answers whether it was disabled.
pub async fn enable(store: &dyn DisabledStore, extension: &ExtensionId) -> Result<bool, DisabledStoreError> {
    let mut list = store.load().await?;
    let before = list.len();
    list.retain(|disabled| &disabled.extension != extension);
    if list.len() == before {
        return Ok(false);
    }
    store.save(&list).await?;
    Ok(true)
}

/// Notes that an extension is switched off, without stopping anything; it stays off from the next boot on. Answers
/// whether it was on.
pub async fn disable(store: &dyn DisabledStore, disabled: Disabled) -> Result<bool, DisabledStoreError> {
    let mut list = store.load().await?;
    if list.iter().any(|known| known.extension == disabled.extension) {
        return Ok(false);
    }
    list.push(disabled);
    store.save(&list).await?;
    Ok(true)
}

/// The list in memory, and the one writer of the store.
pub(crate) struct DisabledList {
    store: Arc<dyn DisabledStore>,
    clock: Arc<dyn Clock>,
    list: Mutex<Vec<Disabled>>,
    unsaved: AtomicBool,
    /// Only one write at a time, so that an older list never replaces a newer one.
    writing: Turnstile<()>,
}

impl DisabledList {
    pub(crate) fn new(store: Arc<dyn DisabledStore>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, list: Mutex::default(), unsaved: AtomicBool::new(false), writing: Turnstile::new(()) }
    }

    pub(crate) async fn load(&self) -> Result<(), DisabledStoreError> {
        let limit = TimeLimit::Ms(DISABLED_STORE_TIMEOUT_MS);
        let loaded = isolate(self.clock.as_ref(), limit, || self.store.load()).await;
        *lock(&self.list) = loaded.map_err(|failure| DisabledStoreError(failure.message))?;
        Ok(())
    }

    /// Reads what other processes wrote meanwhile.
    pub(crate) async fn reload(&self) -> Result<(), DisabledStoreError> {
        self.save_changes().await?;
        self.load().await
    }

    pub(crate) fn find(&self, extension: &ExtensionId) -> Option<Disabled> {
        lock(&self.list).iter().find(|disabled| &disabled.extension == extension).cloned()
    }

    pub(crate) fn add(&self, disabled: Disabled) {
        let mut list = lock(&self.list);
        list.retain(|known| known.extension != disabled.extension);
        list.push(disabled);
        self.unsaved.store(true, Ordering::Release);
    }

    pub(crate) fn remove(&self, extension: &ExtensionId) {
        let mut list = lock(&self.list);
        list.retain(|known| &known.extension != extension);
        self.unsaved.store(true, Ordering::Release);
    }

    /// Writes the list as it is when the writing begins, unless it is written already.
    pub(crate) async fn save_changes(&self) -> Result<(), DisabledStoreError> {
        let _turn = self.writing.lock().await;
        if !self.unsaved.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let list = lock(&self.list).clone();
        let limit = TimeLimit::Ms(DISABLED_STORE_TIMEOUT_MS);
        let saved = isolate(self.clock.as_ref(), limit, || self.store.save(&list)).await;
        saved.map_err(|failure| {
            self.unsaved.store(true, Ordering::Release);
            DisabledStoreError(failure.message)
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
