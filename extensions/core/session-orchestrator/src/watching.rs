//! Following a session: what is stored first, then news as it comes, with storage as the truth behind it.

mod order;
mod questions;

use crate::contract::{DispatchId, DispatchView, SessionEvent, SessionEvents, SessionNews, SessionsError};
use crate::session_feed::FeedReader;
use crate::turn_scheduler::TurnScheduler;
use crate::watching::order::EventOrder;
use crate::watching::questions::KnownQuestions;
use futures_channel::mpsc::Receiver;
use futures_util::future::{Either, select};
use futures_util::{FutureExt, StreamExt, stream};
use std::sync::Arc;

/// How often storage is looked at for what another process wrote or asks: a person waits for it.
const NEWS_MS: u64 = 120;
/// How often it is looked at for the end of a dispatch.
const END_MS: u64 = 250;
const LAGGED: SessionEvent = SessionEvent { seq: None, news: SessionNews::Lagged };

struct SessionFollower {
    scheduler: Arc<TurnScheduler>,
    label: String,
    feed: FeedReader,
    order: EventOrder,
    questions: KnownQuestions,
    /// Told when another process has asked or answered.
    asked: Receiver<()>,
}

/// The news of a session.
pub(crate) async fn follow(
    scheduler: Arc<TurnScheduler>,
    label: &str,
    after: Option<u64>,
) -> Result<SessionEvents, SessionsError> {
    // Watching begins before storage is read, so that nothing falls between the two.
    let feed = scheduler.feed.watch(label);
    let order = EventOrder::new(after, scheduler.store.last_place(label).await?);
    let (questions, asked) = (KnownQuestions::default(), scheduler.feed.questions.listen());
    let mut follower = SessionFollower { label: label.to_owned(), feed, order, questions, asked, scheduler };
    follower.look_for_questions().await;
    Ok(stream::unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((event, follower))
    })
    .boxed())
}

impl SessionFollower {
    /// Finds questions that another process asks, and those that are settled.
    async fn look_for_questions(&mut self) {
        let now_ms = self.scheduler.now_ms();
        // What cannot be read now is read at the next look.
        if let Ok(open) = self.scheduler.store.open_questions(Some(&self.label), now_ms).await {
            let news = self.questions.compare(open);
            self.order.due.extend(news.into_iter().map(|news| SessionEvent { seq: None, news }));
        }
    }

    async fn next(&mut self) -> Option<SessionEvent> {
        loop {
            if let Some(event) = self.order.due.pop_front() {
                if self.questions.is_news(&event.news) {
                    return Some(event);
                }
                continue;
            }
            if self.feed.take_lag() {
                self.order.behind = true;
                return Some(LAGGED);
            }
            if self.order.behind {
                // What cannot be read now is tried again at the next tick.
                let rows = self.scheduler.store.rows_after(&self.label, self.order.seen).await.unwrap_or_default();
                let feed = &mut self.feed;
                self.order.read(rows, || {
                    let mut news = feed.waiting();
                    // Where among them something was lost is not known; no client may take them for whole.
                    if feed.take_lag() {
                        news.insert(0, LAGGED);
                    }
                    news
                });
                continue;
            }
            let look = select(self.asked.next(), self.scheduler.clock().sleep_ms(NEWS_MS));
            match select(self.feed.receiver.next(), look).await {
                Either::Left((Some(event), _)) => self.order.hear(event),
                Either::Left((None, _)) => return None,
                Either::Right(_) => {
                    self.order.behind = true;
                    self.look_for_questions().await;
                }
            }
        }
    }
}

/// Resolves when a dispatch is over.
pub(crate) async fn wait(scheduler: Arc<TurnScheduler>, id: &DispatchId) -> Result<DispatchView, SessionsError> {
    let mut view = scheduler.store.dispatch(id).await?;
    if view.state.is_over() {
        return Ok(view);
    }
    let mut feed = scheduler.feed.watch(&view.session);
    loop {
        // Asked again after watching began, because it may have ended in between.
        view = scheduler.store.dispatch(id).await?;
        if view.state.is_over() {
            return Ok(view);
        }
        let tick = scheduler.clock().sleep_ms(END_MS);
        if let Either::Left((Some(ended), _)) = select(news_of_end(&mut feed, id).boxed(), tick).await {
            return Ok(ended);
        }
    }
}

/// The dispatch as it ended, if this process tells; none when it will not tell any more.
async fn news_of_end(feed: &mut FeedReader, id: &DispatchId) -> Option<DispatchView> {
    while let Some(event) = feed.receiver.next().await {
        if let SessionNews::Dispatch { dispatch } = event.news
            && dispatch.id == *id
            && dispatch.state.is_over()
        {
            return Some(dispatch);
        }
    }
    None
}
