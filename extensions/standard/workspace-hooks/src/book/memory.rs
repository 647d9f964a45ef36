//! The book in memory: the floor when there is no storage, and the store that simulations run on.

mod shelf;

use super::{Book, BookError, Place, Run, Step, Tally};
use crate::contract::{RunQuery, Status};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::storage::Durability;
use shelf::MemoryShelf;
use std::collections::BTreeSet;
use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Runs of this process.
#[derive(Default)]
pub(crate) struct MemoryBook {
    shelf: Mutex<MemoryShelf>,
}

impl MemoryBook {
    fn shelf(&self) -> MutexGuard<'_, MemoryShelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs of every state, in the order of their numbers.
    fn pick(&self, keep: impl Fn(&Run) -> bool) -> Vec<Run> {
        let mut found: Vec<Run> = self.shelf().runs().filter(|run| keep(run)).cloned().collect();
        found.sort_by_key(|run| run.number);
        found
    }

    fn open(&self, keep: impl Fn(&Run) -> bool) -> Vec<Run> {
        self.shelf().open.values().filter(|run| keep(run)).cloned().collect()
    }
}

fn at_once<T: Send + 'static>(value: T) -> BoxFuture<'static, Result<T, BookError>> {
    Box::pin(ready(Ok(value)))
}

fn of(workspace: &str, status: Status) -> impl Fn(&Run) -> bool {
    move |run| run.key.workspace == workspace && run.status == status
}

impl Book for MemoryBook {
    fn step(&self, _durability: Durability, work: Step) -> BoxFuture<'_, Result<(), BookError>> {
        let mut shelf = self.shelf();
        let done = work(&mut *shelf);
        shelf.settle(done.is_ok());
        Box::pin(ready(done))
    }

    fn hooks_waiting<'a>(&'a self, workspace: &'a str) -> BoxFuture<'a, Result<Vec<String>, BookError>> {
        let waiting = self.open(of(workspace, Status::Queued));
        let hooks: BTreeSet<String> = waiting.into_iter().map(|run| run.key.hook).collect();
        at_once(hooks.into_iter().collect())
    }

    fn heads<'a>(
        &'a self,
        workspace: &'a str,
        hook: &'a str,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<Run>, BookError>> {
        let going: BTreeSet<String> = self
            .open(of(workspace, Status::Running))
            .into_iter()
            .map(|run| run.key.hook + "\n" + &run.key.subject)
            .collect();
        let mut waiting = self.open(of(workspace, Status::Queued));
        waiting.retain(|run| run.key.hook == hook && !going.contains(&format!("{hook}\n{}", run.key.subject)));
        waiting.sort_by_key(|run| (run.not_before_ms, run.number));
        waiting.truncate(limit as usize);
        at_once(waiting)
    }

    fn running<'a>(&'a self, workspace: &'a str) -> BoxFuture<'a, Result<Vec<Run>, BookError>> {
        at_once(self.open(of(workspace, Status::Running)))
    }

    fn holders(&self) -> BoxFuture<'_, Result<Vec<String>, BookError>> {
        let going = self.pick(|run| run.status == Status::Running);
        let holders: BTreeSet<String> = going.into_iter().filter_map(|run| run.owner).collect();
        at_once(holders.into_iter().collect())
    }

    fn is_busy<'a>(&'a self, workspace: &'a str) -> BoxFuture<'a, Result<bool, BookError>> {
        at_once(self.shelf().open.values().any(|run| run.key.workspace == workspace))
    }

    fn named<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Vec<Run>, BookError>> {
        let exact = self.pick(|run| run.id.0 == id);
        if !exact.is_empty() || id.is_empty() {
            return at_once(exact);
        }
        at_once(self.pick(|run| run.id.0.starts_with(id)).into_iter().take(2).collect())
    }

    fn output(&self, number: u64) -> BoxFuture<'_, Result<Option<String>, BookError>> {
        at_once(self.shelf().outputs.get(&number).cloned())
    }

    fn list<'a>(
        &'a self,
        query: &'a RunQuery,
        before: Option<u64>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<Run>, BookError>> {
        let workspace = query.workspace.as_ref().map(|path| path.display().to_string());
        let mut found = self.pick(|run| {
            before.is_none_or(|before| run.number < before)
                && workspace.as_ref().is_none_or(|workspace| run.key.workspace == *workspace)
                && query.hook.as_ref().is_none_or(|hook| run.key.hook == *hook)
                && (query.status.is_empty() || query.status.contains(&run.status))
        });
        found.reverse();
        found.truncate(limit as usize);
        at_once(found)
    }

    fn changed<'a>(&'a self, workspace: &'a str, after: Place) -> BoxFuture<'a, Result<Vec<Run>, BookError>> {
        let place = |run: &Run| Place { version: run.version, number: run.number };
        let mut changed = self.pick(|run| run.key.workspace == workspace && place(run) > after);
        changed.sort_by_key(place);
        at_once(changed)
    }

    fn last_place(&self) -> BoxFuture<'_, Result<Place, BookError>> {
        at_once(Place { version: self.shelf().version, number: u64::MAX })
    }

    fn tally<'a>(&'a self, workspace: &'a str, day_from_ms: u64) -> BoxFuture<'a, Result<Tally, BookError>> {
        let all = self.pick(|run| run.key.workspace == workspace);
        let today = |run: &&Run| run.ended_ms.is_some_and(|at| at >= day_from_ms);
        let count = |states: &[Status]| all.iter().filter(|run| states.contains(&run.status)).count() as u64;
        let ended =
            |states: &[Status]| all.iter().filter(today).filter(|run| states.contains(&run.status)).count() as u64;
        let latency = |run: &Run| run.started_ms.and(run.ended_ms).map(|at| at.saturating_sub(run.queued_ms));
        at_once(Tally {
            running: count(&[Status::Running]),
            waiting: count(&[Status::Queued]),
            succeeded: ended(&[Status::Success]),
            failed: ended(&[Status::Failed, Status::Timeout]),
            latencies_ms: all.iter().rev().filter_map(latency).take(100).collect(),
        })
    }

    fn heard<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Option<u64>, BookError>> {
        at_once(self.shelf().owners.get(owner).copied())
    }
}
