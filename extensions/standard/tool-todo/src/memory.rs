//! Lists of sessions while no storage keeps them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dispatch_contracts::ids::SessionId;

use crate::list::Item;

/// Sessions remembered; the one changed longest ago is forgotten first.
const MAX_SESSIONS: usize = 1_000;

#[derive(Default)]
pub(crate) struct Memory {
    lists: Mutex<Lists>,
}

#[derive(Default)]
struct Lists {
    changes: u64,
    all: BTreeMap<SessionId, (u64, Vec<Item>)>,
}

impl Memory {
    pub(crate) fn get(&self, session: &SessionId) -> Option<Vec<Item>> {
        self.lock().all.get(session).map(|(_, items)| items.clone())
    }

    pub(crate) fn put(&self, session: &SessionId, items: Vec<Item>) {
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

    fn lock(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_changed_longest_ago_is_forgotten() {
        let memory = Memory::default();
        for index in 0..=MAX_SESSIONS {
            memory.put(&SessionId::new(format!("s{index}")), Vec::new());
        }
        assert_eq!(memory.get(&"s0".into()), None);
        assert_eq!(memory.get(&"s1".into()), Some(Vec::new()));
    }
}
