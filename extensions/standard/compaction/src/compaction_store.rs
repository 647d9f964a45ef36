//! Where compactions are kept: one value per session, written as a whole.

use crate::contract::Compaction;
use dispatch_contracts::ids::{SessionId, TurnId};
use dispatch_contracts::storage::{Storage, StorageError};
use ext_session_orchestrator::contract::PastTurn;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The most compactions that are kept of one session; the oldest go first.
const MAX_KEPT: usize = 16;
/// The most sessions that are remembered without storage.
const MAX_REMEMBERED: usize = 1_000;

/// What is stored of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
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

    /// What is stored of a session; a value that cannot be read counts as none, and the history is whole.
    pub(crate) async fn load(&self, session: &SessionId) -> Result<SessionCompactions, StorageError> {
        let Some(storage) = &self.storage else {
            let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
            return Ok(memory.get(session).cloned().unwrap_or_default());
        };
        let found = storage.get(&key(session)).await?;
        Ok(found.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default())
    }

    pub(crate) async fn save(&self, session: &SessionId, all: &SessionCompactions) -> Result<(), StorageError> {
        let Some(storage) = &self.storage else {
            let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
            if memory.len() >= MAX_REMEMBERED && !memory.contains_key(session) {
                memory.pop_first();
            }
            memory.insert(session.clone(), all.clone());
            return Ok(());
        };
        let bytes = serde_json::to_vec(all).map_err(|error| StorageError::GivenUp(error.to_string()))?;
        storage.put(&key(session), Some(bytes)).await
    }

    /// The same for all sessions that wrote turns of a history.
    pub(crate) async fn load_all(&self, turns: &[PastTurn]) -> Result<Vec<SessionCompactions>, StorageError> {
        let mut sessions: Vec<&SessionId> = turns.iter().map(|turn| &turn.session).collect();
        sessions.sort();
        sessions.dedup();
        let mut found = Vec::with_capacity(sessions.len());
        for session in sessions {
            found.push(self.load(session).await?);
        }
        Ok(found)
    }
}

fn key(session: &SessionId) -> String {
    format!("session/{session}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::SummaryAuthor;

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
