//! Runs futures on one thread in an order that a seed decides.

use crate::clock::SimClock;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::ports::Spawner;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// The task that `block_on` waits for.
const MAIN: u64 = 0;

/// Nothing is ready, no timer is set, and the main future has not ended: a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stalled;

/// One simulation: an executor, its clock and its spawner.
pub struct Sim {
    clock: SimClock,
    shared: Arc<Shared>,
    choice: Mutex<u64>,
}

#[derive(Default)]
struct Shared {
    ready: Mutex<BTreeSet<u64>>,
    arrivals: Mutex<Vec<BoxFuture<'static, ()>>>,
}

/// Adds tasks to a simulation.
#[derive(Clone)]
pub struct SimSpawner {
    shared: Arc<Shared>,
}

impl Spawner for SimSpawner {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        lock(&self.shared.arrivals).push(future);
    }
}

struct TaskWaker {
    task: u64,
    shared: Arc<Shared>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        lock(&self.shared.ready).insert(self.task);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sim {
    /// A simulation whose scheduling follows from the seed alone.
    pub fn new(seed: u64) -> Self {
        Self { clock: SimClock::default(), shared: Arc::default(), choice: Mutex::new(seed | 1) }
    }

    /// The virtual clock.
    pub fn clock(&self) -> SimClock {
        self.clock.clone()
    }

    /// Spawns onto this simulation.
    pub fn spawner(&self) -> SimSpawner {
        SimSpawner { shared: Arc::clone(&self.shared) }
    }

    /// Runs until the future and everything it made ready have ended. Tasks that still wait for a
    /// timer when the future ends are given that time.
    pub fn block_on<F: Future>(&self, main: F) -> Result<F::Output, Stalled> {
        let mut main = std::pin::pin!(main);
        let mut output = None;
        let mut tasks: BTreeMap<u64, BoxFuture<'static, ()>> = BTreeMap::new();
        let mut last_task = MAIN;
        lock(&self.shared.ready).insert(MAIN);
        loop {
            for arrival in std::mem::take(&mut *lock(&self.shared.arrivals)) {
                last_task += 1;
                tasks.insert(last_task, arrival);
                lock(&self.shared.ready).insert(last_task);
            }
            let Some(task) = self.choose() else {
                if self.clock.advance() {
                    continue;
                }
                return output.ok_or(Stalled);
            };
            let waker = Waker::from(Arc::new(TaskWaker { task, shared: Arc::clone(&self.shared) }));
            let mut context = Context::from_waker(&waker);
            if task == MAIN {
                if output.is_none()
                    && let Poll::Ready(value) = main.as_mut().poll(&mut context)
                {
                    output = Some(value);
                }
            } else if let Some(future) = tasks.get_mut(&task)
                && future.as_mut().poll(&mut context).is_ready()
            {
                tasks.remove(&task);
            }
        }
    }

    /// Takes one of the ready tasks, by a xorshift of the seed.
    fn choose(&self) -> Option<u64> {
        let mut ready = lock(&self.shared.ready);
        let count = ready.len();
        if count == 0 {
            return None;
        }
        let mut choice = lock(&self.choice);
        *choice ^= *choice << 13;
        *choice ^= *choice >> 7;
        *choice ^= *choice << 17;
        let at = usize::try_from(*choice % (count as u64)).unwrap_or_default();
        let task = ready.iter().nth(at).copied();
        if let Some(task) = task {
            ready.remove(&task);
        }
        task
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_contracts::ports::Clock;

    #[test]
    fn time_passes_only_when_everybody_waits() {
        let sim = Sim::new(1);
        let clock = sim.clock();
        let waited = sim.block_on(async {
            clock.sleep_ms(3_600_000).await;
            clock.monotonic_ms()
        });
        assert_eq!(waited, Ok(3_600_000));
    }

    #[test]
    fn a_hang_is_reported() {
        assert_eq!(Sim::new(1).block_on(std::future::pending::<()>()), Err(Stalled));
    }

    #[test]
    fn one_seed_gives_one_order_and_seeds_differ() {
        let order = |seed| {
            let sim = Sim::new(seed);
            let log = Arc::new(Mutex::new(Vec::new()));
            for name in 0..8 {
                let log = Arc::clone(&log);
                sim.spawner().spawn(Box::pin(async move { lock(&log).push(name) }));
            }
            assert_eq!(sim.block_on(async {}), Ok(()));
            lock(&log).clone()
        };
        assert_eq!(order(7), order(7));
        assert!((2..20).any(|seed| order(seed) != order(7)));
    }
}
