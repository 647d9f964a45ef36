//! All or nothing, alone or together.

use super::{change, notes, rows, together};
use dispatch_contracts::migration::Migration;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Keys, SqlValue, StorageBackend, StorageError};
use std::sync::Arc;

const PRODUCERS: i64 = 64;

pub(super) async fn whole(backend: Arc<dyn StorageBackend>) {
    let store = notes(&backend, "a").await;
    let given = store
        .transact(
            Keys::Everything,
            Box::new(|tx| {
                tx.execute(&statement!("INSERT INTO notes (body) VALUES (?1)", "one"))?;
                tx.execute(&statement!("INSERT INTO notes (body) VALUES (?1)", "two"))?;
                tx.query(&statement!("SELECT body FROM notes ORDER BY id"))
            }),
        )
        .await
        .expect("it is right");
    assert_eq!(given, rows(&store, statement!("SELECT body FROM notes ORDER BY id")).await);
    assert_eq!(given.len(), 2, "a work sees what it wrote, and so does everybody after it");
    let given_up = store
        .transact(
            Keys::Everything,
            Box::new(|tx| {
                tx.execute(&statement!("DELETE FROM notes"))?;
                Err(StorageError::GivenUp("changed my mind".to_owned()))
            }),
        )
        .await;
    assert_eq!(given_up, Err(StorageError::GivenUp("changed my mind".to_owned())));
    assert_eq!(rows(&store, statement!("SELECT id FROM notes")).await.len(), 2, "everything was rolled back");
}

pub(super) async fn alone(backend: Arc<dyn StorageBackend>) {
    let store = notes(&backend, "a").await;
    let outcomes = together((0..PRODUCERS).map(|number| {
        store.transact(
            Keys::none(),
            Box::new(move |tx| {
                tx.execute(&statement!(
                    "INSERT INTO notes (id, body) VALUES (?1, ?2)",
                    number,
                    format!("note {number}")
                ))?;
                if number % 3 == 0 {
                    return Err(StorageError::GivenUp(number.to_string()));
                }
                Ok(Vec::new())
            }),
        )
    }))
    .await;
    for (number, outcome) in (0..).zip(&outcomes) {
        let expected = if number % 3 == 0 { Err(StorageError::GivenUp(number.to_string())) } else { Ok(Vec::new()) };
        assert_eq!(*outcome, expected);
    }
    let kept = rows(&store, statement!("SELECT id FROM notes ORDER BY id")).await;
    let kept: Vec<i64> = kept.iter().map(|row| row.integer(0).expect("an id")).collect();
    assert_eq!(kept, (0..PRODUCERS).filter(|number| number % 3 != 0).collect::<Vec<_>>());
}

pub(super) async fn later(backend: Arc<dyn StorageBackend>) {
    let store = notes(&backend, "a").await;
    let insert = |number: i64| statement!("INSERT INTO notes (body) VALUES (?1)", format!("note {number}"));
    let change = |from: &str, to: &str| statement!("UPDATE notes SET body = ?2 WHERE body = ?1", from, to);
    let seen = store.transact(
        Keys::Everything,
        Box::new(move |tx| {
            (0..PRODUCERS).try_for_each(|number| tx.execute_later(insert(number)))?;
            tx.execute_later(change("note 7", "first"))?;
            tx.execute_later(change("first", "second"))?;
            let changed = tx.execute(&change("second", "third"))?;
            tx.execute_later(change("third", "last"))?;
            Ok(vec![vec![SqlValue::from(changed)], tx.query(&statement!("SELECT body FROM notes"))?.concat()])
        }),
    );
    let seen = seen.await.expect("it is right");
    assert_eq!(seen[0], [SqlValue::from(1_u64)], "what went before it was done");
    assert_eq!(seen[1].len() as i64, PRODUCERS);
    assert!(seen[1].contains(&SqlValue::from("last")), "{seen:?}");
    for before in [0, 3] {
        let failed = store.transact(
            Keys::Everything,
            Box::new(move |tx| {
                tx.execute(&statement!("INSERT INTO notes (body) VALUES ('fresh')"))?;
                tx.execute_later(statement!("INSERT INTO notes (body) VALUES ('last')"))?;
                // Whoever goes on does so in vain.
                for number in 0..before {
                    let _ = tx.execute_later(insert(PRODUCERS + number));
                }
                Ok(Vec::new())
            }),
        );
        assert!(matches!(failed.await, Err(StorageError::Constraint(_))));
        let left = rows(&store, statement!("SELECT body FROM notes")).await;
        assert_eq!(left.len() as i64, PRODUCERS, "nothing of it happened");
    }
}

