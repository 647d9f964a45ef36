//! Groups that meet a full disk, a statement without end, or a caller that went away.

use super::*;
use crate::contract::Location;
use crate::database::ConnectionPurpose;
use crate::layout::establish;
use crate::resolved_location::ResolvedLocation;
use crate::store::SqliteBackend;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Keys, SqlValue, StorageBackend as _};
use dispatch_os::Deadline;
use futures_channel::oneshot::{Receiver, channel};

const NOTES: Migration = Migration::new(1, "notes", &["CREATE TABLE notes (id INTEGER PRIMARY KEY, body BLOB)"]);
const ENDLESS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) ";

fn scope() -> Arc<NamespaceScope> {
    Arc::new(NamespaceScope { mark: "/*0*/".to_owned(), namespaces: vec!["a".to_owned()] })
}

fn database(location: &Location) -> Database {
    let place = ResolvedLocation::prepare(location).unwrap();
    let database = Database::open(&place, ConnectionPurpose::Write).unwrap();
    let mut found = establish(&database).unwrap();
    migrate(&database, &mut found, "a", &[NOTES]).unwrap();
    database
}

fn insert(id: i64, bytes: usize) -> TransactionWork {
    Box::new(move |tx| {
        tx.execute(&statement!("INSERT INTO notes (id, body) VALUES (?1, ?2)", id, vec![1_u8; bytes]))?;
        Ok(Vec::new())
    })
}

fn replace(id: i64) -> TransactionWork {
    Box::new(move |tx| {
        tx.execute(&statement!("INSERT INTO notes (id) VALUES (?1) ON CONFLICT (id) DO NOTHING", id))?;
        Ok(Vec::new())
    })
}

fn group(database: &Database, works: Vec<TransactionWork>) -> Vec<StorageAnswer> {
    group_of(database, works.into_iter().map(|work| (Durability::Disk, work)).collect())
}

fn group_of(database: &Database, works: Vec<(Durability, TransactionWork)>) -> Vec<StorageAnswer> {
    let (works, answers): (Vec<WriteJob>, Vec<Receiver<StorageAnswer>>) = works
        .into_iter()
        .map(|(durability, work)| {
            let (reply, answer) = channel();
            (WriteJob { task: WriteTask::Scoped(scope(), Keys::none(), work), durability, reply }, answer)
        })
        .unzip();
    commit(database, works);
    answers.into_iter().map(|mut answer| answer.try_recv().unwrap().unwrap()).collect()
}

fn kept(database: &Database) -> Vec<i64> {
    let rows = database.query(&scope(), &statement!("SELECT id FROM notes ORDER BY id")).unwrap();
    rows.iter().map(|row| row.integer(0).unwrap()).collect()
}

/// How far a commit waits: 1 without the disk, 2 with it.
fn synchronous(database: &Database) -> i64 {
    database.trusted().pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap()
}

/// What was answered with success is there, and nothing else is.
fn check(database: &Database, answers: &[StorageAnswer]) {
    let good = (0..).zip(answers).filter(|(_, answer)| answer.is_ok()).map(|(id, _)| id).collect::<Vec<i64>>();
    assert!(database.connection.is_autocommit(), "no transaction is left open");
    assert_eq!(kept(database), good, "{answers:?}");
}

#[test]
fn a_full_disk_in_the_middle_of_a_group_is_answered_truly() {
    let folder = tempfile::tempdir().unwrap();
    for location in [Location::Memory, Location::File(folder.path().join("x.db"))] {
        let database = database(&location);
        let limit = "PRAGMA max_page_count = 100";
        database.command(limit).unwrap();
        let answers = group(&database, vec![insert(0, 10), insert(1, 10), insert(2, 1_000_000), insert(3, 10)]);
        assert!(matches!(answers[2], Err(StorageError::Unwritable(_))), "{answers:?}");
        assert!(answers[3].is_ok(), "the next one fits: {answers:?}");
        check(&database, &answers);
    }
}

