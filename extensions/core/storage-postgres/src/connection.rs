//! One connection on one thread: made when it is needed and made again after it is lost, with the statements that it
//! has prepared.

use crate::contract::DatabaseAddress;
use crate::database_clock::DatabaseClock;
use crate::error::{connecting, translate};
use crate::sql::{ExplicitKey, ParameterKind, StatementUse, TableOwners, TranslatedStatement, check};
use crate::tls::DatabaseTls;
use crate::values::{Received, Sent, kinds, wire_type};
use crate::{layout, sql};
use dispatch_contracts::storage::{Durability, Record, SqlValue, Statement, StorageError};
use std::borrow::Cow;
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
/// The most statements that a connection remembers, and keeps prepared.
const KNOWN_LIMIT: usize = 512;
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
    known: BTreeMap<String, KnownStatement>,
    pub(crate) shared: Arc<ConnectionShared>,
}

/// A statement that was checked, put into the words of PostgreSQL and prepared.
#[derive(Clone)]
struct KnownStatement {
    /// Not where a pooler stands between.
    prepared: Option<Prepared>,
    translated: Arc<TranslatedStatement>,
    explicit: Option<ExplicitKey>,
    /// The owners of tables that it was checked against.
    owners: Arc<TableOwners>,
}

/// A statement that may be sent.
pub(crate) struct ReadyStatement<'a> {
    known: KnownStatement,
    parameters: Cow<'a, [SqlValue]>,
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

    /// The connection that a transaction runs on. One that is lost is not made again here: another would know nothing of
    /// the transaction, and what it is told would happen alone.
    pub(crate) fn of_transaction(&mut self) -> Result<&mut OpenConnection, StorageError> {
        let lost = || StorageError::Unreachable("the connection was lost within a transaction".to_owned());
        self.open.as_mut().filter(|open| !open.client.is_closed()).ok_or_else(lost)
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
        let made = Self { runtime, client, known: BTreeMap::new(), shared: Arc::clone(shared) };
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
        statement: Cow<'a, Statement>,
    ) -> Result<ReadyStatement<'a>, StorageError> {
        let (sql, parameters) = match statement {
            Cow::Borrowed(Statement { sql, parameters }) => {
                (Cow::Borrowed(sql.as_str()), Cow::Borrowed(parameters.as_slice()))
            }
            Cow::Owned(Statement { sql, parameters }) => (Cow::Owned(sql), Cow::Owned(parameters)),
        };
        let kinds = kinds(&parameters)?;
        let key = format!("{purpose:?} {} {} {sql}", namespaces.join(","), mark(&kinds));
        if let Some(known) = self.known.get(&key).filter(|known| Arc::ptr_eq(&known.owners, &self.shared.owners())) {
            return Ok(ReadyStatement { known: known.clone(), parameters });
        }
        self.permit(namespaces, purpose, &sql)?;
        let translated = sql::translate(&sql, &kinds).map_err(StorageError::Statement)?;
        let explicit = ExplicitKey::of(&sql, &self.shared.owners());
        let known = self.prepare(key, translated, explicit)?;
        Ok(ReadyStatement { known, parameters })
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
        let kinds = kinds(parameters)?;
        let key = format!("own {} {sql}", mark(&kinds));
        let known = match self.known.get(&key) {
            Some(known) => known.clone(),
            None => self.prepare(key, TranslatedStatement { sql: sql.to_owned(), kinds, changes: false }, None)?,
        };
        Ok(ReadyStatement { known, parameters: Cow::Borrowed(parameters) })
    }

    fn prepare(
        &mut self,
        key: String,
        translated: TranslatedStatement,
        explicit: Option<ExplicitKey>,
    ) -> Result<KnownStatement, StorageError> {
        let prepared = if self.shared.address.prepares {
            let types: Vec<_> = translated.kinds.iter().map(|kind| wire_type(*kind)).collect();
            Some(self.wait(self.client.prepare_typed(&translated.sql, &types))?)
        } else {
            None
        };
        let owners = self.shared.owners();
        let known = KnownStatement { prepared, translated: Arc::new(translated), explicit, owners };
        if self.known.len() >= KNOWN_LIMIT {
            self.known.clear();
        }
        self.known.insert(key, known.clone());
        Ok(known)
    }

    /// Sends a statement and collects its rows.
    pub(crate) fn rows(&self, ready: &ReadyStatement<'_>) -> Result<Vec<Record>, StorageError> {
        records(&self.wait(ready.query(&self.client))?)
    }

    /// Forgets prepared statements that a changed table made useless.
    pub(crate) fn forget_statements(&mut self) {
        self.known.clear();
    }
}

impl ReadyStatement<'_> {
    pub(crate) async fn query(&self, client: &Client) -> Result<Vec<Row>, tokio_postgres::Error> {
        let sent: Vec<Sent<'_>> = self.parameters.iter().map(Sent).collect();
        match &self.known.prepared {
            Some(prepared) => {
                let sent: Vec<&(dyn ToSql + Sync)> = sent.iter().map(|value| value as _).collect();
                client.query(prepared, &sent).await
            }
            None => {
                let types = self.known.translated.kinds.iter().map(|kind| wire_type(*kind));
                let sent: Vec<(&(dyn ToSql + Sync), _)> = sent.iter().map(|value| value as _).zip(types).collect();
                client.query_typed(&self.known.translated.sql, &sent).await
            }
        }
    }

    pub(crate) async fn execute(&self, client: &Client) -> Result<u64, tokio_postgres::Error> {
        let sent: Vec<Sent<'_>> = self.parameters.iter().map(Sent).collect();
        match &self.known.prepared {
            Some(prepared) => {
                let sent: Vec<&(dyn ToSql + Sync)> = sent.iter().map(|value| value as _).collect();
                client.execute(prepared, &sent).await
            }
            None => {
                let types = self.known.translated.kinds.iter().map(|kind| wire_type(*kind));
                let sent: Vec<(&(dyn ToSql + Sync), _)> = sent.iter().map(|value| value as _).zip(types).collect();
                client.execute_typed(&self.known.translated.sql, &sent).await
            }
        }
    }

    /// The key that it gives a row where the database would have numbered it.
    pub(crate) fn explicit(&self) -> Option<&ExplicitKey> {
        self.known.explicit.as_ref()
    }

    /// Whether the statement changes rows; one that does not counts none.
    pub(crate) fn changes(&self) -> bool {
        self.known.translated.changes
    }
}

/// The kinds of parameters as text.
fn mark(kinds: &[ParameterKind]) -> String {
    kinds.iter().map(|kind| char::from(b'0' + *kind as u8)).collect()
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
