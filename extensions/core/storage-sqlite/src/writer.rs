//! The one thread that writes: it takes whatever has arrived and commits it as one group, so that many
//! writers share the cost of one durable commit. Nobody gets an answer before the commit is
//! as durable as they asked.

#[cfg(test)]
mod tests;

use crate::database::Database;
use crate::deletion::delete_namespace;
use crate::error::concerns_everybody;
use crate::guard::NamespaceScope;
use crate::job_queue::{JobQueue, TakenJobs};
use crate::layout::FoundDatabase;
use crate::migrate::migrate;
use crate::quiet_window::QuietWindow;
use dispatch_contracts::migration::Migration;
use dispatch_contracts::storage::{
    Durability, HeldKeys, Keys, Record, Statement, StorageError, Transaction, TransactionWork,
};
use dispatch_os::time::monotonic_ms;
use futures_channel::oneshot::Sender;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// The most jobs that wait; a caller beyond that is told that the database is busy.
pub(crate) const QUEUE_LIMIT: usize = 16 * 1024;
/// The most works that share one commit, so that the first of them does not wait for ever.
pub(crate) const GROUP_LIMIT: usize = 512;

/// A long log is folded into the file once nothing came for so long: it waits for the disk more than once.
const QUIET: Duration = Duration::from_millis(50);

/// What the answers of works and queries are.
pub(crate) type StorageAnswer = Result<Vec<Record>, StorageError>;

/// Something for the backend itself to do with the connection.
pub(crate) type DatabaseJob = Box<dyn FnOnce(&Database) -> StorageAnswer + Send>;

/// A work and whom to answer.
pub(crate) struct WriteJob {
    pub(crate) task: WriteTask,
    pub(crate) durability: Durability,
    pub(crate) reply: Sender<StorageAnswer>,
}

/// Whose work it is.
pub(crate) enum WriteTask {
    /// A store's.
    Scoped(Arc<NamespaceScope>, Keys, TransactionWork),
    /// The backend's own.
    Backend(DatabaseJob),
}

/// What the thread can be asked for.
pub(crate) enum WriterJob {
    /// A durable change.
    Write(WriteJob),
    /// A look at what is committed; for a database that has no readers.
    Read(DatabaseJob, Sender<StorageAnswer>),
    /// The migrations of a namespace.
    Migrate(String, Vec<Migration>, Sender<StorageAnswer>),
    /// The end of a namespace.
    Delete(String, Sender<StorageAnswer>),
}

/// Works until the queue is closed and empty, then folds the log into the file.
pub(crate) fn serve(database: &Database, mut found: FoundDatabase, queue: &JobQueue<WriterJob>) {
    let mut window = QuietWindow::default();
    loop {
        let has_long_log = database.has_long_log();
        let patience = if has_long_log { Some(QUIET) } else { window.left() };
        let jobs = match queue.take(GROUP_LIMIT, patience) {
            TakenJobs::Jobs(jobs) => jobs,
            TakenJobs::Idle if has_long_log => {
                database.fold_log();
                continue;
            }
            // An idle process may ask for nothing any more.
            TakenJobs::Idle => Vec::new(),
            TakenJobs::Closed => break,
        };
        let count = jobs.len() as u64;
        let mut group = Vec::new();
        for job in jobs {
            match job {
                WriterJob::Write(work) => group.push(work),
                other => {
                    commit(database, std::mem::take(&mut group));
                    serve_one(database, &mut found, other);
                }
            }
        }
        commit(database, group);
        if database.has_full_log() {
            database.fold_log();
        }
        if window.begins_rest(count, monotonic_ms()) {
            database.shrink();
        }
    }
    // Whoever opens the file next does it otherwise.
    _ = database.command("PRAGMA wal_checkpoint(TRUNCATE)");
}

/// Does one job by itself. If it fails badly, its caller sees that no answer comes; others are served on.
pub(crate) fn serve_one(database: &Database, found: &mut FoundDatabase, job: WriterJob) {
    _ = catch_unwind(AssertUnwindSafe(|| alone(database, found, job)));
    if !database.connection.is_autocommit() {
        _ = database.command("ROLLBACK");
    }
}

fn alone(database: &Database, found: &mut FoundDatabase, job: WriterJob) {
    let (answer, reply) = match job {
        WriterJob::Read(job, reply) => (database.refresh().and_then(|()| job(database)), reply),
        WriterJob::Migrate(namespace, steps, reply) => {
            let durable = database.set_durability(Durability::Disk);
            (durable.and_then(|()| migrate(database, found, &namespace, &steps)).map(|()| Vec::new()), reply)
        }
        WriterJob::Delete(namespace, reply) => {
            let durable = database.set_durability(Durability::Disk);
            (durable.and_then(|()| delete_namespace(database, &namespace)), reply)
        }
        WriterJob::Write(work) => return commit(database, vec![work]),
    };
    // A caller that went away does not need the answer.
    _ = reply.send(answer);
}

/// How one work of a group ended.
enum WriteOutcome {
    /// It alone succeeded or was rolled back.
    Alone(StorageAnswer),
    /// SQLite rolled the whole group back.
    GroupLost(StorageError),
}

