//! One connection on one thread: made when it is needed and made again after it is lost, with the statements that it
//! has prepared.

use crate::contract::DatabaseAddress;
use crate::database_clock::DatabaseClock;
use crate::error::{connecting, translate};
use crate::sql::{ExplicitKey, StatementUse, TableOwners, TranslatedStatement, check};
use crate::tls::DatabaseTls;
use crate::values::{Received, Sent, kinds, wire_type};
use crate::{layout, sql};
use dispatch_contracts::storage::{Durability, Record, SqlValue, Statement, StorageError};
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement as Prepared};

/// The longest that a transaction waits for a key or a row that another one holds.
const LOCK_WAIT_MS: u64 = 10_000;
/// The longest that one statement may run.
const STATEMENT_LIMIT_MS: u64 = 60_000;
/// A server that has not answered for so long is away. Longer than any statement may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(75);
/// The most statements that a connection keeps prepared.
const PREPARED_LIMIT: usize = 512;
/// The most that one query may give.
const MAX_RESULT_BYTES: usize = 256 * 1024 * 1024;

/// What all connections to one database share.
pub(crate) struct ConnectionShared {
    pub(crate) address: DatabaseAddress,
    pub(crate) tls: DatabaseTls,
    /// The schema that our tables are in.
    pub(crate) schema: Mutex<String>,
    pub(crate) clock: DatabaseClock,
    owners: Mutex<Arc<TableOwners>>,
}

impl ConnectionShared {
    pub(crate) fn new(address: DatabaseAddress) -> Result<Self, StorageError> {
        let tls = DatabaseTls::new(&address)?;
        Ok(Self { address, tls, schema: Mutex::default(), clock: DatabaseClock::default(), owners: Mutex::default() })
    }

    pub(crate) fn schema(&self) -> String {
        lock(&self.schema).clone()
    }

    pub(crate) fn learn_owners(&self, owners: TableOwners) {
        *lock(&self.owners) = Arc::new(owners);
    }

    pub(crate) fn owners(&self) -> Arc<TableOwners> {
        Arc::clone(&lock(&self.owners))
    }
}

/// A connection, open or yet to be opened.
pub(crate) struct Connection {
    pub(crate) shared: Arc<ConnectionShared>,
    open: Option<OpenConnection>,
}

/// An open connection. The runtime drives it while a statement is waited for.
pub(crate) struct OpenConnection {
    runtime: Runtime,
    pub(crate) client: Client,
    prepared: BTreeMap<String, Prepared>,
    pub(crate) shared: Arc<ConnectionShared>,
}

/// A statement that may be sent.
pub(crate) struct ReadyStatement<'a> {
    prepared: Option<Prepared>,
    translated: TranslatedStatement,
    parameters: &'a [SqlValue],
    pub(crate) explicit: Option<ExplicitKey>,
}

impl Connection {
    pub(crate) fn new(shared: Arc<ConnectionShared>) -> Self {
        Self { shared, open: None }
    }

    /// Forgets the connection; the next use makes another.
    pub(crate) fn close(&mut self) {
        self.open = None;
    }

    /// The connection, opened if it is not.
    pub(crate) fn open(&mut self) -> Result<&mut OpenConnection, StorageError> {
        if self.open.as_ref().is_some_and(|open| open.client.is_closed()) {
            self.open = None;
        }
        match &mut self.open {
            Some(open) => Ok(open),
            closed => Ok(closed.insert(OpenConnection::connect(&self.shared)?)),
        }
    }

    /// Runs something; a connection that broke while nothing of it had happened is made again once.
    pub(crate) fn with<T>(
        &mut self,
        mut work: impl FnMut(&mut OpenConnection) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let was_open = self.open.is_some();
        match self.open().and_then(&mut work) {
            Err(StorageError::Unreachable(_)) if was_open => {
                self.close();
                self.open().and_then(&mut work)
            }
            other => other,
        }
    }
}

