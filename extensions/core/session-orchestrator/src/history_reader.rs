//! Reads the past for a turn: all of it, unless an extension makes it fit the model.

use crate::contract::{HistoryCompaction, HistoryReading, PastTurn, ReadConversation};
use dispatch_contracts::ids::SessionId;
use dispatch_contracts::provider::Provider;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What reads the past.
#[derive(Default)]
pub(crate) struct HistoryReader {
    compaction: Mutex<Option<Arc<dyn HistoryCompaction>>>,
}

impl HistoryReader {
    fn compaction(&self) -> MutexGuard<'_, Option<Arc<dyn HistoryCompaction>>> {
        self.compaction.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn read(
        &self,
        session: &SessionId,
        past: Vec<PastTurn>,
        provider: Arc<dyn Provider>,
    ) -> ReadConversation {
        let compaction = self.compaction().clone();
        match compaction {
            Some(compaction) => compaction.read(session, past, provider).await,
            None => ReadConversation { history: past.into_iter().flat_map(|turn| turn.messages).collect(), provider },
        }
    }
}

impl HistoryReading for HistoryReader {
    fn compact_with(&self, compaction: Option<Arc<dyn HistoryCompaction>>) {
        *self.compaction() = compaction;
    }
}
