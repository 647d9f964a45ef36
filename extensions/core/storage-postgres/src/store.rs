//! The backend and its stores: the storage contract on top of a few threads with a connection each.

use crate::connection::{Connection, ConnectionShared};
use crate::contract::DatabaseAddress;
use crate::deletion::delete_namespace;
use crate::layout;
use crate::migrate::migrate;
use crate::notices::Notices;
use crate::sql::StatementUse;
use crate::transaction::transact;
use crate::word_search;
use crate::workers::Workers;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::migration::Migration;
use dispatch_contracts::storage::{
    Columns, Durability, Keys, Record, SqlValue, Statement, Storage, StorageBackend, StorageError, TransactionWork,
    WordSearch,
};
use futures_channel::oneshot::channel;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

/// The longest key.
const MAX_KEY_BYTES: usize = 1024;

/// The columns of each table, by its name.
type TableColumns = BTreeMap<String, Vec<String>>;

/// One database, opened. Its threads end when the last store of it is gone.
pub struct PostgresBackend {
    threads: Arc<BackendThreads>,
}

struct BackendThreads {
    shared: Arc<ConnectionShared>,
    workers: Workers,
    notices: Notices,
}

impl PostgresBackend {
    /// Opens a database, and makes our tables in it if it is empty.
    ///
    /// # Errors
    /// When it cannot be reached, is not ours or is newer than this program.
    pub fn open(address: &DatabaseAddress) -> Result<Self, StorageError> {
        let shared = Arc::new(ConnectionShared::new(address.clone())?);
        let mut connection = Connection::new(Arc::clone(&shared));
        let open = connection.open()?;
        let schema = layout::establish(open)?;
        let owners = layout::owners(open)?;
        shared.schema.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&schema);
        shared.learn_owners(owners);
        let notices = Notices::new(Arc::clone(&shared));
        Ok(Self { threads: Arc::new(BackendThreads { workers: Workers::new(Arc::clone(&shared)), shared, notices }) })
    }

    /// Finishes what was asked for and closes the connections. Stores that are still around are refused from now on.
    pub fn close(&self) {
        self.threads.workers.close();
        self.threads.notices.close();
    }

    /// The columns of each table that migrations made, and all namespaces.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn tables(&self) -> Result<(TableColumns, Vec<String>), StorageError> {
        let mut connection = Connection::new(Arc::clone(&self.threads.shared));
        let open = connection.open()?;
        let mut tables = TableColumns::new();
        for record in layout::query(open, layout::COLUMNS, &[])? {
            tables.entry(record.text(0)?.to_owned()).or_default().push(record.text(1)?.to_owned());
        }
        let namespaces = layout::query(open, layout::NAMESPACES, &[])?;
        let namespaces = namespaces.iter().map(|record| record.text(0).map(str::to_owned));
        Ok((tables, namespaces.collect::<Result<_, _>>()?))
    }

    fn store(&self, namespaces: Vec<String>) -> Arc<dyn Storage> {
        Arc::new(PostgresStore { threads: Arc::clone(&self.threads), namespaces: namespaces.into() })
    }

    /// A store for statements of the backend's own.
    fn backend_store(&self) -> PostgresStore {
        PostgresStore { threads: Arc::clone(&self.threads), namespaces: Arc::from([]) }
    }
}

impl StorageBackend for PostgresBackend {
    fn open(&self, namespace: &str) -> Arc<dyn Storage> {
        self.store(vec![namespace.to_owned()])
    }

    fn open_joined(&self, namespace: &str, others: &[&str]) -> Arc<dyn Storage> {
        let others = others.iter().filter(|other| **other != namespace);
        self.store([namespace].iter().chain(others).map(|name| (*name).to_owned()).collect())
    }

    fn delete_namespace<'a>(&'a self, namespace: &'a str) -> BoxFuture<'a, Result<usize, StorageError>> {
        let (store, namespace) = (self.backend_store(), namespace.to_owned());
        Box::pin(async move {
            let deleted = store.ask(move |connection| delete_namespace(connection.open()?, &namespace)).await?;
            Ok(deleted.len())
        })
    }

    fn versions(&self) -> BoxFuture<'_, Result<BTreeMap<String, u32>, StorageError>> {
        let store = self.backend_store();
        Box::pin(async move { layout::versions(&store.own(layout::VERSIONS, Vec::new()).await?) })
    }

    fn now_ms(&self) -> Option<u64> {
        self.threads.shared.clock.now_ms()
    }

    fn announce(&self, topic: &str) {
        self.threads.notices.announce(topic);
    }

    fn listen(&self, heard: Box<dyn Fn(&str) + Send + Sync>) {
        self.threads.notices.listen(heard);
    }
}