pub(super) async fn panicking(backend: Arc<dyn StorageBackend>) {
    let store = notes(&backend, "a").await;
    let works = [true, false].map(|panics| {
        store.transact(
            Keys::Everything,
            Box::new(move |tx| {
                tx.execute(&statement!("INSERT INTO notes (body) VALUES (?1)", format!("panics: {panics}")))?;
                // Unwinds without the message that a panic prints.
                if panics {
                    std::panic::resume_unwind(Box::new("on purpose"));
                }
                Ok(Vec::new())
            }),
        )
    });
    let outcomes = together(works).await;
    assert!(matches!(outcomes.first(), Some(Err(StorageError::GivenUp(_)))), "{outcomes:?}");
    assert_eq!(outcomes.get(1), Some(&Ok(Vec::new())), "the thread lives on");
    let kept = rows(&store, statement!("SELECT body FROM notes")).await;
    assert_eq!(kept, [[SqlValue::from("panics: false")]]);
}

const FAMILY: &[Migration] = &[Migration::new(
    1,
    "family",
    &[
        "CREATE TABLE parents (id INTEGER PRIMARY KEY)",
        "CREATE TABLE children (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, age INTEGER CHECK (age >= 0),
         parent INTEGER REFERENCES parents (id),
         later INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)",
    ],
)];

pub(super) async fn constraints(backend: Arc<dyn StorageBackend>) {
    let store = backend.open("a");
    store.migrate(FAMILY.to_vec()).await.expect("the tables can be made");
    change(&store, statement!("INSERT INTO children (name) VALUES ('x')")).await.expect("the first is free");
    for refused in [
        "INSERT INTO children (name) VALUES ('x')",
        "INSERT INTO children (name) VALUES (NULL)",
        "INSERT INTO children (name, age) VALUES ('y', -1)",
        "INSERT INTO children (name, parent) VALUES ('y', 7)",
    ] {
        let outcome = change(&store, statement!(refused)).await;
        assert!(matches!(outcome, Err(StorageError::Constraint(_))), "{refused}: {outcome:?}");
    }
    assert_eq!(rows(&store, statement!("SELECT id FROM children")).await.len(), 1);
}

pub(super) async fn deferred(backend: Arc<dyn StorageBackend>) {
    let store = backend.open("a");
    store.migrate(FAMILY.to_vec()).await.expect("the tables can be made");
    let late = |number: i64| {
        let store = Arc::clone(&store);
        async move {
            let work = store.transact(
                Keys::Everything,
                Box::new(move |tx| {
                    let name = format!("child {number}");
                    tx.execute(&statement!("INSERT INTO children (name, later) VALUES (?1, ?2)", name, number))?;
                    if number % 2 == 0 {
                        tx.execute(&statement!("INSERT INTO parents (id) VALUES (?1)", number))?;
                    }
                    Ok(Vec::new())
                }),
            );
            work.await
        }
    };
    let outcomes = together((0..8).map(late)).await;
    for (number, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.is_ok(), number % 2 == 0, "{number}: {outcome:?}");
    }
    assert_eq!(rows(&store, statement!("SELECT id FROM children")).await.len(), 4);
}

pub(super) async fn counts(backend: Arc<dyn StorageBackend>) {
    let store = notes(&backend, "a").await;
    store
        .transact(
            Keys::Everything,
            Box::new(|tx| {
                let count =
                    tx.execute(&statement!("INSERT INTO notes (id, body) VALUES (1, 'a'), (2, 'b'), (3, 'c')"))?;
                assert_eq!(count, 3);
                assert_eq!(tx.execute(&statement!("SELECT 1"))?, 0, "a query changes nothing");
                assert_eq!(tx.execute(&statement!("UPDATE notes SET body = body || '!' WHERE id > ?1", 1_i64))?, 2);
                assert_eq!(tx.execute(&statement!("UPDATE notes SET body = 'z' WHERE id = 99"))?, 0);
                let again = statement!("INSERT INTO notes (id, body) VALUES (1, 'a') ON CONFLICT (id) DO NOTHING");
                assert_eq!(tx.execute(&again)?, 0);
                let upsert = "INSERT INTO notes (id, body) VALUES (?1, ?2)
                 ON CONFLICT (id) DO UPDATE SET body = excluded.body RETURNING id, body";
                assert_eq!(tx.query(&statement!(upsert, 1_i64, "A"))?, [[SqlValue::from(1_i64), SqlValue::from("A")]]);
                let next = tx.query(&statement!("INSERT INTO notes (body) VALUES ('next') RETURNING id"))?;
                assert_eq!(next, [[SqlValue::from(4_i64)]], "a key that is left out is the next number");
                assert_eq!(tx.execute(&statement!("DELETE FROM notes"))?, 4);
                Ok(Vec::new())
            }),
        )
        .await
        .expect("all of it is right");
}