#[test]
fn a_work_that_goes_on_after_the_group_was_lost_writes_nothing() {
    let database = database(&Location::Memory);
    database.statement_limit_ms.set(20);
    let stubborn: TransactionWork = Box::new(|tx| {
        // A change that is stopped midway takes the whole transaction with it.
        let endless = format!("{ENDLESS} INSERT INTO notes (id, body) SELECT 100 + i, NULL FROM n");
        assert!(tx.execute(&statement!(endless)).is_err());
        _ = tx.execute(&statement!("INSERT INTO notes (id) VALUES (7)"));
        Ok(Vec::new())
    });
    let answers = group(&database, vec![insert(0, 10), stubborn, insert(2, 10)]);
    check(&database, &answers);
    assert!(answers[2].is_ok());
}

#[test]
fn a_query_without_end_is_stopped() {
    let database = database(&Location::Memory);
    database.statement_limit_ms.set(20);
    let endless: TransactionWork = Box::new(|tx| tx.query(&statement!(format!("{ENDLESS} SELECT MAX(i) FROM n"))));
    let answers = group(&database, vec![insert(0, 10), endless, insert(2, 10)]);
    assert!(
        matches!(&answers[1], Err(StorageError::Statement(said)) if said.contains("timed out after 20 ms")),
        "{answers:?}"
    );
    check(&database, &answers);
    database.statement_limit_ms.set(60_000);
    let fine = database.query(&scope(), &statement!("SELECT ?1", "fine"));
    assert_eq!(fine.unwrap(), [[SqlValue::from("fine")]]);
}

#[test]
fn a_caller_that_went_away_before_its_turn_has_withdrawn_its_work() {
    let database = database(&Location::Memory);
    let (reply, answer) = channel();
    drop(answer);
    commit(
        &database,
        vec![WriteJob {
            task: WriteTask::Scoped(scope(), Keys::none(), insert(0, 1)),
            durability: Durability::Disk,
            reply,
        }],
    );
    assert_eq!(kept(&database), [0_i64; 0]);
}

#[test]
fn a_group_is_as_durable_as_the_most_careful_of_its_works_asks() {
    let folder = tempfile::tempdir().unwrap();
    let database = database(&Location::File(folder.path().join("x.db")));
    let (process, disk) = (Durability::Process, Durability::Disk);
    let (without_waiting, waiting) = (1, 2);
    for (works, expected) in [
        (vec![process], without_waiting),
        (vec![process, process], without_waiting),
        (vec![process, disk, process], waiting),
        (vec![process], without_waiting),
        (vec![disk], waiting),
    ] {
        let answers = group_of(&database, works.iter().map(|durability| (*durability, replace(0))).collect());
        assert!(answers.iter().all(StorageAnswer::is_ok), "{answers:?}");
        assert_eq!(synchronous(&database), expected, "{works:?}");
    }
    assert_eq!(kept(&database), [0]);
}

#[test]
fn a_migration_reaches_the_disk_whatever_came_before() {
    let folder = tempfile::tempdir().unwrap();
    let place = ResolvedLocation::prepare(&Location::File(folder.path().join("x.db"))).unwrap();
    let database = Database::open(&place, ConnectionPurpose::Write).unwrap();
    let mut found = establish(&database).unwrap();
    database.set_durability(Durability::Process).unwrap();
    let (reply, mut answer) = channel();
    alone(&database, &mut found, WriterJob::Migrate("a".to_owned(), vec![NOTES], reply));
    assert_eq!(answer.try_recv().unwrap().unwrap(), Ok(Vec::new()));
    assert_eq!(synchronous(&database), 2);
}

#[test]
fn a_long_log_is_folded_into_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let page_bytes = 4096;
    for pages in [1_500, 5_000] {
        let file = folder.path().join(format!("{pages}.db"));
        let backend = SqliteBackend::open(&Location::File(file.clone())).unwrap();
        let store = backend.open("a");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(store.migrate(vec![NOTES])).unwrap();
        runtime.block_on(store.transact(Keys::Everything, insert(0, pages * page_bytes))).unwrap();
        let deadline = Deadline::after(Duration::from_secs(20));
        while std::fs::metadata(&file).unwrap().len() < (pages * page_bytes) as u64 {
            assert!(!deadline.expired(), "a log of {pages} pages is not folded");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
