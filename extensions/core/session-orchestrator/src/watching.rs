//! Following a session: what is stored first, then news as it comes, with storage as the truth behind it.

use crate::conductor::Conductor;
use crate::contract::{DispatchId, DispatchView, SessionEvent, SessionEvents, SessionNews, SessionsError};
use crate::hub::Feed;
use futures_util::future::{Either, select};
use futures_util::{StreamExt, stream};
use std::collections::VecDeque;
use std::sync::Arc;

/// How often storage is looked at for rows that another process wrote.
const LOOK_MS: u64 = 250;

struct Follower {
    conductor: Arc<Conductor>,
    label: String,
    feed: Feed,
    /// The place of the last row that was given out.
    seen: u64,
    due: VecDeque<SessionEvent>,
    /// Whether storage must be read before news is passed on.
    behind: bool,
}

/// The news of a session.
pub(crate) async fn follow(
    conductor: Arc<Conductor>,
    label: &str,
    after: Option<u64>,
) -> Result<SessionEvents, SessionsError> {
    // Watching begins before storage is read, so that nothing falls between the two.
    let feed = conductor.hub.watch(label);
    let seen = match after {
        Some(after) => after,
        None => conductor.book.last_place(label).await?,
    };
    let follower =
        Follower { label: label.to_owned(), feed, seen, due: VecDeque::new(), behind: after.is_some(), conductor };
    Ok(stream::unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((event, follower))
    })
    .boxed())
}

impl Follower {
    async fn next(&mut self) -> Option<SessionEvent> {
        loop {
            if let Some(event) = self.due.pop_front() {
                return Some(event);
            }
            if self.behind {
                self.catch_up().await;
                continue;
            }
            let tick = self.conductor.clock().sleep_ms(LOOK_MS);
            match select(self.feed.receiver.next(), tick).await {
                Either::Left((Some(event), _)) => self.take(event),
                Either::Left((None, _)) => return None,
                Either::Right(_) => self.behind = true,
            }
            if self.feed.take_lag() {
                self.due.push_back(SessionEvent { seq: None, news: SessionNews::Lagged });
                self.behind = true;
            }
        }
    }

    /// Passes news on; a row only if it is the next one.
    fn take(&mut self, event: SessionEvent) {
        match event.seq {
            Some(seq) if seq <= self.seen => {}
            Some(seq) if seq == self.seen + 1 => {
                self.seen = seq;
                self.due.push_back(event);
            }
            Some(_) => self.behind = true,
            None => self.due.push_back(event),
        }
    }

    async fn catch_up(&mut self) {
        // What cannot be read now is tried again at the next tick.
        let rows = self.conductor.book.rows_after(&self.label, self.seen).await.unwrap_or_default();
        self.behind = !rows.is_empty();
        for (seq, row) in rows {
            self.seen = seq;
            self.due.push_back(SessionEvent { seq: Some(seq), news: SessionNews::Row { row } });
        }
    }
}

/// Resolves when a dispatch is over.
pub(crate) async fn wait(conductor: Arc<Conductor>, id: &DispatchId) -> Result<DispatchView, SessionsError> {
    let mut view = conductor.book.dispatch(id).await?;
    let mut feed = conductor.hub.watch(&view.session);
    loop {
        // Asked again after watching began, because it may have ended in between.
        view = conductor.book.dispatch(id).await?;
        if view.state.is_over() {
            return Ok(view);
        }
        loop {
            let tick = conductor.clock().sleep_ms(LOOK_MS);
            match select(feed.receiver.next(), tick).await {
                Either::Left((Some(event), _)) => {
                    let ours = matches!(&event.news, SessionNews::Dispatch { dispatch } if dispatch.id == *id);
                    if ours {
                        break;
                    }
                }
                Either::Left((None, _)) | Either::Right(_) => break,
            }
        }
    }
}
