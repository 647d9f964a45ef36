//! Script workers that are started before anybody needs them, because a start takes longer than most hooks run.

use dispatch_os::threads::spawn;
use dispatch_script::Supervisor;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many are kept ready.
const READY: usize = 2;
/// How many stay at most of those that came back, so that none is started in their place.
const KEPT: usize = 4;

/// Workers that wait for their first use.
#[derive(Clone)]
pub(crate) struct SpareWorkers {
    shared: Arc<SparesShared>,
}

struct SparesShared {
    make: Box<dyn Fn() -> Supervisor + Send + Sync>,
    state: Mutex<SparesState>,
}

#[derive(Default)]
struct SparesState {
    ready: Vec<Arc<Supervisor>>,
    is_filling: bool,
}

impl SpareWorkers {
    /// None is ready yet.
    pub(crate) fn new(make: impl Fn() -> Supervisor + Send + Sync + 'static) -> Self {
        Self { shared: Arc::new(SparesShared { make: Box::new(make), state: Mutex::default() }) }
    }

    /// A worker; if none is ready, one that starts with its first request.
    pub(crate) fn take(&self) -> Arc<Supervisor> {
        let ready = self.shared.state().ready.pop();
        ready.unwrap_or_else(|| Arc::new((self.shared.make)()))
    }

    /// Takes a worker that is not needed any more.
    pub(crate) fn put_back(&self, worker: Arc<Supervisor>) {
        let mut state = self.shared.state();
        if state.ready.len() < KEPT && worker.is_running() {
            state.ready.push(worker);
        }
    }

    /// Starts what is missing, beside the caller.
    pub(crate) fn fill(&self) {
        let mut state = self.shared.state();
        if state.is_filling || state.ready.len() >= READY {
            return;
        }
        let shared = Arc::clone(&self.shared);
        // Without a thread nothing is ready, and whoever needs a worker waits for its start.
        state.is_filling = spawn("hook-worker-start", move || shared.start_all()).is_ok();
    }
}

impl SparesShared {
    fn state(&self) -> MutexGuard<'_, SparesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends when enough are ready, or when one does not start: then it is tried again when one is needed.
    fn start_all(&self) {
        loop {
            let worker = Arc::new((self.make)());
            let is_started = worker.prepare().is_ok();
            let mut state = self.state();
            if is_started {
                state.ready.push(worker);
            }
            if !is_started || state.ready.len() >= READY {
                state.is_filling = false;
                return;
            }
        }
    }
}
