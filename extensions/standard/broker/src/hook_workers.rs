//! The script workers that routing hooks run in: several at a time, and a hook that hangs keeps none of them from others.

use crate::spare_workers::SpareWorkers;
use dispatch_os::environment::current_program;
use dispatch_os::threads::parallelism;
use dispatch_script::{Supervisor, SupervisorLimits, WorkerCommand};
use futures_channel::oneshot;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How the program is started as a script worker.
const WORKER_COMMAND: &str = "script-worker";
/// The fewest and the most workers.
const WORKERS: [usize; 2] = [2, 8];
/// How many hooks that run for long are begun at once.
const SLOW_WORKERS: usize = 2;
/// The most workers that are added to a pool beside those that are late.
const MAX_ADDED: usize = 4;
/// How long a worker may take to start on a machine that has other things to do.
const START: Duration = Duration::from_secs(30);

/// Which workers a hook runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Those for everybody.
    Usual,
    /// Those for hooks that run for long just now, or ran into their deadline the last time.
    Slow,
}

/// What is known against a version of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookDelay {
    /// It runs for long just now.
    Long,
    /// It ran into its deadline the last time.
    Hung,
}

/// All workers of this process.
pub(crate) struct HookWorkers {
    usual: WorkerPool,
    slow: WorkerPool,
    /// The versions of hooks that others should not wait for.
    delays: Mutex<BTreeMap<String, HookDelay>>,
}

impl HookWorkers {
    pub(crate) fn new() -> Result<Self, String> {
        let program = current_program().map_err(|error| error.to_string())?;
        let spares = SpareWorkers::new(move || {
            let command = WorkerCommand::new(program.clone(), [WORKER_COMMAND]);
            Supervisor::new(command, SupervisorLimits { start: START, ..SupervisorLimits::default() })
        });
        let [fewest, most] = WORKERS;
        let usual = WorkerPool::new(parallelism().clamp(fewest, most), spares.clone());
        Ok(Self { usual, slow: WorkerPool::new(SLOW_WORKERS, spares), delays: Mutex::default() })
    }

    fn delays(&self) -> MutexGuard<'_, BTreeMap<String, HookDelay>> {
        self.delays.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known against a version of a hook.
    pub(crate) fn delay(&self, version: &str) -> Option<HookDelay> {
        self.delays().get(version).copied()
    }

    /// Where a version of a hook runs.
    pub(crate) fn lane(&self, version: &str) -> Lane {
        if self.delay(version).is_some() { Lane::Slow } else { Lane::Usual }
    }

    /// Notes that a version of a hook runs for long: until it is known better, no worker for everybody waits for it.
    pub(crate) fn note_long(&self, version: &str) {
        self.delays().entry(version.to_owned()).or_insert(HookDelay::Long);
    }

    /// Notes whether a version of a hook ran into its deadline.
    pub(crate) fn note_end(&self, version: &str, is_hung: bool) {
        if is_hung {
            self.delays().insert(version.to_owned(), HookDelay::Hung);
        } else {
            self.delays().remove(version);
        }
    }

    pub(crate) fn pool(&self, lane: Lane) -> &WorkerPool {
        match lane {
            Lane::Usual => &self.usual,
            Lane::Slow => &self.slow,
        }
    }
}

/// Workers that are handed out one at a time, in the order they were asked for.
pub(crate) struct WorkerPool {
    /// How many there are when none is late.
    size: usize,
    state: Mutex<PoolState>,
    spares: SpareWorkers,
}

#[derive(Default)]
struct PoolState {
    idle: Vec<Arc<Supervisor>>,
    waiting: VecDeque<oneshot::Sender<Arc<Supervisor>>>,
    /// How many there are, on loan or not.
    workers: usize,
    /// How many of those on loan are late.
    late: usize,
}

/// A worker on loan; it goes back when this is dropped.
pub(crate) struct LentWorker<'a> {
    pool: &'a WorkerPool,
    supervisor: Arc<Supervisor>,
    is_late: AtomicBool,
}

impl LentWorker<'_> {
    pub(crate) const fn supervisor(&self) -> &Arc<Supervisor> {
        &self.supervisor
    }

    /// Notes that this one takes long to come back: from now on the pool may have another beside it.
    pub(crate) fn note_late(&self) {
        if self.is_late.swap(true, Ordering::Relaxed) {
            return;
        }
        let added = {
            let mut state = self.pool.state();
            state.late += 1;
            if state.waiting.is_empty() { None } else { self.pool.one_more(&mut state) }
        };
        if let Some(added) = added {
            self.pool.give_back(added);
        }
    }
}

