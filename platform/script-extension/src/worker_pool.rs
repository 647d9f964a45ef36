//! The worker processes for one kind of calls: another one is started when all are busy, up to a number.

use dispatch_script::Supervisor;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How a pool makes one more supervisor, whose process starts with its first call.
type NewSupervisor = Box<dyn Fn() -> Supervisor + Send + Sync>;

/// Supervisors and how many calls each has. The first free one is taken, so that a pool with little to do has one process.
pub(crate) struct WorkerPool {
    max_workers: usize,
    new_supervisor: NewSupervisor,
    entries: Mutex<Vec<PoolEntry>>,
}

struct PoolEntry {
    supervisor: Arc<Supervisor>,
    calls: usize,
}

/// A place in a pool; given back when it is dropped.
pub(crate) struct PoolPlace {
    pool: Arc<WorkerPool>,
    pub(crate) supervisor: Arc<Supervisor>,
}

impl WorkerPool {
    pub(crate) fn new(max_workers: usize, new_supervisor: NewSupervisor) -> Arc<Self> {
        Arc::new(Self { max_workers, new_supervisor, entries: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PoolEntry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker that has nothing to do, or the one with the fewest calls if there may be no more workers.
    pub(crate) fn take(self: &Arc<Self>) -> PoolPlace {
        let mut entries = self.lock();
        let fewest = entries.iter().map(|entry| entry.calls).min();
        if fewest != Some(0) && entries.len() < self.max_workers {
            entries.push(PoolEntry { supervisor: Arc::new((self.new_supervisor)()), calls: 0 });
        }
        let calls = entries.iter().map(|entry| entry.calls).min();
        let chosen = entries.iter_mut().find(|entry| Some(entry.calls) == calls);
        let supervisor = match chosen {
            Some(entry) => {
                entry.calls += 1;
                Arc::clone(&entry.supervisor)
            }
            // A pool without workers does not exist, but a supervisor of its own serves the call as well.
            None => Arc::new((self.new_supervisor)()),
        };
        PoolPlace { pool: Arc::clone(self), supervisor }
    }

    /// All supervisors.
    pub(crate) fn all(&self) -> Vec<Arc<Supervisor>> {
        self.lock().iter().map(|entry| Arc::clone(&entry.supervisor)).collect()
    }

    /// The supervisors whose process runs and has nothing to do.
    pub(crate) fn running(&self) -> Vec<Arc<Supervisor>> {
        let entries = self.lock();
        let running = entries.iter().filter(|entry| entry.calls == 0 && entry.supervisor.is_running());
        running.map(|entry| Arc::clone(&entry.supervisor)).collect()
    }
}

impl Drop for PoolPlace {
    fn drop(&mut self) {
        let mut entries = self.pool.lock();
        if let Some(entry) = entries.iter_mut().find(|entry| Arc::ptr_eq(&entry.supervisor, &self.supervisor)) {
            entry.calls -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_script::{SupervisorLimits, WorkerCommand};

    #[test]
    fn busy_workers_get_company_up_to_the_limit_and_free_ones_are_used_again() {
        let new = || Supervisor::new(WorkerCommand::new("/nonexistent", [""; 0]), SupervisorLimits::default());
        let pool = WorkerPool::new(2, Box::new(new));
        let first = pool.take();
        let second = pool.take();
        assert!(!Arc::ptr_eq(&first.supervisor, &second.supervisor));
        let third = pool.take();
        assert!(Arc::ptr_eq(&first.supervisor, &third.supervisor), "there are no more than two");
        drop(second);
        let fourth = pool.take();
        assert!(!Arc::ptr_eq(&first.supervisor, &fourth.supervisor), "the free one is used again");
        assert_eq!(pool.lock().len(), 2);
    }
}
