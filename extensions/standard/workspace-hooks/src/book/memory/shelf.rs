//! What a step does to the book in memory; a step that is refused leaves nothing behind.

use crate::book::shelf::{CLEARED_AT_ONCE, KEPT_MS, KEPT_RECORDS, WRITES_KEPT_MS};
use crate::book::{BookError, Key, Run, Shelf, Write, WriteState};
use crate::contract::{RunId, Status, Usage};
use std::collections::BTreeMap;

/// Everything, and how the present step is taken back.
#[derive(Default)]
pub(super) struct MemoryShelf {
    /// Runs that wait or go, and those that are over; so many are over that they are not looked through for the others.
    pub(super) open: BTreeMap<u64, Run>,
    pub(super) over: BTreeMap<u64, Run>,
    pub(super) outputs: BTreeMap<u64, String>,
    pub(super) owners: BTreeMap<String, u64>,
    pub(super) version: u64,
    last_number: u64,
    /// The run of each key that was begun last.
    begun: BTreeMap<Key, u64>,
    events: BTreeMap<(String, String), u64>,
    writes: BTreeMap<(String, String, u64), Write>,
    spending: BTreeMap<(String, String, u64), Usage>,
    undo: Vec<Undo>,
}

type Undo = Box<dyn FnOnce(&mut MemoryShelf) + Send>;

/// Changes one entry of a map and notes how it was.
macro_rules! put {
    ($self:ident, $map:ident, $key:expr, $value:expr) => {{
        let key = $key;
        let value: Option<_> = $value;
        let before = match value {
            Some(value) => $self.$map.insert(key.clone(), value),
            None => $self.$map.remove(&key),
        };
        $self.undo.push(Box::new(move |shelf| match before {
            Some(before) => drop(shelf.$map.insert(key, before)),
            None => drop(shelf.$map.remove(&key)),
        }));
    }};
}

impl MemoryShelf {
    /// Ends a step: what it did stays, or is taken back.
    pub(super) fn settle(&mut self, keep: bool) {
        let undo = std::mem::take(&mut self.undo);
        if !keep {
            undo.into_iter().rev().for_each(|undo| undo(self));
        }
    }

    pub(super) fn runs(&self) -> impl Iterator<Item = &Run> {
        self.over.values().chain(self.open.values())
    }

    fn get(&self, number: u64) -> Option<&Run> {
        self.open.get(&number).or_else(|| self.over.get(&number))
    }

    fn forget(&mut self, which: impl Fn(&(String, String, u64), &Write) -> bool) {
        let found: Vec<_> =
            self.writes.iter().filter(|(key, write)| which(key, write)).map(|(key, _)| key.clone()).collect();
        for key in found {
            put!(self, writes, key, None);
        }
    }
}

impl Shelf for MemoryShelf {
    fn find(&mut self, number: u64) -> Result<Option<Run>, BookError> {
        Ok(self.get(number).cloned())
    }

    fn named(&mut self, id: &RunId) -> Result<Option<Run>, BookError> {
        Ok(self.runs().find(|run| run.id == *id).cloned())
    }

    fn waiting(&mut self, key: &Key) -> Result<Option<Run>, BookError> {
        Ok(self.open.values().rev().find(|run| run.key == *key && run.status == Status::Queued).cloned())
    }

    fn last_begun(&mut self, key: &Key) -> Result<Option<Run>, BookError> {
        Ok(self.begun.get(key).and_then(|number| self.get(*number)).cloned())
    }

    fn running(&mut self, workspace: &str) -> Result<Vec<Key>, BookError> {
        let going = |run: &&Run| run.key.workspace == workspace && run.status == Status::Running;
        Ok(self.open.values().filter(going).map(|run| run.key.clone()).collect())
    }

    fn waiting_count(&mut self, workspace: &str) -> Result<u64, BookError> {
        let waits = |run: &&Run| run.key.workspace == workspace && run.status == Status::Queued;
        Ok(self.open.values().filter(waits).count() as u64)
    }

    fn waiting_of(&mut self, workspace: &str, hook: &str, limit: u32) -> Result<Vec<Run>, BookError> {
        let waits = |run: &&Run| run.key.workspace == workspace && run.key.hook == hook && run.status == Status::Queued;
        Ok(self.open.values().filter(waits).take(limit as usize).cloned().collect())
    }

    fn begun_since(
        &mut self,
        workspace: &str,
        hook: &str,
        since_ms: u64,
        now_ms: u64,
        limit: u32,
    ) -> Result<Vec<u64>, BookError> {
        let ours = self.runs().filter(|run| run.key.workspace == workspace && run.key.hook == hook);
        let mut begun: Vec<u64> =
            ours.filter_map(|run| run.started_ms).filter(|at| *at > since_ms && *at <= now_ms).collect();
        begun.sort_unstable_by(|a, b| b.cmp(a));
        begun.truncate(limit as usize);
        Ok(begun)
    }

