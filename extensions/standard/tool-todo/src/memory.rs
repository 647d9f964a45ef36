//! Keeps the lists of sessions in memory while there is no storage.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dispatch_contracts::ids::SessionId;

use crate::list::TodoItem;

/// Sessions remembered; the one changed longest ago is forgotten first.
const MAX_SESSIONS: usize = 1_000;

#[derive(Default)]
pub(crate) struct TodoMemory {
    lists: Mutex<TodoLists>,
}

#[derive(Default)]
struct TodoLists {
    changes: u64,
    all: BTreeMap<SessionId, (u64, Vec<TodoItem>)>,
}

impl TodoMemory {
    pub(crate) fn get(&self, session: &SessionId) -> Option<Vec<TodoItem>> {
        self.lock().all.get(session).map(|(_, items)| items.clone())
    }

    pub(crate) fn put(&self, session: &SessionId, items: Vec<TodoItem>) {
        let mut lists = self.lock();
        lists.changes += 1;
        let now = lists.changes;
        lists.all.insert(session.clone(), (now, items));
        if lists.all.len() > MAX_SESSIONS {
            let oldest = lists.all.iter().min_by_key(|(_, (at, _))| *at).map(|(session, _)| session.clone());
            oldest.and_then(|session| lists.all.remove(&session));
        }
    }

    pub(crate) fn forget(&self, session: &SessionId) {
        self.lock().all.remove(session);
    }

    fn lock(&self) -> MutexGuard<'_, TodoLists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_changed_longest_ago_is_forgotten() {
        let memory = TodoMemory::default();
        for index in 0..=MAX_SESSIONS {
            memory.put(&SessionId::new(format!("s{index}")), Vec::new());
        }
        assert_eq!(memory.get(&"s0".into()), None);
        assert_eq!(memory.get(&"s1".into()), Some(Vec::new()));
    }
}
