//! The script workers that routing hooks run in: several at a time, and a hook that hangs keeps none of them from others.

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
/// The most workers that are added to a pool in the place of those that are busy for long.
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
        let [fewest, most] = WORKERS;
        let pool = |workers: usize| {
            let program = program.clone();
            WorkerPool::new(workers, move || {
                let command = WorkerCommand::new(program.clone(), [WORKER_COMMAND]);
                Arc::new(Supervisor::new(command, SupervisorLimits { start: START, ..SupervisorLimits::default() }))
            })
        };
        let usual = pool(parallelism().clamp(fewest, most));
        Ok(Self { usual, slow: pool(SLOW_WORKERS), delays: Mutex::default() })
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
    state: Mutex<PoolState>,
    more: Box<dyn Fn() -> Arc<Supervisor> + Send + Sync>,
}

struct PoolState {
    idle: Vec<Arc<Supervisor>>,
    waiting: VecDeque<oneshot::Sender<Arc<Supervisor>>>,
    /// How many workers were added in the place of those that are busy for long.
    added: usize,
}

impl PoolState {
    /// Counts a worker that is added; `false` if there are too many.
    fn add_one(&mut self) -> bool {
        let has_room = self.added < MAX_ADDED;
        self.added += usize::from(has_room);
        has_room
    }
}

/// A worker on loan; it goes back when this is dropped.
pub(crate) struct LentWorker<'a> {
    pool: &'a WorkerPool,
    supervisor: Arc<Supervisor>,
    is_replaced: AtomicBool,
}

impl LentWorker<'_> {
    pub(crate) const fn supervisor(&self) -> &Arc<Supervisor> {
        &self.supervisor
    }

    /// Gives the pool another worker in the place of this one, which is busy for long.
    pub(crate) fn replace(&self) {
        let is_added = !self.is_replaced.load(Ordering::Relaxed) && self.pool.state().add_one();
        if !is_added {
            return;
        }
        self.is_replaced.store(true, Ordering::Relaxed);
        self.pool.give_back((self.pool.more)());
    }
}

impl Drop for LentWorker<'_> {
    fn drop(&mut self) {
        if self.is_replaced.load(Ordering::Relaxed) {
            self.pool.state().added -= 1;
        } else {
            self.pool.give_back(Arc::clone(&self.supervisor));
        }
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
    fn new(workers: usize, more: impl Fn() -> Arc<Supervisor> + Send + Sync + 'static) -> Self {
        let idle = (0..workers).map(|_| more()).collect();
        Self { state: Mutex::new(PoolState { idle, waiting: VecDeque::new(), added: 0 }), more: Box::new(more) }
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a worker; `None` when the pool is gone.
    pub(crate) async fn take(&self) -> Option<LentWorker<'_>> {
        let lent = |supervisor| LentWorker { pool: self, supervisor, is_replaced: AtomicBool::new(false) };
        let mut place = {
            let mut state = self.state();
            if let Some(idle) = state.idle.pop() {
                return Some(lent(idle));
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

    fn pool(workers: usize) -> WorkerPool {
        let command = || WorkerCommand::new("/nowhere/dispatch", [WORKER_COMMAND]);
        WorkerPool::new(workers, move || Arc::new(Supervisor::new(command(), SupervisorLimits::default())))
    }

    /// How many are idle, and how many were added.
    fn counts(pool: &WorkerPool) -> (usize, usize) {
        let state = pool.state();
        (state.idle.len(), state.added)
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
    fn a_worker_that_is_busy_for_long_is_replaced_and_the_pool_does_not_grow() {
        let pool = pool(1);
        let busy = pool.take().now_or_never().flatten().unwrap();
        busy.replace();
        busy.replace();
        let other = pool.take().now_or_never().flatten().expect("the one in its place");
        assert!(pool.take().now_or_never().is_none());
        drop((busy, other));
        assert_eq!(counts(&pool), (1, 0));
    }

    #[test]
    fn replacements_have_a_limit() {
        let pool = pool(1);
        let mut held = Vec::new();
        while let Some(worker) = pool.take().now_or_never().flatten() {
            worker.replace();
            held.push(worker);
        }
        assert_eq!(held.len(), 1 + MAX_ADDED);
        drop(held);
        assert_eq!(counts(&pool), (1, 0));
    }
}