    fn spent(&mut self, workspace: &str, hook: &str, day: u64) -> Result<Usage, BookError> {
        let key = (workspace.to_owned(), hook.to_owned(), day);
        Ok(self.spending.get(&key).copied().unwrap_or_default())
    }

    fn spend(&mut self, workspace: &str, hook: &str, day: u64, usage: Usage) -> Result<(), BookError> {
        let before = self.spent(workspace, hook, day)?;
        let sum = Usage {
            tokens: before.tokens.saturating_add(usage.tokens),
            micro_usd: before.micro_usd.saturating_add(usage.micro_usd),
        };
        put!(self, spending, (workspace.to_owned(), hook.to_owned(), day), Some(sum));
        Ok(())
    }

    fn note_event(&mut self, workspace: &str, event: &str, now_ms: u64) -> Result<bool, BookError> {
        let key = (workspace.to_owned(), event.to_owned());
        if self.events.contains_key(&key) {
            return Ok(false);
        }
        put!(self, events, key, Some(now_ms));
        Ok(true)
    }

    fn writes(&mut self, workspace: &str, path: &str) -> Result<Vec<Write>, BookError> {
        let from = (workspace.to_owned(), path.to_owned(), 0);
        let to = (workspace.to_owned(), path.to_owned(), u64::MAX);
        Ok(self.writes.range(from..=to).map(|(_, write)| write.clone()).collect())
    }

    fn keep_write(&mut self, workspace: &str, write: &Write) -> Result<(), BookError> {
        put!(self, writes, (workspace.to_owned(), write.path.clone(), write.run), Some(write.clone()));
        Ok(())
    }

    fn forget_left(&mut self, workspace: &str, path: &str) -> Result<(), BookError> {
        self.forget(|key, write| key.0 == workspace && key.1 == path && write.state == WriteState::Left);
        Ok(())
    }

    fn forget_live(&mut self, run: u64) -> Result<(), BookError> {
        self.forget(|key, write| key.2 == run && write.state == WriteState::Live);
        Ok(())
    }

    fn insert(&mut self, run: &mut Run) -> Result<(), BookError> {
        self.last_number += 1;
        run.number = self.last_number;
        self.save(run)
    }

    fn save(&mut self, run: &mut Run) -> Result<(), BookError> {
        self.version += 1;
        run.version = self.version;
        let over = run.status.is_over();
        put!(self, open, run.number, (!over).then(|| run.clone()));
        put!(self, over, run.number, over.then(|| run.clone()));
        if run.status == Status::Running {
            put!(self, begun, run.key.clone(), Some(run.number));
        }
        Ok(())
    }

    fn remove(&mut self, number: u64) -> Result<(), BookError> {
        put!(self, open, number, None);
        put!(self, over, number, None);
        Ok(())
    }

    fn keep_output(&mut self, number: u64, output: &str) -> Result<(), BookError> {
        put!(self, outputs, number, Some(output.to_owned()));
        Ok(())
    }

    fn beat(&mut self, owner: &str, now_ms: u64) -> Result<(), BookError> {
        put!(self, owners, owner.to_owned(), Some(now_ms));
        Ok(())
    }

    fn clear(&mut self, now_ms: u64) -> Result<u64, BookError> {
        let before_ms = now_ms.saturating_sub(KEPT_MS);
        let last =
            self.over.keys().rev().nth(usize::try_from(KEPT_RECORDS).unwrap_or(usize::MAX)).copied().unwrap_or(0);
        let old = |run: &&Run| run.number <= last || run.ended_ms.is_some_and(|at| at < before_ms);
        let found: Vec<(u64, Key)> = self
            .over
            .values()
            .filter(old)
            .take(CLEARED_AT_ONCE as usize)
            .map(|run| (run.number, run.key.clone()))
            .collect();
        for (number, key) in &found {
            put!(self, over, *number, None);
            put!(self, outputs, *number, None);
            if self.begun.get(key) == Some(number) {
                put!(self, begun, key.clone(), None);
            }
        }
        let old: Vec<_> = self.events.iter().filter(|(_, at)| **at < before_ms).map(|(key, _)| key.clone()).collect();
        for key in old {
            put!(self, events, key, None);
        }
        let writes_before_ms = now_ms.saturating_sub(WRITES_KEPT_MS);
        self.forget(|_, write| write.at_ms < writes_before_ms && write.state == WriteState::Left);
        Ok(found.len() as u64)
    }
}
