//! Wakes the loops of this process that wait for work, instead of leaving it to their next look.

use futures_channel::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

/// Whom to wake.
#[derive(Default)]
pub struct WakeSignal {
    listeners: Mutex<Vec<Sender<()>>>,
}

impl WakeSignal {
    /// Wakes everybody who listens. Does not wait.
    pub fn wake(&self) {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        // A listener that is about to wake up needs no second signal.
        listeners.retain_mut(|listener| listener.try_send(()).map_or_else(|refused| refused.is_full(), |()| true));
    }

    /// Listens from now on.
    #[must_use]
    pub fn listen(&self) -> Receiver<()> {
        let (sender, receiver) = channel(0);
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody may be woken for a long time, and those who listen come and go.
        listeners.retain(|listener| !listener.is_closed());
        listeners.push(sender);
        receiver
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_gone_is_forgotten_before_anybody_is_woken() {
        let signal = WakeSignal::default();
        let mut stays = signal.listen();
        (0..100).for_each(|_| drop(signal.listen()));
        assert!(signal.listeners.lock().unwrap().len() <= 2);
        signal.wake();
        assert!(stays.try_recv().is_ok());
    }
}
