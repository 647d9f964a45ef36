//! Stops a running child from another thread, waking it at once instead of being polled.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type CancelWaker = Box<dyn Fn() + Send>;

/// A shared switch that can be thrown once; clones are the same switch.
#[derive(Clone, Default)]
pub struct Canceller {
    shared: Arc<CancelState>,
}

#[derive(Default)]
struct CancelState {
    cancelled: AtomicBool,
    next_key: AtomicU64,
    wakers: Mutex<Vec<(u64, CancelWaker)>>,
}

impl Canceller {
    /// A switch that has not been thrown.
    pub fn new() -> Self {
        Self::default()
    }

    /// Throws the switch and calls every subscriber; later calls do nothing.
    pub fn cancel(&self) {
        // Under the lock, so that a subscriber is called here or by `subscribe`, never by neither.
        let wakers = self.wakers();
        if !self.shared.cancelled.swap(true, Ordering::AcqRel) {
            wakers.iter().for_each(|(_, waker)| waker());
        }
    }

    /// Whether the switch has been thrown.
    pub fn is_cancelled(&self) -> bool {
        self.shared.cancelled.load(Ordering::Acquire)
    }

    /// Calls `waker` when the switch is thrown, at once if it has been. It must be short and may not
    /// use this canceller. Dropping the subscription ends it.
    pub fn subscribe(&self, waker: impl Fn() + Send + 'static) -> Subscription {
        let key = self.shared.next_key.fetch_add(1, Ordering::Relaxed);
        let mut wakers = self.wakers();
        if self.is_cancelled() {
            waker();
        } else {
            wakers.push((key, Box::new(waker)));
        }
        Subscription { canceller: self.clone(), key }
    }

    fn wakers(&self) -> MutexGuard<'_, Vec<(u64, CancelWaker)>> {
        self.shared.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Canceller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Canceller").field("cancelled", &self.is_cancelled()).finish_non_exhaustive()
    }
}

/// A subscription to a [`Canceller`], ended by dropping it.
#[derive(Debug)]
#[must_use = "dropping the subscription ends it"]
pub struct Subscription {
    canceller: Canceller,
    key: u64,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.canceller.wakers().retain(|(key, _)| *key != self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn subscribers_are_called_once_whenever_they_came() {
        let (canceller, calls) = (Canceller::new(), Arc::new(AtomicUsize::new(0)));
        let count = || {
            let calls = Arc::clone(&calls);
            move || {
                calls.fetch_add(1, Ordering::Relaxed);
            }
        };
        let _early = canceller.subscribe(count());
        drop(canceller.subscribe(count()));
        assert!(!canceller.is_cancelled());
        canceller.clone().cancel();
        canceller.cancel();
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        let _late = canceller.subscribe(count());
        assert_eq!(calls.load(Ordering::Relaxed), 2);
        assert!(canceller.is_cancelled());
    }
}
