//! Threads that are kept for a moment after their work, because more of it is likely to come.

use super::{Offloaded, spawn};
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a thread waits for more work.
const PATIENCE: Duration = Duration::from_secs(3);

type Work = Box<dyn FnOnce() + Send>;

/// Starts work at once: on a thread that waits, or on a new one. So work that does not come back holds up no other.
#[derive(Clone)]
pub struct KeptThreads {
    name: &'static str,
    shared: Arc<KeptShared>,
}

#[derive(Default)]
struct KeptShared {
    state: Mutex<KeptState>,
    came: Condvar,
}

#[derive(Default)]
struct KeptState {
    work: VecDeque<Work>,
    waiting: usize,
}

impl KeptThreads {
    /// None yet; they get this name.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self { name, shared: Arc::default() }
    }

    /// Runs work beside the caller. A panic ends the work and nothing else.
    ///
    /// # Errors
    /// When no thread waits and the system cannot start another one.
    pub fn run(&self, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let mut state = self.shared.state();
        state.work.push_back(Box::new(work));
        if state.waiting < state.work.len() {
            let shared = Arc::clone(&self.shared);
            spawn(self.name, move || shared.serve()).inspect_err(|_| drop(state.work.pop_back()))?;
        }
        drop(state);
        self.shared.came.notify_one();
        Ok(())
    }
}

impl KeptThreads {
    /// The same as [`super::offload`] on such a thread.
    ///
    /// # Errors
    /// When no thread waits and the system cannot start another one.
    pub fn offload<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> io::Result<Offloaded<T>> {
        let (work, offloaded) = Offloaded::of(work);
        self.run(work)?;
        Ok(offloaded)
    }
}

impl KeptShared {
    fn state(&self) -> MutexGuard<'_, KeptState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self) {
        while let Some(work) = self.next() {
            // Whoever waits for the work sees that it is gone.
            let _ = catch_unwind(AssertUnwindSafe(work));
        }
    }

    /// The next work; none when nothing came for a while.
    fn next(&self) -> Option<Work> {
        let mut state = self.state();
        state.waiting += 1;
        let waited = self.came.wait_timeout_while(state, PATIENCE, |state| state.work.is_empty());
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state.work.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::thread::{ThreadId, current};

    #[test]
    fn a_thread_serves_again_and_one_that_hangs_or_panics_holds_up_nobody() {
        let (threads, (told, heard)) = (KeptThreads::new("kept"), channel::<ThreadId>());
        let (release, held) = channel::<()>();
        threads.run(move || held.recv().unwrap_or_default()).unwrap();
        threads.run(|| std::panic::resume_unwind(Box::new("on purpose"))).unwrap();
        let run = || {
            let told = told.clone();
            threads.run(move || told.send(current().id()).unwrap_or_default()).unwrap();
            heard.recv().unwrap()
        };
        let ids: std::collections::BTreeSet<String> = (0..50).map(|_| format!("{:?}", run())).collect();
        assert!(ids.len() < 50, "no thread served twice");
        release.send(()).unwrap();
    }
}
