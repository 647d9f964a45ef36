//! A bounded queue that threads wait on and that asynchronous callers never wait for.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Jobs in the order they came.
pub(crate) struct JobQueue<T> {
    limit: usize,
    state: Mutex<JobQueueState<T>>,
    changed: Condvar,
}

struct JobQueueState<T> {
    jobs: VecDeque<T>,
    waiting: usize,
    closed: bool,
}

/// What a waiting thread gets.
pub(crate) enum TakenJobs<T> {
    /// Something to do.
    Jobs(Vec<T>),
    /// Nothing came for as long as the thread would wait.
    Idle,
    /// Nothing will come any more.
    Closed,
}

/// Why a job was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobRefused {
    /// The queue is as long as it may be.
    Full,
    /// The queue is closed.
    Closed,
}

impl<T> JobQueue<T> {
    pub(crate) fn new(limit: usize) -> Self {
        let state = JobQueueState { jobs: VecDeque::new(), waiting: 0, closed: false };
        Self { limit, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Adds a job. Says how many threads are free to take one.
    pub(crate) fn push(&self, job: T) -> Result<usize, JobRefused> {
        let mut state = self.state();
        if state.closed {
            return Err(JobRefused::Closed);
        }
        if state.jobs.len() >= self.limit {
            return Err(JobRefused::Full);
        }
        state.jobs.push_back(job);
        let free = state.waiting.saturating_sub(state.jobs.len() - 1);
        drop(state);
        self.changed.notify_one();
        Ok(free)
    }

    /// Takes all there is, up to `most`; waits for the first, as long as `patience` lasts.
    pub(crate) fn take(&self, most: usize, patience: Option<Duration>) -> TakenJobs<T> {
        let mut state = self.state();
        while state.jobs.is_empty() {
            if state.closed {
                return TakenJobs::Closed;
            }
            state.waiting += 1;
            let timed_out;
            (state, timed_out) = self.wait(state, patience);
            state.waiting -= 1;
            if timed_out && state.jobs.is_empty() {
                return if state.closed { TakenJobs::Closed } else { TakenJobs::Idle };
            }
        }
        let count = state.jobs.len().min(most);
        TakenJobs::Jobs(state.jobs.drain(..count).collect())
    }

    /// Takes no more jobs; those that are in it are still given out.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.changed.notify_all();
    }

    /// Drops what waits, so that whoever waits for it learns that it will not be done.
    pub(crate) fn clear(&self) {
        let jobs = std::mem::take(&mut self.state().jobs);
        // Not under the lock: the last store of the database may go with a job, and closes the queue.
        drop(jobs);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.state().jobs.is_empty()
    }

    fn wait<'a>(
        &'a self,
        state: MutexGuard<'a, JobQueueState<T>>,
        patience: Option<Duration>,
    ) -> (MutexGuard<'a, JobQueueState<T>>, bool) {
        match patience {
            None => (self.changed.wait(state).unwrap_or_else(PoisonError::into_inner), false),
            Some(patience) => {
                let (state, waited) =
                    self.changed.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner);
                (state, waited.timed_out())
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, JobQueueState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(taken: TakenJobs<u8>) -> Option<Vec<u8>> {
        match taken {
            TakenJobs::Jobs(jobs) => Some(jobs),
            TakenJobs::Idle | TakenJobs::Closed => None,
        }
    }

    #[test]
    fn it_is_bounded_and_gives_out_what_it_has_after_it_was_closed() {
        let queue = JobQueue::new(3);
        assert!(matches!(queue.take(1, Some(Duration::ZERO)), TakenJobs::Idle));
        for job in 0..3 {
            assert_eq!(queue.push(job), Ok(0));
        }
        assert_eq!(queue.push(3), Err(JobRefused::Full));
        assert_eq!(jobs(queue.take(2, None)), Some(vec![0, 1]));
        queue.close();
        assert_eq!(queue.push(4), Err(JobRefused::Closed));
        assert_eq!(jobs(queue.take(2, None)), Some(vec![2]));
        assert!(matches!(queue.take(2, None), TakenJobs::Closed));
    }
}