impl Drop for BackendThreads {
    fn drop(&mut self) {
        self.workers.close();
    }
}

/// The store of one namespace, and of those joined to it.
struct PostgresStore {
    threads: Arc<BackendThreads>,
    /// Its own first.
    namespaces: Arc<[String]>,
}

impl PostgresStore {
    fn namespace(&self) -> SqlValue {
        SqlValue::from(self.namespaces.first().cloned().unwrap_or_default())
    }

    /// Asks one of the threads, and waits for its answer.
    async fn ask(
        &self,
        job: impl FnOnce(&mut Connection) -> Result<Vec<Record>, StorageError> + Send + 'static,
    ) -> Result<Vec<Record>, StorageError> {
        let (reply, answer) = channel();
        self.threads.workers.submit(Box::new(move |connection| {
            // A caller that went away before its work began has withdrawn it.
            if !reply.is_canceled() {
                _ = reply.send(job(connection));
            }
        }))?;
        answer.await.unwrap_or_else(|_| Err(StorageError::Unwritable("the storage has stopped".to_owned())))
    }

    /// Runs one statement of the backend's own.
    async fn own(&self, sql: &'static str, values: Vec<SqlValue>) -> Result<Vec<Record>, StorageError> {
        self.ask(move |connection| connection.with(|open| layout::query(open, sql, &values))).await
    }
}

impl Storage for PostgresStore {
    fn now_ms(&self) -> Option<u64> {
        self.threads.shared.clock.now_ms()
    }

    fn migrate(&self, migrations: Vec<Migration>) -> BoxFuture<'_, Result<(), StorageError>> {
        let namespace = self.namespaces.first().cloned().unwrap_or_default();
        let job = move |connection: &mut Connection| {
            let migrated = connection.open().and_then(|open| migrate(open, &namespace, &migrations));
            migrated.map(|()| Vec::new())
        };
        Box::pin(async move { self.ask(job).await.map(drop) })
    }

    fn query(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        let namespaces = Arc::clone(&self.namespaces);
        Box::pin(self.ask(move |connection| {
            connection.with(|open| {
                let ready = open.ready(&namespaces, StatementUse::Look, Cow::Borrowed(&statement))?;
                open.rows(&ready)
            })
        }))
    }

    fn search(&self, search: WordSearch) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        let namespaces = Arc::clone(&self.namespaces);
        Box::pin(self.ask(move |connection| connection.with(|open| word_search::search(open, &namespaces, &search))))
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
        let namespaces = Arc::clone(&self.namespaces);
        Box::pin(self.ask(move |connection| transact(connection, &namespaces, keys, durability, work)))
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StorageError>> {
        Box::pin(async move {
            let values = vec![self.namespace(), SqlValue::Blob(key.as_bytes().to_vec())];
            let found = self.own("SELECT value FROM dispatch_values WHERE namespace = $1 AND key = $2", values).await?;
            found.first().map(|record| record.blob(0).map(<[u8]>::to_vec)).transpose()
        })
    }

    fn put<'a>(&'a self, key: &'a str, value: Option<Vec<u8>>) -> BoxFuture<'a, Result<(), StorageError>> {
        Box::pin(async move {
            if key.len() > MAX_KEY_BYTES {
                let said = format!("a key has at most {MAX_KEY_BYTES} bytes, and this one has {}", key.len());
                return Err(StorageError::Statement(said));
            }
            let mut values = vec![self.namespace(), SqlValue::Blob(key.as_bytes().to_vec())];
            let sql = match value {
                Some(value) => {
                    values.push(SqlValue::Blob(value));
                    "INSERT INTO dispatch_values (namespace, key, value) VALUES ($1, $2, $3)
                     ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value"
                }
                None => "DELETE FROM dispatch_values WHERE namespace = $1 AND key = $2",
            };
            self.own(sql, values).await.map(drop)
        })
    }

    fn keys<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, StorageError>> {
        Box::pin(async move {
            let values = vec![self.namespace(), SqlValue::Blob(prefix.as_bytes().to_vec())];
            let sql = "SELECT key FROM dispatch_values
                       WHERE namespace = $1 AND substr(key, 1, length($2)) = $2 ORDER BY key";
            let found = self.own(sql, values).await?;
            let key = |record: &Record| record.blob(0).map(|key| String::from_utf8_lossy(key).into_owned());
            found.iter().map(key).collect()
        })
    }
}
