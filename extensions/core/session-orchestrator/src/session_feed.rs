//! Hands news of sessions to whoever watches; a watcher that is too slow loses live news, never rows.

use crate::contract::{SessionEvent, SessionNews};
use dispatch_durable_queue::WakeSignal;
use futures_channel::mpsc::{Receiver, Sender, channel};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How much news a watcher may leave unread.
const UNREAD_LIMIT: usize = 1_024;

/// Who watches which session.
#[derive(Default)]
pub(crate) struct SessionFeed {
    /// Told when another process has asked or answered a question, or this one has answered.
    pub(crate) questions: WakeSignal,
    watchers: Mutex<BTreeMap<String, Vec<FeedWatcher>>>,
}

struct FeedWatcher {
    sender: Sender<SessionEvent>,
    lagged: Arc<AtomicBool>,
}

/// The receiving end of one watcher.
pub(crate) struct FeedReader {
    pub(crate) receiver: Receiver<SessionEvent>,
    lagged: Arc<AtomicBool>,
}

impl FeedReader {
    /// Whether news was lost since the last time this was asked.
    pub(crate) fn take_lag(&self) -> bool {
        self.lagged.swap(false, Ordering::Relaxed)
    }

    /// All news that was told before this is called, and perhaps a little of what is told meanwhile.
    pub(crate) fn waiting(&mut self) -> Vec<SessionEvent> {
        // The channel has one place more than it was asked for, per sender.
        std::iter::from_fn(|| self.receiver.try_recv().ok()).take(UNREAD_LIMIT + 1).collect()
    }
}

impl SessionFeed {
    fn watchers(&self) -> MutexGuard<'_, BTreeMap<String, Vec<FeedWatcher>>> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to watch a session.
    pub(crate) fn watch(&self, label: &str) -> FeedReader {
        let (sender, receiver) = channel(UNREAD_LIMIT);
        let lagged = Arc::new(AtomicBool::new(false));
        let watcher = FeedWatcher { sender, lagged: Arc::clone(&lagged) };
        self.watchers().entry(label.to_owned()).or_default().push(watcher);
        FeedReader { receiver, lagged }
    }

    /// Tells everybody who watches the session. Never waits.
    pub(crate) fn tell(&self, label: &str, event: &SessionEvent) {
        let mut all = self.watchers();
        let Some(watchers) = all.get_mut(label) else { return };
        watchers.retain_mut(|watcher| match watcher.sender.try_send(event.clone()) {
            Ok(()) => true,
            Err(refused) if refused.is_full() => {
                watcher.lagged.store(true, Ordering::Relaxed);
                true
            }
            Err(_) => false,
        });
        if watchers.is_empty() {
            all.remove(label);
        }
    }

    /// Tells news that no row holds.
    pub(crate) fn news(&self, label: &str, news: SessionNews) {
        self.tell(label, &SessionEvent { seq: None, news });
    }
}
