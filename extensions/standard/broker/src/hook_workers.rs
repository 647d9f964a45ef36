//! The script workers that routing hooks run in: several at a time, and a hook that hung before keeps none of them busy.

use dispatch_os::environment::current_program;
use dispatch_os::threads::parallelism;
use dispatch_script::{Supervisor, SupervisorLimits, WorkerCommand};
use futures_channel::oneshot;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How the program is started as a script worker.
const WORKER_COMMAND: &str = "script-worker";
/// The fewest and the most workers.
const WORKERS: [usize; 2] = [2, 8];
/// How many hooks that hung before run at once.
const SLOW_WORKERS: usize = 2;
/// How long a worker may take to start on a machine that has other things to do.
const START: Duration = Duration::from_secs(30);

/// Which workers a hook runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Those for everybody.
    Usual,
    /// Those for hooks that ran into their deadline the last time.
    Slow,
}

/// All workers of this process.
pub(crate) struct HookWorkers {
    usual: WorkerPool,
    slow: WorkerPool,
    /// The versions of hooks that ran into their deadline.
    hung: Mutex<BTreeSet<String>>,
}

impl HookWorkers {
    pub(crate) fn new() -> Result<Self, String> {
        let program = current_program().map_err(|error| error.to_string())?;
        let [fewest, most] = WORKERS;
        let pool = |workers: usize| {
            let supervisor = |_| {
                let command = WorkerCommand::new(program.clone(), [WORKER_COMMAND]);
                Arc::new(Supervisor::new(command, SupervisorLimits { start: START, ..SupervisorLimits::default() }))
            };
            WorkerPool::new((0..workers).map(supervisor))
        };
        Ok(Self { usual: pool(parallelism().clamp(fewest, most)), slow: pool(SLOW_WORKERS), hung: Mutex::default() })
    }

    fn hung(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.hung.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a version of a hook runs.
    pub(crate) fn lane(&self, version: &str) -> Lane {
        if self.hung().contains(version) { Lane::Slow } else { Lane::Usual }
    }

    /// Notes whether a version of a hook ran into its deadline.
    pub(crate) fn note(&self, version: &str, is_hung: bool) {
        if is_hung {
            self.hung().insert(version.to_owned());
        } else {
            self.hung().remove(version);
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
}

struct PoolState {
    idle: Vec<Arc<Supervisor>>,
    waiting: VecDeque<oneshot::Sender<Arc<Supervisor>>>,
}

impl WorkerPool {
    fn new(workers: impl Iterator<Item = Arc<Supervisor>>) -> Self {
        Self { state: Mutex::new(PoolState { idle: workers.collect(), waiting: VecDeque::new() }) }
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a worker; `None` when the pool is gone.
    pub(crate) async fn take(&self) -> Option<Arc<Supervisor>> {
        let waiting = {
            let mut state = self.state();
            if let Some(idle) = state.idle.pop() {
                return Some(idle);
            }
            let (handed, waiting) = oneshot::channel();
            state.waiting.push_back(handed);
            waiting
        };
        waiting.await.ok()
    }

    /// Gives a worker back, to whoever has waited longest.
    pub(crate) fn give_back(&self, worker: Arc<Supervisor>) {
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
