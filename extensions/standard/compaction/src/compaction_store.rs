//! Where compactions are kept: a row for each, which names the last turn that it stands for. A change holds the key of
//! its session, so that a summary and an undo from another process come one after the other.

use crate::contract::{Compaction, SummaryAuthor};
use dispatch_contracts::ids::{SessionId, TurnId};
use dispatch_contracts::migration::Migration;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Keys, Record, Statement, Storage, StorageError, Transaction};
use dispatch_durable_queue::transact;
use ext_conversation_store::contract::ledger::session_key;
use ext_session_orchestrator::contract::PastTurn;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The most compactions that are kept of one session; the oldest go first.
const MAX_KEPT: usize = 16;
/// The most sessions that are remembered without storage.
const MAX_REMEMBERED: usize = 1_000;

/// The tables.
pub(crate) const MIGRATIONS: &[Migration] = &[Migration::new(
    1,
    "summaries",
    &[
        "CREATE TABLE summaries (
            session TEXT NOT NULL,
            through_turn TEXT NOT NULL,
            turns INTEGER NOT NULL,
            summary TEXT NOT NULL,
            author TEXT NOT NULL,
            made_at INTEGER NOT NULL,
            PRIMARY KEY (session, through_turn)
        )",
        "CREATE TABLE undone_summaries (
            session TEXT NOT NULL,
            through_turn TEXT NOT NULL,
            PRIMARY KEY (session, through_turn)
        )",
    ],
)];

/// What is stored of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionCompactions {
    /// Those that were made in this session, oldest first.
    pub(crate) made: Vec<Compaction>,
    /// The turns whose compaction was taken back in this session.
    pub(crate) undone: Vec<TurnId>,
}

impl SessionCompactions {
    /// Adds one. The one that it replaces is not undone any more.
    pub(crate) fn add(&mut self, compaction: Compaction) {
        self.undone.retain(|turn| *turn != compaction.through);
        self.made.retain(|known| known.through != compaction.through);
        self.made.push(compaction);
        let surplus = self.made.len().saturating_sub(MAX_KEPT);
        self.made.drain(..surplus);
    }
}

/// The compaction in force for a history, and how many of its turns it stands for: the one that stands for the most,
/// of those that its session did not undo.
pub(crate) fn in_force<'a>(
    turns: &[PastTurn],
    known: &'a [SessionCompactions],
    undone: &[TurnId],
) -> Option<(usize, &'a Compaction)> {
    let all = known.iter().flat_map(|session| &session.made);
    let places = all.filter(|compaction| !undone.contains(&compaction.through)).filter_map(|compaction| {
        let place = turns.iter().position(|turn| turn.turn == compaction.through)?;
        Some((place + 1, compaction))
    });
    places.max_by_key(|(turns, compaction)| (*turns, compaction.at_ms))
}

/// The store; in memory where there is no storage.
pub(crate) struct CompactionStore {
    storage: Option<Arc<dyn Storage>>,
    memory: Mutex<BTreeMap<SessionId, SessionCompactions>>,
}

impl CompactionStore {
    pub(crate) fn new(storage: Option<Arc<dyn Storage>>) -> Self {
        Self { storage, memory: Mutex::default() }
    }

    /// The compactions that were made in a session, oldest first.
    pub(crate) async fn made(&self, session: &SessionId) -> Result<Vec<Compaction>, StorageError> {
        let Some(storage) = &self.storage else { return Ok(self.remembered(session).made) };
        made_from(&storage.query(made_in(session)).await?)
    }

    /// The turns whose compaction was taken back in a session.
    pub(crate) async fn undone(&self, session: &SessionId) -> Result<Vec<TurnId>, StorageError> {
        let Some(storage) = &self.storage else { return Ok(self.remembered(session).undone) };
        undone_from(&storage.query(undone_in(session)).await?)
    }

    /// Adds a compaction of a session.
    pub(crate) async fn add(&self, session: &SessionId, compaction: Compaction) -> Result<(), StorageError> {
        let Some(storage) = &self.storage else {
            self.remember(session, |all| all.add(compaction));
            return Ok(());
        };
        let session = session.clone();
        transact(storage.as_ref(), held(&session), move |tx| add_in(tx, &session, compaction)).await
    }

    /// Takes back the compaction that stands for all turns up to this one.
    pub(crate) async fn undo(&self, session: &SessionId, through: &TurnId) -> Result<(), StorageError> {
        let Some(storage) = &self.storage else {
            self.remember(session, |all| all.undone.push(through.clone()));
            return Ok(());
        };
        let insert = statement!(
            "INSERT INTO undone_summaries (session, through_turn) VALUES (?1, ?2)
             ON CONFLICT (session, through_turn) DO NOTHING",
            session,
            through
        );
        transact(storage.as_ref(), held(session), move |tx| tx.execute(&insert).map(drop)).await
    }

    /// Those that were made in the sessions beside this one that wrote turns of its history.
    pub(crate) async fn load_others(
        &self,
        turns: &[PastTurn],
        own: &SessionId,
    ) -> Result<Vec<SessionCompactions>, StorageError> {
        let mut sessions: Vec<&SessionId> = turns.iter().map(|turn| &turn.session).filter(|id| *id != own).collect();
        sessions.sort();
        sessions.dedup();
        let mut found = Vec::with_capacity(sessions.len());
        for session in sessions {
            found.push(SessionCompactions { made: self.made(session).await?, undone: Vec::new() });
        }
        Ok(found)
    }

