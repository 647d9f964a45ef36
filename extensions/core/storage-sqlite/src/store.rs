//! The backend and its stores: the storage contract on top of one writer and a few readers, or of a database in memory.

mod values;

use crate::contract::Location;
use crate::database::{BUSY_WAIT, ConnectionPurpose, Database};
use crate::guard::NamespaceScope;
use crate::in_memory::InMemory;
use crate::job_queue::JobQueue;
use crate::late_words::renew_triggers;
use crate::layout::{self, FoundDatabase};
use crate::readers::{Readers, told};
use crate::resolved_location::ResolvedLocation;
use crate::word_index;
use crate::writer::{self, DatabaseJob, StorageAnswer, WriteJob, WriteTask, WriterJob};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::migration::Migration;
use dispatch_contracts::storage::{
    Columns as _, Durability, Keys, Record, Statement, Storage, StorageBackend, StorageError, TransactionWork,
    WordSearch,
};
use dispatch_os::Deadline;
use dispatch_os::threads::{JoinHandle, is_current, sleep, spawn};
use futures_channel::oneshot::{Sender, channel};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const OPENING_PAUSE: Duration = Duration::from_millis(5);

/// The columns of each table, by its name.
type TableColumns = BTreeMap<String, Vec<String>>;

/// One database, opened. Its threads end when the last store of it is gone.
pub struct SqliteBackend {
    threads: Arc<DatabaseThreads>,
}

impl SqliteBackend {
    /// Opens a database, and makes it if it is missing.
    pub fn open(location: &Location) -> Result<Self, StorageError> {
        let place = ResolvedLocation::prepare(location)?;
        let (database, found) = open_patiently(&place)?;
        Ok(Self { threads: Arc::new(DatabaseThreads::start(place, database, found)?) })
    }

    /// Finishes what was asked for, folds the log into the file and closes it. Stores that are still
    /// around are refused from now on.
    pub fn close(&self) {
        self.threads.close();
    }

    /// The columns of each table that migrations made, and all namespaces. Indexes of words are left out: they follow
    /// their tables.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn tables(&self) -> Result<(TableColumns, Vec<String>), StorageError> {
        let columns = self.threads.read(layout::columns()).await?;
        let mut tables = TableColumns::new();
        for record in &columns {
            tables.entry(record.text(0)?.to_owned()).or_default().push(record.text(1)?.to_owned());
        }
        let namespaces = self.threads.read(layout::namespaces()).await?;
        let namespaces = namespaces.iter().map(|record| record.text(0).map(str::to_owned));
        Ok((tables, namespaces.collect::<Result<_, _>>()?))
    }

    fn store(&self, namespaces: Vec<String>) -> Arc<dyn Storage> {
        let scope = self.threads.scope(namespaces);
        Arc::new(SqliteStore { threads: Arc::clone(&self.threads), scope })
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

    fn delete_namespace<'a>(&'a self, namespace: &'a str) -> BoxFuture<'a, Result<usize, StorageError>> {
        let namespace = namespace.to_owned();
        Box::pin(async move {
            let deleted = self.threads.ask(|threads, reply| threads.push(WriterJob::Delete(namespace, reply))).await?;
            Ok(deleted.len())
        })
    }

    fn versions(&self) -> BoxFuture<'_, Result<BTreeMap<String, u32>, StorageError>> {
        Box::pin(async move {
            let found = self.threads.read(layout::versions()).await?;
            let version =
                |record: &Record| Ok((record.text(0)?.to_owned(), record.text(1)?.parse().unwrap_or(u32::MAX)));
            found.iter().map(version).collect()
        })
    }
}

/// Two processes that begin a log at the same moment are told at once that it is busy, without the
/// wait that is set for everything else.
fn open_patiently(place: &ResolvedLocation) -> Result<(Database, FoundDatabase), StorageError> {
    let deadline = Deadline::after(BUSY_WAIT);
    loop {
        let opened = Database::open(place, ConnectionPurpose::Write).and_then(|database| {
            let found = layout::establish(&database)?;
            renew_triggers(&database)?;
            Ok((database, found))
        });
        match opened {
            Err(StorageError::Busy) if !deadline.expired() => sleep(OPENING_PAUSE),
            other => return other,
        }
    }
}

/// The threads of one database.
struct DatabaseThreads {
    work: DatabaseWork,
    scopes: Mutex<BTreeMap<Vec<String>, Arc<NamespaceScope>>>,
}

/// Where work is done.
enum DatabaseWork {
    /// On threads of its own, which wait for the disk.
    OnThreads { queue: Arc<JobQueue<WriterJob>>, writer: Mutex<Option<JoinHandle<()>>>, readers: Readers },
    /// In memory, where nothing waits for a disk: on the thread that asks.
    AtOnce(InMemory),
}