impl OpenConnection {
    pub(crate) fn connect(shared: &Arc<ConnectionShared>) -> Result<Self, StorageError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| StorageError::Unwritable(format!("cannot start a connection: {error}")))?;
        let address = &shared.address;
        let connecting_to = async {
            let connected = address.config.connect(shared.tls.clone()).await;
            let (client, connection) = connected.map_err(|error| connecting(address, &error))?;
            tokio::spawn(connection);
            Ok::<Client, StorageError>(client)
        };
        let client = runtime.block_on(connecting_to)?;
        let made = Self { runtime, client, prepared: BTreeMap::new(), shared: Arc::clone(shared) };
        if address.prepares {
            made.batch(&settings(""))?;
        }
        Ok(made)
    }

    /// Waits for the server, not for ever.
    pub(crate) fn wait<T>(
        &self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, StorageError> {
        let answer = self.runtime.block_on(async { tokio::time::timeout(ANSWER_LIMIT, work).await });
        match answer {
            Ok(answer) => answer.map_err(|error| translate(&error)),
            Err(_) => Err(StorageError::Unreachable(format!("no answer within {} s", ANSWER_LIMIT.as_secs()))),
        }
    }

    /// Runs commands of the backend's own.
    pub(crate) fn batch(&self, commands: &str) -> Result<(), StorageError> {
        self.wait(self.client.batch_execute(commands))
    }

    /// What begins a transaction.
    pub(crate) fn begin_commands(&self, durability: Durability) -> String {
        let local = if self.shared.address.prepares { String::new() } else { settings("LOCAL ") };
        let quick = match durability {
            Durability::Disk => "",
            Durability::Process => "SET LOCAL synchronous_commit = off; ",
        };
        format!("BEGIN; {quick}{local}")
    }

    /// Checks a statement for a store of these namespaces and makes it ready to be sent.
    pub(crate) fn ready<'a>(
        &mut self,
        namespaces: &[String],
        purpose: StatementUse,
        statement: &'a Statement,
    ) -> Result<ReadyStatement<'a>, StorageError> {
        self.permit(namespaces, purpose, &statement.sql)?;
        let translated =
            sql::translate(&statement.sql, &kinds(&statement.parameters)?).map_err(StorageError::Statement)?;
        let explicit = ExplicitKey::of(&statement.sql, &self.shared.owners());
        self.prepare(translated, &statement.parameters, explicit)
    }

    /// Checks what a statement for a store of these namespaces names.
    pub(crate) fn permit(
        &mut self,
        namespaces: &[String],
        purpose: StatementUse,
        sql: &str,
    ) -> Result<(), StorageError> {
        if check(sql, purpose, namespaces, &self.shared.owners()).is_ok() {
            return Ok(());
        }
        // Another process may have made the table since.
        let owners = layout::owners(self)?;
        self.shared.learn_owners(owners);
        check(sql, purpose, namespaces, &self.shared.owners()).map_err(StorageError::Statement)
    }

    /// Makes a statement of the backend's own ready, in the words of PostgreSQL.
    pub(crate) fn own<'a>(
        &mut self,
        sql: &str,
        parameters: &'a [SqlValue],
    ) -> Result<ReadyStatement<'a>, StorageError> {
        self.prepare(
            TranslatedStatement { sql: sql.to_owned(), kinds: kinds(parameters)?, changes: false },
            parameters,
            None,
        )
    }

    fn prepare<'a>(
        &mut self,
        translated: TranslatedStatement,
        parameters: &'a [SqlValue],
        explicit: Option<ExplicitKey>,
    ) -> Result<ReadyStatement<'a>, StorageError> {
        if !self.shared.address.prepares {
            return Ok(ReadyStatement { prepared: None, translated, parameters, explicit });
        }
        let mark: String = translated.kinds.iter().map(|kind| char::from(b'0' + *kind as u8)).collect();
        let key = format!("{mark} {}", translated.sql);
        let prepared = match self.prepared.get(&key) {
            Some(known) => known.clone(),
            None => {
                let types: Vec<_> = translated.kinds.iter().map(|kind| wire_type(*kind)).collect();
                let made = self.wait(self.client.prepare_typed(&translated.sql, &types))?;
                if self.prepared.len() >= PREPARED_LIMIT {
                    self.prepared.clear();
                }
                self.prepared.insert(key, made.clone());
                made
            }
        };
        Ok(ReadyStatement { prepared: Some(prepared), translated, parameters, explicit })
    }

    /// Sends a statement and collects its rows.
    pub(crate) fn rows(&self, ready: &ReadyStatement<'_>) -> Result<Vec<Record>, StorageError> {
        records(&self.wait(ready.query(&self.client))?)
    }

    /// Forgets prepared statements that a changed table made useless.
    pub(crate) fn forget_statements(&mut self) {
        self.prepared.clear();
    }
}

