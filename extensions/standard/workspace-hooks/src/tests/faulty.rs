//! A book whose steps take time, so that a process can die before a step, behind it, or while it waits.

use crate::book::{Book, BookError, Place, Run, Step, Tally};
use crate::contract::RunQuery;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::ports::Clock;
use dispatch_contracts::storage::Durability;
use dispatch_sim::SimClock;
use std::sync::atomic::{AtomicBool, Ordering};
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
    /// Whether storage fails now and then.
    pub(super) fails: Arc<AtomicBool>,
}

impl Faulty {
    async fn dawdle(&self) {
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
    fn step(&self, durability: Durability, work: Step) -> BoxFuture<'_, Result<(), BookError>> {
        Box::pin(async move {
            self.dawdle().await;
            if self.fails.load(Ordering::Relaxed) && self.dice.below(10) == 0 {
                return Err(BookError::Storage("the disk is full".to_owned()));
            }
            let answer = self.inner.step(durability, work).await;
            self.dawdle().await;
            answer
        })
    }

    fn hooks_waiting<'a>(&'a self, workspace: &'a str) -> BoxFuture<'a, Result<Vec<String>, BookError>> {
        slow!(self, self.inner.hooks_waiting(workspace))
    }

    fn heads<'a>(
        &'a self,
        workspace: &'a str,
        hook: &'a str,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<Run>, BookError>> {
        slow!(self, self.inner.heads(workspace, hook, limit))
    }

    fn running<'a>(&'a self, workspace: &'a str) -> BoxFuture<'a, Result<Vec<Run>, BookError>> {
        slow!(self, self.inner.running(workspace))
    }

    fn holders(&self) -> BoxFuture<'_, Result<Vec<String>, BookError>> {
        slow!(self, self.inner.holders())
    }

    fn is_busy<'a>(&'a self, workspace: &'a str) -> BoxFuture<'a, Result<bool, BookError>> {
        slow!(self, self.inner.is_busy(workspace))
    }

    fn named<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Vec<Run>, BookError>> {
        slow!(self, self.inner.named(id))
    }

    fn output(&self, number: u64) -> BoxFuture<'_, Result<Option<String>, BookError>> {
        slow!(self, self.inner.output(number))
    }

    fn list<'a>(
        &'a self,
        query: &'a RunQuery,
        before: Option<u64>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<Run>, BookError>> {
        slow!(self, self.inner.list(query, before, limit))
    }

    fn changed<'a>(&'a self, workspace: &'a str, after: Place) -> BoxFuture<'a, Result<Vec<Run>, BookError>> {
        slow!(self, self.inner.changed(workspace, after))
    }

    fn last_place(&self) -> BoxFuture<'_, Result<Place, BookError>> {
        slow!(self, self.inner.last_place())
    }

    fn tally<'a>(&'a self, workspace: &'a str, day_from_ms: u64) -> BoxFuture<'a, Result<Tally, BookError>> {
        slow!(self, self.inner.tally(workspace, day_from_ms))
    }

    fn heard<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Option<u64>, BookError>> {
        slow!(self, self.inner.heard(owner))
    }
}
