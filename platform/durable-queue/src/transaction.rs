//! Transactions that give a value of any type and refuse with any error, over a store that knows only records.

use dispatch_contracts::storage::{Durability, Storage, StorageError, Transaction};
use std::sync::{Arc, Mutex, PoisonError};

/// Runs one transaction that outlives a power cut once it is answered.
///
/// # Errors
/// What `work` refused with, or what storage failed with. In both cases everything is rolled back.
pub async fn transact<T, E>(
    storage: &dyn Storage,
    work: impl FnOnce(&mut dyn Transaction) -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<StorageError> + Send + 'static,
{
    transact_with(storage, Durability::Disk, work).await
}

/// The same, durable at least as far as is asked for.
///
/// # Errors
/// What `work` refused with, or what storage failed with. In both cases everything is rolled back.
pub async fn transact_with<T, E>(
    storage: &dyn Storage,
    durability: Durability,
    work: impl FnOnce(&mut dyn Transaction) -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<StorageError> + Send + 'static,
{
    let slot = Arc::new(Mutex::new(None));
    let inner = Arc::clone(&slot);
    let run = move |tx: &mut dyn Transaction| {
        let outcome = work(tx);
        let answer = match outcome {
            Ok(_) => Ok(Vec::new()),
            Err(_) => Err(StorageError::GivenUp("the transaction was refused".to_owned())),
        };
        *inner.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        answer
    };
    let committed = storage.transact_with(durability, Box::new(run)).await;
    let outcome = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (outcome, committed) {
        (Some(Err(refused)), _) => Err(refused),
        (_, Err(error)) => Err(error.into()),
        (Some(Ok(value)), Ok(_)) => Ok(value),
        (None, Ok(_)) => Err(StorageError::GivenUp("the transaction did not run".to_owned()).into()),
    }
}
