//! How far the sending of each mail came, written before the step that cannot be taken back, so that a crash leaves
//! no doubt where there need be none.

use dispatch_contracts::migration::Migration;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Keys, Storage, StorageError, Transaction};
use dispatch_durable_queue::transact;
use std::sync::Arc;

/// The steps of the table.
pub(crate) const MIGRATIONS: &[Migration] = &[Migration::new(1, "sends", SENDS)];

const SENDS: &[&str] = &[
    "CREATE TABLE mail_sends (message TEXT PRIMARY KEY, attempt TEXT NOT NULL, state TEXT NOT NULL, at INTEGER NOT NULL)",
    "CREATE INDEX mail_sends_at ON mail_sends (at)",
];

/// How long what became of a mail is remembered.
const KEPT_MS: u64 = 30 * 24 * 60 * 60 * 1_000;

/// How far a mail came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendStep {
    /// Nothing of it left.
    Connecting,
    /// Its text was on the way; the server may have taken it.
    Handed,
    /// The server took it.
    Taken,
    /// The server did not take it, or the attempt was called off.
    GivenUp,
}

impl SendStep {
    const fn word(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Handed => "handed",
            Self::Taken => "taken",
            Self::GivenUp => "given up",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        [Self::Connecting, Self::Handed, Self::Taken, Self::GivenUp].into_iter().find(|step| step.word() == word)
    }
}

/// The table. Without storage nothing is remembered, and what may have left is unknown.
pub(crate) struct SendJournal {
    pub(crate) storage: Arc<dyn Storage>,
}

fn key(message: &str) -> String {
    format!("channel-mail:send:{message}")
}

fn step_of(tx: &mut dyn Transaction, message: &str) -> Result<Option<SendStep>, StorageError> {
    let found = tx.query(&statement!("SELECT state FROM mail_sends WHERE message = ?1", message))?;
    Ok(found.first().map(|row| row.text(0).map(SendStep::of_word)).transpose()?.flatten())
}

fn write(
    tx: &mut dyn Transaction,
    message: &str,
    attempt: &str,
    step: SendStep,
    now_ms: u64,
) -> Result<(), StorageError> {
    tx.execute(&statement!(
        "INSERT INTO mail_sends (message, attempt, state, at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (message) DO UPDATE SET attempt = ?2, state = ?3, at = ?4",
        message,
        attempt,
        step.word(),
        now_ms
    ))
    .map(drop)
}

impl SendJournal {
    /// Begins an attempt; `false` if the server took the mail before.
    pub(crate) async fn begin(&self, message: &str, attempt: &str, now_ms: u64) -> Result<bool, StorageError> {
        let (message, attempt) = (message.to_owned(), attempt.to_owned());
        let keys = Keys::of([key(&message)]);
        let work = move |tx: &mut dyn Transaction| {
            if step_of(tx, &message)? == Some(SendStep::Taken) {
                return Ok::<_, StorageError>(false);
            }
            write(tx, &message, &attempt, SendStep::Connecting, now_ms)?;
            let old = now_ms.saturating_sub(KEPT_MS);
            tx.execute(&statement!("DELETE FROM mail_sends WHERE at < ?1", old))?;
            Ok(true)
        };
        transact(self.storage.as_ref(), keys, work).await
    }

    /// Notes a step of an attempt; `false` if the attempt was called off meanwhile.
    pub(crate) async fn reach(&self, message: &str, attempt: &str, step: SendStep) -> Result<bool, StorageError> {
        let keys = Keys::of([key(message)]);
        let sql = "UPDATE mail_sends SET state = ?3 WHERE message = ?1 AND attempt = ?2";
        let update = statement!(sql, message, attempt, step.word());
        let work = move |tx: &mut dyn Transaction| Ok::<_, StorageError>(tx.execute(&update)? > 0);
        transact(self.storage.as_ref(), keys, work).await
    }

    /// How far the last attempt came. One that had not handed anything over is called off: it will not do so later.
    pub(crate) async fn settle(&self, message: &str, now_ms: u64) -> Result<SendStep, StorageError> {
        let message = message.to_owned();
        let keys = Keys::of([key(&message)]);
        let work = move |tx: &mut dyn Transaction| {
            let step = step_of(tx, &message)?.unwrap_or(SendStep::Connecting);
            if step == SendStep::Connecting {
                write(tx, &message, "", SendStep::GivenUp, now_ms)?;
                return Ok::<_, StorageError>(SendStep::GivenUp);
            }
            Ok(step)
        };
        transact(self.storage.as_ref(), keys, work).await
    }
}
