//! A running transaction: begun with its first statement, so that beginning, taking the keys and that statement are
//! one question to the server.

use crate::connection::{Connection, OpenConnection, ReadyStatement, records};
use crate::key_locks::{KeyLock, key_lock, locks};
use crate::sql::{ExplicitKey, StatementUse};
use dispatch_contracts::statement;
use dispatch_contracts::storage::{
    Columns, Durability, HeldKeys, Keys, Record, SqlValue, Statement, StorageError, Transaction, TransactionWork,
};
use futures_util::future::{join, join_all, join3};
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio_postgres::{Client, Row};

/// The most statements that go out together without being waited for.
const LATER_LIMIT: usize = 24;

/// Takes locks in the order of the arrays and says what time it is then.
const TAKE: &str = "SELECT CASE WHEN l.is_shared THEN pg_advisory_xact_lock_shared(l.id) IS NULL
        ELSE pg_advisory_xact_lock(l.id) IS NULL END, (extract(epoch FROM clock_timestamp()) * 1000)::bigint
    FROM unnest(string_to_array($1, ',')::bigint[], string_to_array($2, ',')::boolean[]) AS l (id, is_shared)";
const WAIT: &str = "SELECT pg_advisory_xact_lock($1) IS NULL";
const TRY: &str = "SELECT pg_try_advisory_xact_lock($1)";

/// Runs work in a transaction on a connection.
pub(crate) fn transact(
    connection: &mut Connection,
    namespaces: &[String],
    keys: Keys,
    durability: Durability,
    work: TransactionWork,
) -> Result<Vec<Record>, StorageError> {
    let schema = connection.shared.schema();
    let first = locks(&schema, namespaces, &keys);
    let keys = HeldKeys::new(keys);
    let mut running = RunningTransaction {
        connection,
        namespaces,
        schema,
        keys,
        first,
        durability,
        later: Vec::new(),
        state: TransactionState::Unbegun,
    };
    let answer = catch_unwind(AssertUnwindSafe(|| work(&mut running)));
    let answer = answer.unwrap_or_else(|_| Err(StorageError::GivenUp("the work panicked".to_owned())));
    running.end(answer)
}

/// How far a transaction is.
enum TransactionState {
    /// Nothing was sent.
    Unbegun,
    Running,
    /// A statement failed with this: the server takes nothing more.
    Failed(StorageError),
}

/// What a work sees.
struct RunningTransaction<'a> {
    connection: &'a mut Connection,
    namespaces: &'a [String],
    schema: String,
    keys: HeldKeys,
    /// The locks to begin with.
    first: Vec<KeyLock>,
    durability: Durability,
    /// Statements that go out with the next one, or with the end.
    later: Vec<ReadyStatement<'static>>,
    state: TransactionState,
}

/// Whose statement it is, and what of its answer is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SentFor {
    /// A store, for the rows.
    Rows,
    /// A store, for the number of rows that changed.
    Count,
    /// The backend itself.
    Own,
}

/// What came back.
struct StatementAnswer {
    rows: Vec<Record>,
    changed: u64,
    explicit: Option<ExplicitKey>,
}

impl RunningTransaction<'_> {
    fn end(self, answer: Result<Vec<Record>, StorageError>) -> Result<Vec<Record>, StorageError> {
        let answer = match (&self.state, answer) {
            (TransactionState::Unbegun, answer) => return answer,
            // Work that goes on after a failed statement must not look as if it had happened.
            (TransactionState::Failed(error), Ok(_)) => Err(error.clone()),
            (_, answer) => answer,
        };
        let (command, later) = if answer.is_ok() { ("COMMIT", self.later) } else { ("ROLLBACK", Vec::new()) };
        let ended = self.connection.of_transaction().and_then(|open| {
            let client = &open.client;
            open.wait(async {
                let (done, ended) = join(changed(&later, client), client.batch_execute(command)).await;
                // The server makes a rollback of the end of a transaction that failed, and does not complain.
                done.and(ended)
            })
        });
        if ended.is_err() {
            // Closing the connection rolls back whatever is left.
            self.connection.close();
        }
        match (answer, ended) {
            (Ok(records), Ok(())) => Ok(records),
            (Ok(_), Err(error)) | (Err(error), _) => Err(error),
        }
    }

    /// Sends a statement, with the beginning of the transaction before it if there was none.
    fn send(&mut self, statement: &Statement, sent_for: SentFor) -> Result<StatementAnswer, StorageError> {
        let (namespaces, first, durability) = (self.namespaces, &self.first, self.durability);
        let later = std::mem::take(&mut self.later);
        let sent = match &self.state {
            TransactionState::Failed(error) => {
                return Err(StorageError::GivenUp(format!("an earlier statement of the transaction failed: {error}")));
            }
            TransactionState::Unbegun => self.connection.with(|open| {
                let ready = ready(open, namespaces, statement, sent_for)?;
                begin(open, first, durability, &ready, sent_for)
            }),
            TransactionState::Running => self.connection.of_transaction().and_then(|open| {
                let ready = ready(open, namespaces, statement, sent_for)?;
                answer(open, &later, &ready, sent_for)
            }),
        };
        self.state = match &sent {
            Ok(_) => TransactionState::Running,
            Err(error) => TransactionState::Failed(error.clone()),
        };
        sent
    }

    fn send_for_store(&mut self, statement: &Statement, sent_for: SentFor) -> Result<StatementAnswer, StorageError> {
        let answer = self.send(statement, sent_for)?;
        if let Some(explicit) = &answer.explicit {
            let key = key_lock(&self.schema, &format!("numbers of {}", explicit.table));
            self.send(&statement!(WAIT, key.id), SentFor::Own)?;
            self.send(&statement!(explicit.follow()), SentFor::Own)?;
        }
        Ok(answer)
    }
}

