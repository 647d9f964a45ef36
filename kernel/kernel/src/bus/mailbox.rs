//! The mailbox of one subscription: a bounded queue that one task at a time empties.

use super::Subscriber;
use dispatch_contracts::hook::{AnyHandler, ErasedValue, EventHandler};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many events may wait for one handler. When more come, the newest are dropped and the loss is
/// a fault of the handler's extension.
pub const MAILBOX_LIMIT: usize = 1024;

/// An event on its way.
#[derive(Clone)]
pub(super) struct Envelope {
    pub(super) hook: Arc<str>,
    pub(super) payload: ErasedValue,
}

/// Who gets the events.
pub(super) enum Recipient {
    Event(EventHandler),
    Any(AnyHandler),
}

/// One subscription and what waits for it.
pub(super) struct Mailbox {
    pub(super) ticket: u64,
    pub(super) subscriber: Subscriber,
    pub(super) recipient: Recipient,
    state: Mutex<MailboxState>,
}

#[derive(Default)]
struct MailboxState {
    queue: VecDeque<Envelope>,
    phase: MailboxPhase,
    /// Events lost since the mailbox was last empty.
    lost: u64,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum MailboxPhase {
    #[default]
    Idle,
    Draining,
    Closed,
}

/// What a push asks of the caller.
pub(super) enum PushOutcome {
    /// A task is emptying the mailbox already.
    Queued,
    /// Start a task that empties it.
    Start,
    /// The mailbox was full; this is the first loss since it was last empty.
    FirstLoss(Envelope),
    /// The mailbox was full again.
    FurtherLoss(Envelope),
    /// The subscription is over.
    Refused(Envelope),
}

/// What the draining task does next.
pub(super) enum NextDelivery {
    Deliver(Envelope),
    /// Nothing is left; so many events were lost on the way.
    Rest {
        lost: u64,
    },
}

impl Mailbox {
    pub(super) fn new(ticket: u64, subscriber: Subscriber, recipient: Recipient) -> Self {
        Self { ticket, subscriber, recipient, state: Mutex::default() }
    }

    pub(super) fn push(&self, envelope: Envelope) -> PushOutcome {
        let mut state = self.lock();
        if state.phase == MailboxPhase::Closed {
            return PushOutcome::Refused(envelope);
        }
        if state.queue.len() >= MAILBOX_LIMIT {
            state.lost = state.lost.saturating_add(1);
            return if state.lost == 1 { PushOutcome::FirstLoss(envelope) } else { PushOutcome::FurtherLoss(envelope) };
        }
        state.queue.push_back(envelope);
        if state.phase == MailboxPhase::Draining {
            return PushOutcome::Queued;
        }
        state.phase = MailboxPhase::Draining;
        PushOutcome::Start
    }

    pub(super) fn next(&self) -> NextDelivery {
        let mut state = self.lock();
        if let Some(envelope) = state.queue.pop_front() {
            return NextDelivery::Deliver(envelope);
        }
        if state.phase == MailboxPhase::Draining {
            state.phase = MailboxPhase::Idle;
        }
        NextDelivery::Rest { lost: std::mem::take(&mut state.lost) }
    }

    /// Ends the subscription. What was waiting is handed out, to be dropped outside every lock.
    pub(super) fn close(&self) -> VecDeque<Envelope> {
        let mut state = self.lock();
        state.phase = MailboxPhase::Closed;
        std::mem::take(&mut state.queue)
    }

    fn lock(&self) -> MutexGuard<'_, MailboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