    fn remembered(&self, session: &SessionId) -> SessionCompactions {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).get(session).cloned().unwrap_or_default()
    }

    fn remember(&self, session: &SessionId, change: impl FnOnce(&mut SessionCompactions)) {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.len() >= MAX_REMEMBERED && !memory.contains_key(session) {
            memory.pop_first();
        }
        change(memory.entry(session.clone()).or_default());
    }
}

/// What a change of a session's summaries works on.
fn held(session: &SessionId) -> Keys {
    Keys::of([session_key(session)])
}

fn made_in(session: &SessionId) -> Statement {
    statement!(
        "SELECT through_turn, turns, summary, author, made_at FROM summaries WHERE session = ?1
         ORDER BY made_at, through_turn",
        session
    )
}

fn undone_in(session: &SessionId) -> Statement {
    statement!("SELECT through_turn FROM undone_summaries WHERE session = ?1", session)
}

/// The rows of a session become those of what it has then.
fn add_in(tx: &mut dyn Transaction, session: &SessionId, compaction: Compaction) -> Result<(), StorageError> {
    let mut all = SessionCompactions {
        made: made_from(&tx.query(&made_in(session))?)?,
        undone: undone_from(&tx.query(&undone_in(session))?)?,
    };
    let before: Vec<TurnId> = all.made.iter().map(|known| known.through.clone()).collect();
    let new = compaction.clone();
    all.add(compaction);
    let is_kept = |through: &TurnId| *through != new.through && all.made.iter().any(|kept| kept.through == *through);
    for gone in before.iter().filter(|through| !is_kept(through)) {
        tx.execute(&statement!("DELETE FROM summaries WHERE session = ?1 AND through_turn = ?2", session, gone))?;
    }
    tx.execute(&statement!(
        "DELETE FROM undone_summaries WHERE session = ?1 AND through_turn = ?2",
        session,
        &new.through
    ))?;
    let turns = u64::try_from(new.turns).unwrap_or(u64::MAX);
    tx.execute(&statement!(
        "INSERT INTO summaries (session, through_turn, turns, summary, author, made_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        session,
        &new.through,
        turns,
        &new.summary,
        new.by.word(),
        new.at_ms
    ))?;
    Ok(())
}

fn made_from(made: &[Record]) -> Result<Vec<Compaction>, StorageError> {
    let compaction = |record: &Record| -> Result<Compaction, StorageError> {
        Ok(Compaction {
            through: TurnId::new(record.text(0)?),
            turns: usize::try_from(record.unsigned(1)?).unwrap_or(usize::MAX),
            summary: record.text(2)?.to_owned(),
            by: if record.text(3)? == SummaryAuthor::Model.word() { SummaryAuthor::Model } else { SummaryAuthor::Rule },
            at_ms: record.unsigned(4)?,
        })
    };
    made.iter().map(compaction).collect()
}

fn undone_from(undone: &[Record]) -> Result<Vec<TurnId>, StorageError> {
    undone.iter().map(|record| record.text(0).map(TurnId::new)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compaction(through: &str, at_ms: u64) -> Compaction {
        Compaction {
            through: TurnId::new(through),
            turns: 1,
            summary: format!("up to {through}"),
            by: SummaryAuthor::Model,
            at_ms,
        }
    }

    fn past(turns: &[&str]) -> Vec<PastTurn> {
        let turn = |id: &&str| PastTurn {
            turn: TurnId::new(*id),
            session: SessionId::new("s"),
            messages: Vec::new(),
            end: None,
        };
        turns.iter().map(turn).collect()
    }

    #[test]
    fn the_compaction_that_stands_for_most_is_in_force_unless_it_was_undone() {
        let mut session = SessionCompactions::default();
        for (through, at_ms) in [("b", 1), ("c", 2), ("elsewhere", 3)] {
            session.add(compaction(through, at_ms));
        }
        let known = [session];
        let found = |turns: &[&str], undone: &[&str]| {
            let undone: Vec<TurnId> = undone.iter().map(|turn| TurnId::new(*turn)).collect();
            in_force(&past(turns), &known, &undone).map(|(turns, compaction)| (turns, compaction.summary.clone()))
        };
        let some = |turns: usize, summary: &str| Some((turns, summary.to_owned()));
        assert_eq!(found(&["a", "b", "c", "d"], &[]), some(3, "up to c"));
        assert_eq!(found(&["a", "b", "c", "d"], &["c"]), some(2, "up to b"));
        assert_eq!(found(&["a", "b"], &[]), some(2, "up to b"), "a fork from b");
        assert_eq!(found(&["a"], &[]), None, "a fork from before");
        assert_eq!(found(&["a", "b", "c"], &["b", "c"]), None);
    }

    #[test]
    fn a_compaction_made_again_is_not_undone_any_more_and_old_ones_go() {
        let mut session = SessionCompactions { undone: vec![TurnId::new("t3")], ..SessionCompactions::default() };
        for number in 0..40 {
            session.add(compaction(&format!("t{number}"), number));
        }
        assert!(session.undone.is_empty());
        assert_eq!(session.made.len(), MAX_KEPT);
        assert_eq!(session.made.last().unwrap().through, TurnId::new("t39"));
    }
}