/// Runs the works of a group and commits them. After a loss of the group the rest gets another.
fn commit(database: &Database, works: Vec<WriteJob>) {
    // A caller that went away before its work began has withdrawn it.
    let works: Vec<WriteJob> = works.into_iter().filter(|work| !work.reply.is_canceled()).collect();
    let Some(durability) = works.iter().map(|work| work.durability).max() else { return };
    let bounds = if works.len() == 1 { WorkBounds::Transaction } else { WorkBounds::Savepoint };
    let mut rest = works.into_iter().peekable();
    while rest.peek().is_some() {
        if let Err(error) = database.set_durability(durability).and_then(|()| begin(database)) {
            rest.for_each(|work| _ = work.reply.send(Err(error.clone())));
            return;
        }
        let mut done = Vec::new();
        let mut lost = None;
        for work in rest.by_ref() {
            match run(database, work.task, bounds) {
                WriteOutcome::Alone(answer) => done.push((work.reply, answer)),
                WriteOutcome::GroupLost(error) => {
                    lost = Some(spread(&error));
                    done.push((work.reply, Err(error)));
                    break;
                }
            }
        }
        let outcome = match lost {
            Some(error) => Err(error),
            None => database.command("COMMIT"),
        };
        if outcome.is_err() && !database.connection.is_autocommit() {
            _ = database.command("ROLLBACK");
        }
        for (reply, answer) in done {
            _ = reply.send(answer.and_then(|records| outcome.clone().map(|()| records)));
        }
    }
}

/// What the others of a lost group are told: they did nothing wrong and may try again.
fn spread(error: &StorageError) -> StorageError {
    if concerns_everybody(error) { error.clone() } else { StorageError::Busy }
}

fn begin(database: &Database) -> Result<(), StorageError> {
    database.command("BEGIN IMMEDIATE")?;
    database.refresh().inspect_err(|_| _ = database.command("ROLLBACK"))
}

/// What is rolled back with a work that fails.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WorkBounds {
    /// The work, of several in a group. Each page that it changes is kept for that.
    Savepoint,
    /// The transaction: the work is all there is in it.
    Transaction,
}

fn run(database: &Database, task: WriteTask, bounds: WorkBounds) -> WriteOutcome {
    if bounds == WorkBounds::Savepoint
        && let Err(error) = database.command("SAVEPOINT work")
    {
        return WriteOutcome::GroupLost(error);
    }
    let answer = catch_unwind(AssertUnwindSafe(|| match task {
        WriteTask::Scoped(scope, keys, work) => {
            work(&mut RunningTransaction { database, scope: &scope, keys: HeldKeys::new(keys) })
        }
        WriteTask::Backend(job) => job(database),
    }));
    let answer = answer.unwrap_or_else(|_| Err(StorageError::GivenUp("the work panicked".to_owned())));
    if database.connection.is_autocommit() {
        let error = answer.err().unwrap_or_else(|| gone(database));
        return WriteOutcome::GroupLost(error);
    }
    let kept = |records| database.index_words().and_then(|()| promises_kept(database)).map(|()| records);
    let answer = answer.and_then(kept);
    if database.connection.is_autocommit() {
        return WriteOutcome::GroupLost(answer.err().unwrap_or_else(|| gone(database)));
    }
    if bounds == WorkBounds::Transaction {
        return match answer {
            Ok(records) => WriteOutcome::Alone(Ok(records)),
            Err(error) => WriteOutcome::GroupLost(error),
        };
    }
    let undone = if answer.is_ok() { Ok(()) } else { database.command("ROLLBACK TO work") };
    match undone.and_then(|()| database.command("RELEASE work")) {
        Ok(()) => WriteOutcome::Alone(answer),
        Err(error) => WriteOutcome::GroupLost(error),
    }
}

/// A foreign key that is checked at the commit would fail the whole group: it is checked here.
fn promises_kept(database: &Database) -> Result<(), StorageError> {
    if crate::deferred::any(&database.connection) {
        return Err(StorageError::Constraint("FOREIGN KEY constraint failed".to_owned()));
    }
    Ok(())
}

fn gone(database: &Database) -> StorageError {
    let name = database.place.path().map(|path| path.display().to_string()).unwrap_or_default();
    StorageError::Unwritable(format!("{name}: the transaction was rolled back"))
}

/// What a work sees.
struct RunningTransaction<'a> {
    database: &'a Database,
    scope: &'a Arc<NamespaceScope>,
    /// One transaction runs at a time, so every key is free; the order is checked all the same.
    keys: HeldKeys,
}

impl RunningTransaction<'_> {
    /// After a full disk SQLite may have rolled everything back; what a work that goes on regardless
    /// writes then would stand alone.
    fn check(&self) -> Result<(), StorageError> {
        if self.database.connection.is_autocommit() { Err(gone(self.database)) } else { Ok(()) }
    }
}

impl Transaction for RunningTransaction<'_> {
    fn execute(&mut self, statement: &Statement) -> Result<u64, StorageError> {
        self.check()?;
        self.database.execute(self.scope, statement)
    }

    fn query(&mut self, statement: &Statement) -> Result<Vec<Record>, StorageError> {
        self.check()?;
        self.database.query(self.scope, statement)
    }

    fn lock(&mut self, key: &str) -> Result<(), StorageError> {
        self.keys.check_order(key)?;
        self.keys.waited_for(key);
        Ok(())
    }

    fn try_lock(&mut self, key: &str) -> Result<bool, StorageError> {
        self.keys.tried(key);
        Ok(true)
    }
}
