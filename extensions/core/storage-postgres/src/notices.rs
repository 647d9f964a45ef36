//! Wake-ups between processes, on a connection of their own and outside every transaction: a commit that notifies
//! waits for every other such commit. They are hints; without them everything is found by looking at intervals.

use crate::connection::ConnectionShared;
use crate::tls::DatabaseTls;
use dispatch_os::threads::spawn;
use futures_channel::mpsc::{Receiver, Sender, channel};
use futures_util::future::{Either, select};
use futures_util::stream::poll_fn;
use futures_util::{StreamExt, pin_mut};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_postgres::{AsyncMessage, Client};

/// The most different topics that wait to be sent; what is announced beyond that is found by looking.
const TOPIC_LIMIT: usize = 1_024;
/// Announcements within so long are sent as one.
const COALESCE: Duration = Duration::from_millis(5);
/// How long after a lost connection the next is tried.
const RETRY: Duration = Duration::from_secs(1);

type Heard = Box<dyn Fn(&str) + Send + Sync>;

/// The notices of one database. Nothing is connected before somebody listens.
pub(crate) struct Notices {
    state: Arc<NoticeState>,
    signal: Mutex<Option<Sender<()>>>,
}

struct NoticeState {
    shared: Arc<ConnectionShared>,
    waiting: Mutex<BTreeSet<String>>,
    listeners: Mutex<Vec<Heard>>,
}

impl Notices {
    pub(crate) fn new(shared: Arc<ConnectionShared>) -> Self {
        let state = NoticeState { shared, waiting: Mutex::default(), listeners: Mutex::default() };
        Self { state: Arc::new(state), signal: Mutex::default() }
    }

    /// Sends a topic soon. Nobody waits for it.
    pub(crate) fn announce(&self, topic: &str) {
        let Some(signal) = &mut *lock(&self.signal) else { return };
        let mut waiting = lock(&self.state.waiting);
        if waiting.len() < TOPIC_LIMIT {
            waiting.insert(topic.to_owned());
        }
        // A full channel has a signal in it already.
        _ = signal.try_send(());
    }

    /// Hears what is announced from now on. A pooler in transaction mode passes nothing on, so none is asked.
    pub(crate) fn listen(&self, heard: Heard) {
        lock(&self.state.listeners).push(heard);
        let mut signal = lock(&self.signal);
        if signal.is_some() || !self.state.shared.address.prepares {
            return;
        }
        let (sender, receiver) = channel(1);
        let state = Arc::clone(&self.state);
        if spawn("storage-notices", move || serve(&state, receiver)).is_ok() {
            *signal = Some(sender);
        }
    }

    /// Ends the connection.
    pub(crate) fn close(&self) {
        *lock(&self.signal) = None;
    }
}

/// Stays connected until the other end of the signal is gone.
fn serve(state: &Arc<NoticeState>, mut signal: Receiver<()>) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    runtime.block_on(async {
        loop {
            if let Ok(client) = connect(state, state.shared.tls.clone()).await
                && pass_on(state, &client, &mut signal).await == Signal::Gone
            {
                return;
            }
            let pause = tokio::time::sleep(RETRY);
            pin_mut!(pause);
            // A signal while there is no connection is only worth a look whether anybody is left.
            while let Either::Left((got, rest)) = select(signal.next(), pause).await {
                if got.is_none() {
                    return;
                }
                pause = rest;
            }
        }
    });
}

#[derive(PartialEq, Eq)]
enum Signal {
    /// The database went away.
    Lost,
    /// Nobody announces any more.
    Gone,
}

async fn connect(state: &Arc<NoticeState>, tls: DatabaseTls) -> Result<Client, tokio_postgres::Error> {
    let (client, mut connection) = state.shared.address.config.connect(tls).await?;
    let hearing = Arc::clone(state);
    tokio::spawn(async move {
        let mut messages = poll_fn(move |context| connection.poll_message(context));
        while let Some(Ok(message)) = messages.next().await {
            if let AsyncMessage::Notification(notice) = message {
                lock(&hearing.listeners).iter().for_each(|heard| heard(notice.payload()));
            }
        }
    });
    client.batch_execute(&format!("SET synchronous_commit = off; LISTEN {}", channel_name(state))).await?;
    Ok(client)
}

async fn pass_on(state: &NoticeState, client: &Client, signal: &mut Receiver<()>) -> Signal {
    let send = format!(
        "SELECT pg_notify('{}', topic) FROM unnest($1::text[]) AS topic",
        channel_name(state).trim_matches('"')
    );
    loop {
        let beat = tokio::time::sleep(Duration::from_secs(30));
        pin_mut!(beat);
        match select(signal.next(), beat).await {
            Either::Left((None, _)) => return Signal::Gone,
            Either::Left((Some(()), _)) => tokio::time::sleep(COALESCE).await,
            // Finds out that the server is gone, also when nothing is announced.
            Either::Right(_) => {}
        }
        let topics: Vec<String> = std::mem::take(&mut *lock(&state.waiting)).into_iter().collect();
        if client.execute(&send, &[&topics]).await.is_err() {
            return Signal::Lost;
        }
    }
}

/// One channel per schema, as a quoted name.
fn channel_name(state: &NoticeState) -> String {
    let schema: String =
        state.shared.schema().chars().filter(|sign| sign.is_ascii_alphanumeric() || *sign == '_').collect();
    format!("\"dispatch_{schema}\"")
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