impl DatabaseThreads {
    fn start(place: ResolvedLocation, database: Database, found: FoundDatabase) -> Result<Self, StorageError> {
        let scopes = Mutex::default();
        if matches!(place, ResolvedLocation::Memory) {
            return Ok(Self { work: DatabaseWork::AtOnce(InMemory::new(database, found)), scopes });
        }
        let queue = Arc::new(JobQueue::new(writer::QUEUE_LIMIT));
        let jobs = Arc::clone(&queue);
        let writer = spawn("storage-writer", move || writer::serve(&database, found, &jobs))
            .map_err(|error| StorageError::Unwritable(format!("cannot start a thread: {error}")))?;
        let (writer, readers) = (Mutex::new(Some(writer)), Readers::new(place));
        Ok(Self { work: DatabaseWork::OnThreads { queue, writer, readers }, scopes })
    }

    /// One scope per set of namespaces, so that its statements are compiled once.
    fn scope(&self, namespaces: Vec<String>) -> Arc<NamespaceScope> {
        let mut scopes = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        let mark = format!("/*{}*/ ", scopes.len());
        let made = || Arc::new(NamespaceScope { mark, namespaces: namespaces.clone() });
        Arc::clone(scopes.entry(namespaces.clone()).or_insert_with(made))
    }

    /// Asks one of the threads, and waits for its answer.
    async fn ask(
        &self,
        submit: impl FnOnce(&Self, Sender<StorageAnswer>) -> Result<(), StorageError>,
    ) -> StorageAnswer {
        let (reply, answer) = channel();
        submit(self, reply)?;
        answer.await.unwrap_or_else(|_| Err(StorageError::Unwritable("the storage has stopped".to_owned())))
    }

    async fn write(&self, task: WriteTask, durability: Durability) -> StorageAnswer {
        self.ask(|threads, reply| threads.push(WriterJob::Write(WriteJob { task, durability, reply }))).await
    }

    async fn read(&self, job: DatabaseJob) -> StorageAnswer {
        self.ask(|threads, reply| match &threads.work {
            DatabaseWork::OnThreads { readers, .. } => readers.submit(job, reply),
            DatabaseWork::AtOnce(_) => threads.push(WriterJob::Read(job, reply)),
        })
        .await
    }

    fn push(&self, job: WriterJob) -> Result<(), StorageError> {
        match &self.work {
            DatabaseWork::OnThreads { queue, .. } => queue.push(job).map(drop).map_err(told),
            DatabaseWork::AtOnce(memory) => memory.serve(job).map_err(told),
        }
    }

    fn close(&self) {
        let (queue, writer, readers) = match &self.work {
            DatabaseWork::OnThreads { queue, writer, readers } => (queue, writer, readers),
            DatabaseWork::AtOnce(memory) => return memory.close(),
        };
        readers.close();
        queue.close();
        let writer = writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The last store may be dropped by a work, and a thread cannot wait for itself.
        if let Some(writer) = writer.filter(|writer| !is_current(writer)) {
            _ = writer.join();
        }
    }
}

impl Drop for DatabaseThreads {
    fn drop(&mut self) {
        self.close();
    }
}

/// The store of one namespace, and of those joined to it.
struct SqliteStore {
    threads: Arc<DatabaseThreads>,
    scope: Arc<NamespaceScope>,
}

impl SqliteStore {
    fn namespace(&self) -> String {
        self.scope.namespaces.first().cloned().unwrap_or_default()
    }
}

impl Storage for SqliteStore {
    fn migrate(&self, migrations: Vec<Migration>) -> BoxFuture<'_, Result<(), StorageError>> {
        Box::pin(async move {
            let namespace = self.namespace();
            self.threads
                .ask(|threads, reply| threads.push(WriterJob::Migrate(namespace, migrations, reply)))
                .await
                .map(drop)
        })
    }

    fn query(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        let scope = Arc::clone(&self.scope);
        Box::pin(self.threads.read(Box::new(move |database| database.look(&scope, &statement))))
    }

    fn search(&self, search: WordSearch) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        match word_index::question(&search) {
            Ok(Some(statement)) => self.query(statement),
            Ok(None) => Box::pin(std::future::ready(Ok(Vec::new()))),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn transact(&self, keys: Keys, work: TransactionWork) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        self.transact_with(keys, Durability::Disk, work)
    }

    fn transact_with(
        &self,
        keys: Keys,
        durability: Durability,
        work: TransactionWork,
    ) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        Box::pin(self.threads.write(WriteTask::Scoped(Arc::clone(&self.scope), keys, work), durability))
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StorageError>> {
        Box::pin(async move {
            let found = self.threads.read(values::get(self.namespace(), key)).await?;
            Ok(values::blobs(found).pop())
        })
    }

    fn put<'a>(&'a self, key: &'a str, value: Option<Vec<u8>>) -> BoxFuture<'a, Result<(), StorageError>> {
        Box::pin(async move {
            let job = values::put(self.namespace(), key, value)?;
            self.threads.write(WriteTask::Backend(job), Durability::Disk).await.map(drop)
        })
    }

    fn keys<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, StorageError>> {
        Box::pin(async move {
            let found = self.threads.read(values::keys(self.namespace(), prefix)).await?;
            let text = |key: Vec<u8>| String::from_utf8(key).ok();
            Ok(values::blobs(found).into_iter().filter_map(text).collect())
        })
    }
}
