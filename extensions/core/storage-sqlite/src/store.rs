//! The backend and its stores: the storage contract on top of one writer and a few readers.

mod values;

use crate::bookkeeping::{self, Found};
use crate::contract::Location;
use crate::database::{BUSY_WAIT, Database, Purpose};
use crate::guard::Scope;
use crate::place::Place;
use crate::queue::Queue;
use crate::readers::{Readers, told};
use crate::writer::{self, Answer, Errand, Job, Task, Work};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::migration::Migration;
use dispatch_contracts::storage::{
    Durability, Record, Statement, Storage, StorageBackend, StorageError, TransactionWork,
};
use dispatch_os::Deadline;
use futures_channel::oneshot::{Sender, channel};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

const OPENING_PAUSE: Duration = Duration::from_millis(5);

/// One database, opened. Its threads end when the last store of it is gone.
pub struct SqliteBackend {
    engine: Arc<Engine>,
}

impl SqliteBackend {
    /// Opens a database, and makes it if it is missing.
    pub fn open(location: &Location) -> Result<Self, StorageError> {
        let place = Place::prepare(location)?;
        let (database, found) = open_patiently(&place)?;
        Ok(Self { engine: Arc::new(Engine::start(place, database, found)?) })
    }

    /// Finishes what was asked for, folds the log into the file and closes it. Stores that are still
    /// around are refused from now on.
    pub fn close(&self) {
        self.engine.close();
    }

    fn store(&self, namespaces: Vec<String>) -> Arc<dyn Storage> {
        let scope = self.engine.scope(namespaces);
        Arc::new(Store { engine: Arc::clone(&self.engine), scope })
    }
}

impl StorageBackend for SqliteBackend {
    fn open(&self, namespace: &str) -> Arc<dyn Storage> {
        self.store(vec![namespace.to_owned()])
    }

    fn open_joined(&self, namespace: &str, others: &[&str]) -> Arc<dyn Storage> {
        let others = others.iter().filter(|other| **other != namespace);
        self.store([namespace].iter().chain(others).map(|name| (*name).to_owned()).collect())
    }
}

/// Two processes that begin a log at the same moment are told at once that it is busy, without the
/// wait that is set for everything else.
fn open_patiently(place: &Place) -> Result<(Database, Found), StorageError> {
    let deadline = Deadline::after(BUSY_WAIT);
    loop {
        let opened = Database::open(place, Purpose::Write).and_then(|database| {
            let found = bookkeeping::establish(&database)?;
            Ok((database, found))
        });
        match opened {
            Err(StorageError::Busy) if !deadline.expired() => std::thread::sleep(OPENING_PAUSE),
            other => return other,
        }
    }
}

/// The threads of one database.
struct Engine {
    place: Place,
    queue: Arc<Queue<Job>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    readers: Readers,
    scopes: Mutex<BTreeMap<Vec<String>, Arc<Scope>>>,
}

impl Engine {
    fn start(place: Place, database: Database, found: Found) -> Result<Self, StorageError> {
        let queue = Arc::new(Queue::new(writer::QUEUE_LIMIT));
        let jobs = Arc::clone(&queue);
        let writer = std::thread::Builder::new()
            .name("storage-writer".to_owned())
            .spawn(move || writer::serve(&database, found, &jobs))
            .map_err(|error| StorageError::Unwritable(format!("no thread could be started: {error}")))?;
        let readers = Readers::new(place.clone());
        Ok(Self { place, queue, writer: Mutex::new(Some(writer)), readers, scopes: Mutex::default() })
    }

    /// One scope per set of namespaces, so that its statements are compiled once.
    fn scope(&self, namespaces: Vec<String>) -> Arc<Scope> {
        let mut scopes = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        let mark = format!("/*{}*/ ", scopes.len());
        let made = || Arc::new(Scope { mark, namespaces: namespaces.clone() });
        Arc::clone(scopes.entry(namespaces.clone()).or_insert_with(made))
    }

    /// Asks one of the threads, and waits for its answer.
    async fn ask(&self, submit: impl FnOnce(&Self, Sender<Answer>) -> Result<(), StorageError>) -> Answer {
        let (reply, answer) = channel();
        submit(self, reply)?;
        answer.await.unwrap_or_else(|_| Err(StorageError::Unwritable("the storage stopped".to_owned())))
    }

    async fn write(&self, task: Task, durability: Durability) -> Answer {
        self.ask(|engine, reply| engine.push(Job::Write(Work { task, durability, reply }))).await
    }

    async fn read(&self, errand: Errand) -> Answer {
        self.ask(|engine, reply| match engine.place {
            Place::File(_) => engine.readers.submit(errand, reply),
            Place::Memory => engine.push(Job::Read(errand, reply)),
        })
        .await
    }

    fn push(&self, job: Job) -> Result<(), StorageError> {
        self.queue.push(job).map(drop).map_err(told)
    }

    fn close(&self) {
        self.readers.close();
        self.queue.close();
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The last store may be dropped by a work, and a thread cannot wait for itself.
        if let Some(writer) = writer.filter(|writer| writer.thread().id() != std::thread::current().id()) {
            _ = writer.join();
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.close();
    }
}

/// The store of one namespace, and of those joined to it.
struct Store {
    engine: Arc<Engine>,
    scope: Arc<Scope>,
}

impl Store {
    fn namespace(&self) -> String {
        self.scope.namespaces.first().cloned().unwrap_or_default()
    }
}

impl Storage for Store {
    fn migrate(&self, migrations: Vec<Migration>) -> BoxFuture<'_, Result<(), StorageError>> {
        Box::pin(async move {
            let namespace = self.namespace();
            self.engine.ask(|engine, reply| engine.push(Job::Migrate(namespace, migrations, reply))).await.map(drop)
        })
    }

    fn query(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        let scope = Arc::clone(&self.scope);
        Box::pin(self.engine.read(Box::new(move |database| database.look(&scope, &statement))))
    }

    fn transact(&self, work: TransactionWork) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        self.transact_with(Durability::Disk, work)
    }

    fn transact_with(
        &self,
        durability: Durability,
        work: TransactionWork,
    ) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        Box::pin(self.engine.write(Task::Scoped(Arc::clone(&self.scope), work), durability))
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StorageError>> {
        Box::pin(async move {
            let found = self.engine.read(values::get(self.namespace(), key)).await?;
            Ok(values::blobs(found).pop())
        })
    }

    fn put<'a>(&'a self, key: &'a str, value: Option<Vec<u8>>) -> BoxFuture<'a, Result<(), StorageError>> {
        Box::pin(async move {
            let errand = values::put(self.namespace(), key, value)?;
            self.engine.write(Task::Errand(errand), Durability::Disk).await.map(drop)
        })
    }

    fn keys<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, StorageError>> {
        Box::pin(async move {
            let found = self.engine.read(values::keys(self.namespace(), prefix)).await?;
            let text = |key: Vec<u8>| String::from_utf8(key).ok();
            Ok(values::blobs(found).into_iter().filter_map(text).collect())
        })
    }
}