impl ReadyStatement<'_> {
    pub(crate) async fn query(&self, client: &Client) -> Result<Vec<Row>, tokio_postgres::Error> {
        let sent: Vec<Sent<'_>> = self.parameters.iter().map(Sent).collect();
        match &self.prepared {
            Some(prepared) => {
                let sent: Vec<&(dyn ToSql + Sync)> = sent.iter().map(|value| value as _).collect();
                client.query(prepared, &sent).await
            }
            None => {
                let types = self.translated.kinds.iter().map(|kind| wire_type(*kind));
                let sent: Vec<(&(dyn ToSql + Sync), _)> = sent.iter().map(|value| value as _).zip(types).collect();
                client.query_typed(&self.translated.sql, &sent).await
            }
        }
    }

    pub(crate) async fn execute(&self, client: &Client) -> Result<u64, tokio_postgres::Error> {
        let sent: Vec<Sent<'_>> = self.parameters.iter().map(Sent).collect();
        match &self.prepared {
            Some(prepared) => {
                let sent: Vec<&(dyn ToSql + Sync)> = sent.iter().map(|value| value as _).collect();
                client.execute(prepared, &sent).await
            }
            None => {
                let types = self.translated.kinds.iter().map(|kind| wire_type(*kind));
                let sent: Vec<(&(dyn ToSql + Sync), _)> = sent.iter().map(|value| value as _).zip(types).collect();
                client.execute_typed(&self.translated.sql, &sent).await
            }
        }
    }

    /// Whether the statement changes rows; one that does not counts none.
    pub(crate) fn changes(&self) -> bool {
        self.translated.changes
    }
}

/// Limits of a session, or of a transaction where a session is not ours alone.
fn settings(local: &str) -> String {
    format!("SET {local}lock_timeout = {LOCK_WAIT_MS}; SET {local}statement_timeout = {STATEMENT_LIMIT_MS}")
}

/// The rows of a result as ours.
pub(crate) fn records(rows: &[Row]) -> Result<Vec<Record>, StorageError> {
    let mut bytes = 0_usize;
    let record = |row: &Row| -> Result<Record, StorageError> {
        let values = (0..row.len()).map(|at| row.try_get::<_, Received>(at).map(|value| value.0));
        let record: Record = values.collect::<Result<_, _>>().map_err(|error| translate_value(&error))?;
        bytes += record.iter().map(size).sum::<usize>();
        if bytes > MAX_RESULT_BYTES {
            return Err(StorageError::Statement(format!("the result has more than {MAX_RESULT_BYTES} bytes")));
        }
        Ok(record)
    };
    rows.iter().map(record).collect()
}

fn translate_value(error: &tokio_postgres::Error) -> StorageError {
    let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    StorageError::Statement(format!("a value cannot be read: {error} {cause}"))
}

fn size(value: &SqlValue) -> usize {
    match value {
        SqlValue::Text(text) => text.len(),
        SqlValue::Blob(bytes) => bytes.len(),
        _ => 8,
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
