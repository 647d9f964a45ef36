//! Groups that meet a full disk, a statement without end, or a caller that went away.

use super::*;
use crate::bookkeeping::establish;
use crate::contract::Location;
use crate::database::Purpose;
use crate::place::Place;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, SqlValue};
use futures_channel::oneshot::{Receiver, channel};

const NOTES: Migration =
    Migration { version: 1, name: "notes", statements: &["CREATE TABLE notes (id INTEGER PRIMARY KEY, body BLOB)"] };
const ENDLESS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) ";

fn scope() -> Arc<Scope> {
    Arc::new(Scope { mark: "/*0*/".to_owned(), namespaces: vec!["a".to_owned()] })
}

fn database(location: &Location) -> Database {
    let place = Place::prepare(location).unwrap();
    let database = Database::open(&place, Purpose::Write).unwrap();
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

fn group(database: &Database, works: Vec<TransactionWork>) -> Vec<Answer> {
    let (works, answers): (Vec<Work>, Vec<Receiver<Answer>>) = works
        .into_iter()
        .map(|work| {
            let (reply, answer) = channel();
            (Work { task: Task::Scoped(scope(), work), reply }, answer)
        })
        .unzip();
    commit(database, works);
    answers.into_iter().map(|mut answer| answer.try_recv().unwrap().unwrap()).collect()
}

fn kept(database: &Database) -> Vec<i64> {
    let rows = database.query(&scope(), &statement!("SELECT id FROM notes ORDER BY id")).unwrap();
    rows.iter().map(|row| row.integer(0).unwrap()).collect()
}

/// What was answered with success is there, and nothing else is.
fn check(database: &Database, answers: &[Answer]) {
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
    assert!(matches!(&answers[1], Err(StorageError::Statement(said)) if said.contains("too long")), "{answers:?}");
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
    commit(&database, vec![Work { task: Task::Scoped(scope(), insert(0, 1)), reply }]);
    assert_eq!(kept(&database), [0_i64; 0]);
}
