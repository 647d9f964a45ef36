//! Wakes those who wait for replies to one peer, and nobody else.

use dispatch_durable_queue::WakeSignal;
use futures_channel::mpsc::Receiver;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// After so many more peers those that nobody waits for are forgotten.
const TIDY_AFTER: usize = 64;

/// Who waits, by channel and peer.
#[derive(Default)]
pub(crate) struct PeerSignals {
    waiting: Mutex<WaitingPeers>,
}

#[derive(Default)]
struct WaitingPeers {
    signals: BTreeMap<(String, String), Weak<WakeSignal>>,
    /// How many there may be before they are tidied.
    tidy_at: usize,
}

/// Somebody who waits for as long as this is there.
pub(crate) struct PeerWait {
    pub(crate) woken: Receiver<()>,
    _signal: Arc<WakeSignal>,
}

impl PeerSignals {
    fn waiting(&self) -> MutexGuard<'_, WaitingPeers> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits from now on.
    pub(crate) fn listen(&self, channel: &str, peer: &str) -> PeerWait {
        let mut waiting = self.waiting();
        if waiting.signals.len() >= waiting.tidy_at {
            waiting.signals.retain(|_, signal| signal.strong_count() > 0);
            waiting.tidy_at = waiting.signals.len() + TIDY_AFTER;
        }
        let known = waiting.signals.entry((channel.to_owned(), peer.to_owned())).or_default();
        let signal = known.upgrade().unwrap_or_else(|| {
            let signal = Arc::<WakeSignal>::default();
            *known = Arc::downgrade(&signal);
            signal
        });
        PeerWait { woken: signal.listen(), _signal: signal }
    }

    /// Wakes everybody who waits for this peer.
    pub(crate) fn wake(&self, channel: &str, peer: &str) {
        let signal = self.waiting().signals.get(&(channel.to_owned(), peer.to_owned())).and_then(Weak::upgrade);
        if let Some(signal) = signal {
            signal.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_waits_for_the_peer_is_woken() {
        let signals = PeerSignals::default();
        let [mut first, mut second, mut other] =
            [("web", "ann"), ("web", "ann"), ("web", "bob")].map(|(channel, peer)| signals.listen(channel, peer));
        signals.wake("web", "ann");
        signals.wake("cli", "bob");
        assert!(first.woken.try_recv().is_ok() && second.woken.try_recv().is_ok());
        assert!(other.woken.try_recv().is_err(), "nothing came for bob on the web");
    }

    #[test]
    fn peers_that_nobody_waits_for_are_forgotten() {
        let signals = PeerSignals::default();
        let kept = signals.listen("web", "kept");
        for peer in 0..10 * TIDY_AFTER {
            drop(signals.listen("web", &peer.to_string()));
        }
        assert!(signals.waiting().signals.len() <= TIDY_AFTER + 1);
        drop(kept);
    }
}
