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
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        receiver
    }
}
