//! What leaves the server: messages to the client by a thread of its own, events to the queue by a task of its own.

use super::frame;
use super::report::log;
use super::resolve::{Notice, Resolver, without_repeats};
use crate::contract::{Event, Runs, RunsError};
use dispatch_contracts::ports::Clock;
use dispatch_os::threads::offload;
use futures_channel::mpsc;
use futures_util::StreamExt;
use lsp_server::Message;
use lsp_types::MessageType;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc as mpsc_std};
use std::time::Duration;

/// A client that does not read loses what it was told beyond this; answers are always kept.
const MAX_UNREAD: usize = 10_000;
/// How often an event is offered to a queue that is full or cannot be written.
const MAX_ATTEMPTS: u32 = 5;
const PAUSE_MS: u64 = 500;

/// A file of this size is read in less time than a thread is started.
const MAX_INLINE_BYTES: u64 = 128 * 1024;
/// How long the last words to a client may take.
const FAREWELL: Duration = Duration::from_secs(2);

/// The way to the client. Never waits.
#[derive(Clone)]
pub(super) struct ToClient {
    messages: mpsc_std::Sender<Outgoing>,
    unread: Arc<AtomicUsize>,
}

enum Outgoing {
    Message(Box<Message>),
    /// Everything before it is written.
    End(mpsc_std::Sender<()>),
}

impl ToClient {
    /// Starts the thread that writes. It ends when nobody can send any more, or the client is gone.
    pub(super) fn start(output: Box<dyn Write + Send>) -> std::io::Result<Self> {
        let (messages, received) = mpsc_std::channel();
        let unread = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&unread);
        std::thread::Builder::new().name("lsp writer".to_owned()).spawn(move || {
            let mut output = BufWriter::new(output);
            for outgoing in received {
                let message = match outgoing {
                    Outgoing::Message(message) => message,
                    Outgoing::End(reached) => {
                        // Whoever waited may have given up.
                        let _ = reached.send(());
                        return;
                    }
                };
                counted.fetch_sub(1, Ordering::AcqRel);
                if frame::write(&mut output, &message).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { messages, unread })
    }

    /// Waits until everything was written, but not for a client that does not read.
    pub(super) fn finish(&self) {
        let (end, ended) = mpsc_std::channel();
        if self.messages.send(Outgoing::End(end)).is_ok() {
            let _ = ended.recv_timeout(FAREWELL);
        }
    }

    pub(super) fn send(&self, message: Message) {
        let droppable = matches!(message, Message::Notification(_));
        if droppable && self.unread.load(Ordering::Acquire) >= MAX_UNREAD {
            return;
        }
        self.unread.fetch_add(1, Ordering::AcqRel);
        // A client that is gone is noticed where its messages are read.
        let _ = self.messages.send(Outgoing::Message(Box::new(message)));
    }

    pub(super) fn log(&self, kind: MessageType, text: &str) {
        self.send(log(kind, text));
    }
}

/// The workspaces that are open.
pub(super) type Workspaces = Arc<Mutex<Vec<PathBuf>>>;

/// Turns notices into events and hands them over, one after the other, until no more can come.
pub(super) async fn submit_all(
    mut notices: mpsc::Receiver<Notice>,
    workspaces: Workspaces,
    runs: Arc<dyn Runs>,
    clock: Arc<dyn Clock>,
    client: ToClient,
) {
    let resolver = Arc::new(Mutex::new(Resolver::default()));
    while let Some(first) = notices.next().await {
        let mut waiting = vec![first];
        while let Ok(more) = notices.try_recv() {
            waiting.push(more);
        }
        for notice in without_repeats(waiting) {
            let open = workspaces.lock().unwrap_or_else(PoisonError::into_inner).clone();
            match resolved(&resolver, notice, open).await {
                Ok(events) => {
                    for event in events {
                        submit(event, runs.as_ref(), clock.as_ref(), &client).await;
                    }
                }
                Err(error) => client.log(MessageType::ERROR, &format!("a save was not looked at: {error}")),
            }
        }
    }
}

/// The events of a notice. A small file is read at once; a large one takes a while, and the runtime has other things
/// to do.
async fn resolved(resolver: &Arc<Mutex<Resolver>>, notice: Notice, open: Vec<PathBuf>) -> std::io::Result<Vec<Event>> {
    let resolve = move |resolver: &Mutex<Resolver>, notice: &Notice| {
        resolver.lock().unwrap_or_else(PoisonError::into_inner).events(notice, &open)
    };
    if notice.costs_at_most(MAX_INLINE_BYTES) {
        return Ok(resolve(resolver, &notice));
    }
    let resolver = Arc::clone(resolver);
    Ok(offload("lsp resolve", move || resolve(&resolver, &notice))?.await)
}

async fn submit(event: Event, runs: &dyn Runs, clock: &dyn Clock, client: &ToClient) {
    let mut attempt = 1;
    loop {
        let Err(error) = runs.submit(event.clone()).await else { return };
        let passing = matches!(error, RunsError::Full { .. } | RunsError::Storage(_));
        if !passing || attempt >= MAX_ATTEMPTS {
            client.log(MessageType::ERROR, &format!("an event was not taken in: {error}"));
            return;
        }
        attempt += 1;
        clock.sleep_ms(PAUSE_MS).await;
    }
}
