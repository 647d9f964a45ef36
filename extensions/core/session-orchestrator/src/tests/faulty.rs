//! A book whose steps take time, so that a process can die before a step, behind it, or while it waits.

use crate::book::{Admission, Admitted, Beginning, Book, BookError, Claimant, Finish, Lease, Recorded, Start, Swept};
use crate::contract::{CancelOutcome, DispatchId, DispatchView, SessionsError};
use crate::queue::Waiting;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::conversation::{Message, Row};
use dispatch_contracts::ports::Clock;
use dispatch_sim::SimClock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Numbers that follow from a seed.
pub(super) struct Dice(Mutex<u64>);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(Mutex::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1))
    }

    pub(super) fn below(&self, limit: u64) -> u64 {
        let mut state = self.0.lock().unwrap();
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state % limit.max(1)
    }
}

/// One process's way to the book.
pub(super) struct Faulty {
    pub(super) inner: Arc<dyn Book>,
    pub(super) clock: SimClock,
    pub(super) dice: Arc<Dice>,
    /// Set while the process is stopped.
    pub(super) frozen: Arc<AtomicBool>,
    pub(super) steps: AtomicU64,
}

impl Faulty {
    async fn dawdle(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
        self.clock.sleep_ms(self.dice.below(4)).await;
        while self.frozen.load(Ordering::Relaxed) {
            self.clock.sleep_ms(50).await;
        }
    }
}

macro_rules! slow {
    ($self:ident, $call:expr) => {
        Box::pin(async move {
            $self.dawdle().await;
            let answer = $call.await;
            $self.dawdle().await;
            answer
        })
    };
}

impl Book for Faulty {
    fn admit(&self, admission: Admission) -> BoxFuture<'_, Result<Admitted, SessionsError>> {
        slow!(self, self.inner.admit(admission))
    }

    fn claim(&self, claimant: Claimant, now_ms: u64, limit: u32) -> BoxFuture<'_, Result<Vec<Lease>, BookError>> {
        slow!(self, self.inner.claim(claimant, now_ms, limit))
    }

    fn renew<'a>(&'a self, lease: &'a Lease, until_ms: u64) -> BoxFuture<'a, Result<bool, BookError>> {
        slow!(self, self.inner.renew(lease, until_ms))
    }

    fn history<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, Result<Vec<Message>, BookError>> {
        slow!(self, self.inner.history(lease))
    }

    fn begin<'a>(&'a self, lease: &'a Lease, start: Start) -> BoxFuture<'a, Result<Beginning, BookError>> {
        slow!(self, self.inner.begin(lease, start))
    }

    fn steers<'a>(&'a self, lease: &'a Lease, partition: &'a str) -> BoxFuture<'a, Result<Vec<Waiting>, BookError>> {
        slow!(self, self.inner.steers(lease, partition))
    }

    fn record<'a>(
        &'a self,
        lease: &'a Lease,
        row: &'a Row,
        consumes: Option<&'a DispatchId>,
    ) -> BoxFuture<'a, Result<Recorded, BookError>> {
        slow!(self, self.inner.record(lease, row, consumes))
    }

    fn finish<'a>(&'a self, lease: &'a Lease, finish: Finish) -> BoxFuture<'a, Result<Vec<DispatchView>, BookError>> {
        slow!(self, self.inner.finish(lease, finish))
    }

    fn release<'a>(&'a self, lease: &'a Lease, now_ms: u64) -> BoxFuture<'a, Result<(), BookError>> {
        slow!(self, self.inner.release(lease, now_ms))
    }

    fn next_due(&self) -> BoxFuture<'_, Result<Option<u64>, BookError>> {
        slow!(self, self.inner.next_due())
    }

    fn cancel<'a>(
        &'a self,
        id: &'a DispatchId,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<(CancelOutcome, DispatchView), SessionsError>> {
        slow!(self, self.inner.cancel(id, now_ms))
    }

    fn dispatch<'a>(&'a self, id: &'a DispatchId) -> BoxFuture<'a, Result<DispatchView, SessionsError>> {
        slow!(self, self.inner.dispatch(id))
    }

    fn queue<'a>(&'a self, session: Option<&'a str>) -> BoxFuture<'a, Result<Vec<DispatchView>, SessionsError>> {
        slow!(self, self.inner.queue(session))
    }

    fn rows_after<'a>(&'a self, label: &'a str, seq: u64) -> BoxFuture<'a, Result<Vec<(u64, Row)>, SessionsError>> {
        slow!(self, self.inner.rows_after(label, seq))
    }

    fn last_place<'a>(&'a self, label: &'a str) -> BoxFuture<'a, Result<u64, SessionsError>> {
        slow!(self, self.inner.last_place(label))
    }

    fn owners(&self) -> BoxFuture<'_, Result<Vec<String>, BookError>> {
        slow!(self, self.inner.owners())
    }

    fn sweep<'a>(&'a self, dead: &'a [String], now_ms: u64) -> BoxFuture<'a, Result<Swept, BookError>> {
        slow!(self, self.inner.sweep(dead, now_ms))
    }
}