fn ready<'a>(
    open: &mut OpenConnection,
    namespaces: &[String],
    statement: &'a Statement,
    sent_for: SentFor,
) -> Result<ReadyStatement<'a>, StorageError> {
    match sent_for {
        SentFor::Rows | SentFor::Count => open.ready(namespaces, StatementUse::Change, Cow::Borrowed(statement)),
        SentFor::Own => open.own(&statement.sql, &statement.parameters),
    }
}

/// Sends statements in their order without waiting in between; the first failure is told.
async fn changed(later: &[ReadyStatement<'_>], client: &Client) -> Result<(), tokio_postgres::Error> {
    join_all(later.iter().map(|ready| ready.execute(client))).await.into_iter().try_for_each(|done| done.map(drop))
}

/// Sends a statement; the rows that it gives, or how many it changed.
async fn sent(
    ready: &ReadyStatement<'_>,
    client: &Client,
    sent_for: SentFor,
) -> Result<(Vec<Row>, u64), tokio_postgres::Error> {
    match sent_for {
        SentFor::Count if ready.changes() => ready.execute(client).await.map(|changed| (Vec::new(), changed)),
        _ => ready.query(client).await.map(|rows| (rows, 0)),
    }
}

/// Sends what was put off and a statement, and waits for all answers.
fn answer(
    open: &mut OpenConnection,
    later: &[ReadyStatement<'_>],
    ready: &ReadyStatement<'_>,
    sent_for: SentFor,
) -> Result<StatementAnswer, StorageError> {
    let client = &open.client;
    let (rows, changed) = open.wait(async {
        let (before, answer) = join(changed(later, client), sent(ready, client, sent_for)).await;
        // The first failure is the cause of those behind it.
        before?;
        answer
    })?;
    Ok(StatementAnswer { rows: records(&rows)?, changed, explicit: ready.explicit().cloned() })
}

/// Begins, takes the first keys and runs a statement without waiting in between. The server does one after the other,
/// so the statement sees what the former holders of the keys wrote.
fn begin(
    open: &mut OpenConnection,
    first: &[KeyLock],
    durability: Durability,
    ready: &ReadyStatement<'_>,
    sent_for: SentFor,
) -> Result<StatementAnswer, StorageError> {
    let join = |text: fn(&KeyLock) -> String| first.iter().map(text).collect::<Vec<_>>().join(",");
    let locks = [join(|lock| lock.id.to_string()), join(|lock| lock.is_shared.to_string())].map(SqlValue::Text);
    let take = open.own(TAKE, &locks)?;
    let commands = open.begin_commands(durability);
    let client = &open.client;
    let statement = sent(ready, client, sent_for);
    let all = async {
        let (begun, taken, done) = join3(client.batch_execute(&commands), take.query(client), statement).await;
        // The first failure is the cause of those behind it.
        begun?;
        Ok((taken?, done?))
    };
    let (taken, (rows, changed)) = open.wait(all)?;
    if let Some(now_ms) = records(&taken)?.last().and_then(|record| record.unsigned(1).ok()) {
        open.shared.clock.hear(now_ms);
    }
    Ok(StatementAnswer { rows: records(&rows)?, changed, explicit: ready.explicit().cloned() })
}

impl Transaction for RunningTransaction<'_> {
    fn execute(&mut self, statement: &Statement) -> Result<u64, StorageError> {
        self.send_for_store(statement, SentFor::Count).map(|answer| answer.changed)
    }

    fn execute_later(&mut self, statement: Statement) -> Result<(), StorageError> {
        // What begins a transaction is waited for: a lost connection is made again only there.
        if !matches!(self.state, TransactionState::Running) {
            return self.execute(&statement).map(drop);
        }
        let namespaces = self.namespaces;
        let ready = self
            .connection
            .of_transaction()
            .and_then(|open| open.ready(namespaces, StatementUse::Change, Cow::Owned(statement.clone())));
        match ready {
            Ok(ready) if ready.changes() && ready.explicit().is_none() && self.later.len() < LATER_LIMIT => {
                self.later.push(ready);
                Ok(())
            }
            // It goes out with all that was put off, and its failure is told as any other's.
            Ok(_) | Err(_) => self.execute(&statement).map(drop),
        }
    }

    fn query(&mut self, statement: &Statement) -> Result<Vec<Record>, StorageError> {
        self.send_for_store(statement, SentFor::Rows).map(|answer| answer.rows)
    }

    fn lock(&mut self, key: &str) -> Result<(), StorageError> {
        self.keys.check_order(key)?;
        if !self.keys.has(key) {
            let id = key_lock(&self.schema, key).id;
            self.send(&statement!(WAIT, id), SentFor::Own)?;
        }
        self.keys.waited_for(key);
        Ok(())
    }

    fn try_lock(&mut self, key: &str) -> Result<bool, StorageError> {
        if self.keys.has(key) {
            return Ok(true);
        }
        let id = key_lock(&self.schema, key).id;
        let answer = self.send(&statement!(TRY, id), SentFor::Own)?;
        let is_free = answer.rows.first().is_some_and(|record| record.integer(0) == Ok(1));
        if is_free {
            self.keys.tried(key);
        }
        Ok(is_free)
    }
}
