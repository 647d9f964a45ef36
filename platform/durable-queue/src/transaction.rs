//! Transactions that give a value of any type and refuse with any error, over a store that knows only records.

use dispatch_contracts::storage::{Durability, Keys, Storage, StorageError, Transaction};
use std::sync::{Arc, Mutex, PoisonError};

/// Runs one transaction that holds these keys and outlives a power cut once it is answered.
///
/// # Errors
/// What `work` refused with, or what storage failed with. In both cases everything is rolled back.
pub async fn transact<T, E>(
    storage: &dyn Storage,
    keys: Keys,
    work: impl FnOnce(&mut dyn Transaction) -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<StorageError> + Send + 'static,
{
    transact_with(storage, keys, Durability::Disk, work).await
}

/// The same, durable at least as far as is asked for.
///
/// # Errors
/// What `work` refused with, or what storage failed with. In both cases everything is rolled back.
pub async fn transact_with<T, E>(
    storage: &dyn Storage,
    keys: Keys,
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
    let committed = storage.transact_with(keys, durability, Box::new(run)).await;
    let outcome = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (outcome, committed) {
        (Some(Err(refused)), _) => Err(refused),
        (_, Err(error)) => Err(error.into()),
        (Some(Ok(value)), Ok(_)) => Ok(value),
        (None, Ok(_)) => Err(StorageError::GivenUp("the transaction did not run".to_owned()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_contracts::migration::Migration;
    use dispatch_contracts::statement;
    use dispatch_contracts::storage::StorageBackend;
    use dispatch_sim::{FaultyStore, SeededRandom, Sim, StoreFaults, wait};
    use ext_storage_sqlite::contract::{Location, SqliteBackend};
    use std::sync::atomic::AtomicBool;

    const TABLE: &[Migration] = &[Migration::new(1, "numbers", &["CREATE TABLE numbers (number INTEGER NOT NULL)"])];

    #[derive(Debug, PartialEq)]
    enum InsertError {
        Refused,
        Storage(StorageError),
    }

    impl From<StorageError> for InsertError {
        fn from(error: StorageError) -> Self {
            Self::Storage(error)
        }
    }

    fn numbers() -> Arc<dyn Storage> {
        let storage = StorageBackend::open(&SqliteBackend::open(&Location::Memory).unwrap(), "numbers");
        wait(storage.migrate(TABLE.to_vec())).unwrap();
        storage
    }

    fn insert(number: u64) -> impl FnOnce(&mut dyn Transaction) -> Result<u64, InsertError> + Send {
        move |tx| {
            tx.execute(&statement!("INSERT INTO numbers (number) VALUES (?1)", number))?;
            if number == 0 { Err(InsertError::Refused) } else { Ok(number) }
        }
    }

    fn count(storage: &dyn Storage) -> usize {
        wait(storage.query(statement!("SELECT number FROM numbers"))).unwrap().len()
    }

    #[test]
    fn a_value_is_handed_out_and_a_refusal_rolls_back() {
        let storage = numbers();
        assert_eq!(wait(transact(storage.as_ref(), Keys::Everything, insert(7))), Ok(7));
        assert_eq!(wait(transact(storage.as_ref(), Keys::Everything, insert(0))), Err(InsertError::Refused));
        assert_eq!(count(storage.as_ref()), 1);
    }

    #[test]
    fn a_value_of_a_transaction_that_was_not_committed_is_not_handed_out() {
        let (storage, sim) = (numbers(), Sim::new(1));
        let faults = StoreFaults {
            clock: sim.clock(),
            random: Arc::new(SeededRandom::new(1)),
            frozen: Arc::default(),
            fails: Arc::new(AtomicBool::new(true)),
            loses_answers: Arc::default(),
        };
        let inner = Arc::new(dispatch_sim::InlineStore(Arc::clone(&storage)));
        let faulty = FaultyStore { inner, faults };
        let answers: Vec<_> = (1..=100)
            .map(|number| sim.block_on(transact(&faulty, Keys::Everything, insert(number))).unwrap())
            .collect();
        let failed = |answer: &&Result<u64, InsertError>| matches!(answer, Err(InsertError::Storage(_)));
        assert!(answers.iter().any(|answer| failed(&answer)), "no fault struck");
        assert_eq!(count(storage.as_ref()), answers.iter().filter(|answer| answer.is_ok()).count());
    }
}
