//! A clock that moves only when everybody waits for it.

use dispatch_contracts::BoxFuture;
use dispatch_contracts::ports::Clock;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// The wall-clock time at which every simulation starts.
const START_MS: u64 = 1_700_000_000_000;

/// A virtual clock. Clones share one time.
#[derive(Clone, Default)]
pub struct SimClock {
    state: Arc<Mutex<ClockState>>,
}

#[derive(Default)]
struct ClockState {
    elapsed_ms: u64,
    next_timer: u64,
    timers: BTreeMap<(u64, u64), Waker>,
}

impl SimClock {
    fn lock(&self) -> MutexGuard<'_, ClockState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves to the next moment somebody waits for; `false` when nobody does.
    pub(crate) fn advance(&self) -> bool {
        let due = {
            let mut state = self.lock();
            let Some(&(at_ms, _)) = state.timers.keys().next() else { return false };
            state.elapsed_ms = state.elapsed_ms.max(at_ms);
            let later = state.timers.split_off(&(at_ms + 1, 0));
            std::mem::replace(&mut state.timers, later)
        };
        due.into_values().for_each(Waker::wake);
        true
    }
}

impl Clock for SimClock {
    fn now_ms(&self) -> u64 {
        START_MS + self.monotonic_ms()
    }

    fn monotonic_ms(&self) -> u64 {
        self.lock().elapsed_ms
    }

    fn sleep_ms(&self, ms: u64) -> BoxFuture<'static, ()> {
        let at_ms = self.monotonic_ms().saturating_add(ms);
        Box::pin(SimSleep { clock: self.clone(), at_ms, key: None })
    }
}

struct SimSleep {
    clock: SimClock,
    at_ms: u64,
    key: Option<(u64, u64)>,
}

impl Future for SimSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let (clock, at_ms) = (self.clock.clone(), self.at_ms);
        let mut state = clock.lock();
        if state.elapsed_ms >= self.at_ms {
            return Poll::Ready(());
        }
        let key = *self.key.get_or_insert_with(|| {
            state.next_timer += 1;
            (at_ms, state.next_timer)
        });
        state.timers.insert(key, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for SimSleep {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.clock.lock().timers.remove(&key);
        }
    }
}