impl Drop for LentWorker<'_> {
    fn drop(&mut self) {
        let is_surplus = {
            let mut state = self.pool.state();
            state.late -= usize::from(self.is_late.load(Ordering::Relaxed));
            let is_surplus = state.workers > self.pool.allowed(&state);
            state.workers -= usize::from(is_surplus);
            is_surplus
        };
        if is_surplus {
            self.pool.spares.put_back(Arc::clone(&self.supervisor));
        } else {
            self.pool.give_back(Arc::clone(&self.supervisor));
        }
        self.pool.spares.fill();
    }
}

/// A place in the line. A worker that comes after its owner has left goes to the next.
struct PlaceInLine<'a> {
    pool: &'a WorkerPool,
    handed: oneshot::Receiver<Arc<Supervisor>>,
}

impl Drop for PlaceInLine<'_> {
    fn drop(&mut self) {
        self.handed.close();
        if let Ok(Some(worker)) = self.handed.try_recv() {
            self.pool.give_back(worker);
        }
    }
}

impl WorkerPool {
    fn new(size: usize, spares: SpareWorkers) -> Self {
        Self { size, state: Mutex::default(), spares }
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many there may be now.
    fn allowed(&self, state: &PoolState) -> usize {
        self.size + state.late.min(MAX_ADDED)
    }

    /// Another worker, if there may be one.
    fn one_more(&self, state: &mut PoolState) -> Option<Arc<Supervisor>> {
        let has_room = state.workers < self.allowed(state);
        state.workers += usize::from(has_room);
        has_room.then(|| self.spares.take())
    }

    /// Waits for a worker; `None` when the pool is gone.
    pub(crate) async fn take(&self) -> Option<LentWorker<'_>> {
        let lent = |supervisor| LentWorker { pool: self, supervisor, is_late: AtomicBool::new(false) };
        let mut place = {
            let mut state = self.state();
            if let Some(free) = state.idle.pop().or_else(|| self.one_more(&mut state)) {
                return Some(lent(free));
            }
            let (hand, handed) = oneshot::channel();
            state.waiting.push_back(hand);
            PlaceInLine { pool: self, handed }
        };
        (&mut place.handed).await.ok().map(lent)
    }

    /// Gives a worker back, to whoever has waited longest.
    fn give_back(&self, worker: Arc<Supervisor>) {
        let mut state = self.state();
        let mut worker = worker;
        while let Some(waiting) = state.waiting.pop_front() {
            match waiting.send(worker) {
                Ok(()) => return,
                // Whoever asked waits no more.
                Err(back) => worker = back,
            }
        }
        state.idle.push(worker);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn pool(size: usize) -> WorkerPool {
        let command = || WorkerCommand::new("/nowhere/dispatch", [WORKER_COMMAND]);
        WorkerPool::new(size, SpareWorkers::new(move || Supervisor::new(command(), SupervisorLimits::default())))
    }

    /// How many are idle, how many there are, and how many are late.
    fn counts(pool: &WorkerPool) -> (usize, usize, usize) {
        let state = pool.state();
        (state.idle.len(), state.workers, state.late)
    }

    #[test]
    fn a_worker_that_comes_too_late_goes_to_the_next_in_line() {
        let pool = pool(1);
        let first = pool.take().now_or_never().flatten().expect("an idle worker");
        let mut leaves = Box::pin(pool.take());
        assert!((&mut leaves).now_or_never().is_none(), "all are busy");
        drop(first);
        // It was handed over, and whoever waited is gone.
        drop(leaves);
        assert!(pool.take().now_or_never().flatten().is_some(), "the worker is not lost");
    }

    #[test]
    fn whoever_waits_for_a_late_worker_gets_another_and_the_pool_does_not_grow() {
        let pool = pool(1);
        let late = pool.take().now_or_never().flatten().unwrap();
        let mut waits = Box::pin(pool.take());
        assert!((&mut waits).now_or_never().is_none(), "all are busy");
        late.note_late();
        late.note_late();
        let other = waits.now_or_never().flatten().expect("the one beside it");
        assert!(pool.take().now_or_never().is_none());
        drop((late, other));
        assert_eq!(counts(&pool), (1, 1, 0));
    }

    #[test]
    fn a_late_worker_that_nobody_waits_for_costs_no_other() {
        let pool = pool(1);
        let late = pool.take().now_or_never().flatten().unwrap();
        late.note_late();
        assert_eq!(counts(&pool), (0, 1, 1));
        let other = pool.take().now_or_never().flatten().expect("one beside it, now that it is needed");
        drop(other);
        assert_eq!(counts(&pool), (1, 2, 1));
        drop(late);
        assert_eq!(counts(&pool), (1, 1, 0));
    }

    #[test]
    fn what_is_added_has_a_limit() {
        let pool = pool(1);
        let mut held = Vec::new();
        while let Some(worker) = pool.take().now_or_never().flatten() {
            worker.note_late();
            held.push(worker);
        }
        assert_eq!(held.len(), 1 + MAX_ADDED);
        drop(held);
        assert_eq!(counts(&pool), (1, 1, 0));
    }
}