pub(super) async fn concurrent(backend: Arc<dyn StorageBackend>) {
    const ROUNDS: i64 = 20;
    let store = notes(&backend, "a").await;
    change(&store, statement!("INSERT INTO notes (id, body) VALUES (0, '0')")).await.expect("the counter is new");
    let count = |producer: i64| {
        let store = Arc::clone(&store);
        async move {
            for round in 0..ROUNDS {
                // Every other one learns what it works on as it goes.
                let keys = if producer % 2 == 0 { Keys::of(["counter"]) } else { Keys::none() };
                let work = store.transact(
                    keys,
                    Box::new(move |tx| {
                        tx.lock("counter")?;
                        let now = tx.query(&statement!("SELECT body FROM notes WHERE id = 0"))?;
                        let now: i64 = now.first().and_then(|row| row.text(0).ok()?.parse().ok()).expect("a number");
                        tx.execute(&statement!("UPDATE notes SET body = ?1 WHERE id = 0", (now + 1).to_string()))?;
                        let id = 1 + producer * ROUNDS + round;
                        tx.execute(&statement!("INSERT INTO notes (id, body) VALUES (?1, ?2)", id, format!("n{id}")))?;
                        Ok(Vec::new())
                    }),
                );
                work.await.expect("every work succeeds");
            }
        }
    };
    together((0..PRODUCERS).map(count)).await;
    let total = rows(&store, statement!("SELECT body FROM notes WHERE id = 0")).await;
    assert_eq!(total, [[SqlValue::from((PRODUCERS * ROUNDS).to_string())]]);
    let count = rows(&store, statement!("SELECT COUNT(*) FROM notes")).await;
    assert_eq!(count, [[SqlValue::from(PRODUCERS * ROUNDS + 1)]]);
}

pub(super) async fn keys(backend: Arc<dyn StorageBackend>) {
    let store = notes(&backend, "a").await;
    let work = store.transact(
        Keys::of(["b", "d"]),
        Box::new(|tx| {
            tx.lock("b")?;
            assert!(tx.lock("c").is_err(), "keys are waited for in one order");
            assert_eq!(tx.try_lock("a"), Ok(true), "a free key is taken in any order");
            tx.lock("a")?;
            tx.lock("e")?;
            tx.lock("e")?;
            Ok(Vec::new())
        }),
    );
    work.await.expect("a refused key is not the end");
    let all = store.transact(Keys::Everything, Box::new(|tx| tx.lock("a").and(Ok(vec![vec![SqlValue::Null]]))));
    assert_eq!(all.await, Ok(vec![vec![SqlValue::Null]]), "who has everything has every key");
}

pub(super) async fn wrong(backend: Arc<dyn StorageBackend>) {
    let store = notes(&backend, "a").await;
    for statement in [
        statement!("SELEKT 1"),
        statement!(""),
        statement!("SELECT missing FROM notes"),
        statement!("SELECT id FROM missing"),
        statement!("SELECT id FROM notes WHERE id = ?1"),
        statement!("SELECT id FROM notes", 1_i64),
        statement!("SELECT 1; SELECT 2"),
        statement!("SELECT \"text in double quotes is a name\""),
    ] {
        let outcome = store.query(statement.clone()).await;
        assert!(matches!(outcome, Err(StorageError::Statement(_))), "{statement:?}: {outcome:?}");
        let outcome = change(&store, statement.clone()).await;
        assert!(matches!(outcome, Err(StorageError::Statement(_))), "{statement:?}: {outcome:?}");
    }
    let outcome = store.query(statement!("INSERT INTO notes (body) VALUES ('x')")).await;
    assert!(matches!(outcome, Err(StorageError::Statement(_))), "a change outside a transaction: {outcome:?}");
    assert!(rows(&store, statement!("SELECT id FROM notes")).await.is_empty());
}
