//! Hands changes of runs to whoever follows them, with the store as the truth behind it.

use crate::contract::{ExecutionRecord, RunsError};
use crate::run_store::{ChangePosition, Run, RunStore};
use dispatch_contracts::BoxStream;
use dispatch_contracts::ports::Clock;
use futures_channel::mpsc::{Receiver, Sender, channel};
use futures_util::future::{Either, select};
use futures_util::{StreamExt, stream};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// How often the store is looked at for what other processes changed.
pub(crate) const LOOK_MS: u64 = 250;
/// How much news a follower may leave unread; what is lost is found in the store.
const UNREAD_LIMIT: usize = 1_024;

/// Who follows the runs of which workspace.
#[derive(Default)]
pub(crate) struct RunFeed {
    followers: Mutex<Vec<(String, Sender<Run>)>>,
}

impl RunFeed {
    /// Tells a change. Never waits.
    pub(crate) fn tell(&self, run: &Run) {
        let mut followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
        followers.retain_mut(|(workspace, sender)| {
            if *workspace != run.key.workspace {
                return !sender.is_closed();
            }
            sender.try_send(run.clone()).map_or_else(|refused| refused.is_full(), |()| true)
        });
    }

    fn follow(&self, workspace: &str) -> Receiver<Run> {
        let (sender, receiver) = channel(UNREAD_LIMIT);
        self.followers.lock().unwrap_or_else(PoisonError::into_inner).push((workspace.to_owned(), sender));
        receiver
    }
}

struct RunFollower {
    store: Arc<RunStore>,
    clock: Arc<dyn Clock>,
    workspace: String,
    feed: Receiver<Run>,
    /// How far the store was read.
    place: ChangePosition,
    /// What was told beyond that place, by number.
    told: BTreeMap<u64, u64>,
    due: VecDeque<Run>,
}

/// Every change of a run of the workspace from now on.
pub(crate) async fn follow(
    store: Arc<RunStore>,
    clock: Arc<dyn Clock>,
    feed: &RunFeed,
    workspace: String,
) -> Result<BoxStream<'static, ExecutionRecord>, RunsError> {
    // Following begins before the store is read, so that nothing falls between the two.
    let feed = feed.follow(&workspace);
    let place = store.last_place().await?;
    let follower = RunFollower { store, clock, workspace, feed, place, told: BTreeMap::new(), due: VecDeque::new() };
    Ok(stream::unfold(follower, |mut follower| async move {
        let record = follower.next().await?;
        Some((record, follower))
    })
    .boxed())
}

impl RunFollower {
    async fn next(&mut self) -> Option<ExecutionRecord> {
        loop {
            if let Some(run) = self.due.pop_front() {
                let logs = match run.status.is_over() {
                    true => self.store.output(run.number).await.unwrap_or_default(),
                    false => None,
                };
                return Some(run.record(logs));
            }
            match select(self.feed.next(), self.clock.sleep_ms(LOOK_MS)).await {
                Either::Left((Some(run), _)) => self.take(run),
                Either::Left((None, _)) => return None,
                Either::Right(_) => self.catch_up().await,
            }
        }
    }

    fn take(&mut self, run: Run) {
        let place = ChangePosition { version: run.version, number: run.number };
        if place > self.place && self.told.get(&run.number).is_none_or(|told| *told < run.version) {
            self.told.insert(run.number, run.version);
            self.due.push_back(run);
        }
    }

    async fn catch_up(&mut self) {
        loop {
            // What cannot be read now is tried again at the next look.
            let changed = self.store.changed(&self.workspace, self.place).await.unwrap_or_default();
            let Some(last) = changed.last() else { return };
            let place = ChangePosition { version: last.version, number: last.number };
            changed.into_iter().for_each(|run| self.take(run));
            self.place = place;
            self.told.retain(|_, version| *version >= place.version);
        }
    }
}
