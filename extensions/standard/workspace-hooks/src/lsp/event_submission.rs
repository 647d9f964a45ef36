//! Turns what the client says about its documents into events and hands them to the queue, in order.

use super::client_writer::ClientWriter;
use super::document_events::{DocumentNotice, EventResolver, without_repeats};
use super::wire::MessageTypeWire;
use crate::contract::{Event, Runs, RunsError};
use dispatch_contracts::ports::Clock;
use dispatch_os::threads::offload;
use futures_channel::mpsc;
use futures_util::StreamExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// How often an event is offered to a queue that is full or cannot be written.
const MAX_ATTEMPTS: u32 = 5;
const PAUSE_MS: u64 = 500;
/// A file of this size is read in less time than a thread is started.
const MAX_INLINE_BYTES: u64 = 128 * 1024;

/// The workspaces that are open.
pub(super) type OpenWorkspaces = Arc<Mutex<Vec<PathBuf>>>;

/// Turns notices into events and hands them over, one after the other, until no more can come.
pub(super) async fn submit_all(
    mut notices: mpsc::Receiver<DocumentNotice>,
    workspaces: OpenWorkspaces,
    runs: Arc<dyn Runs>,
    clock: Arc<dyn Clock>,
    client: ClientWriter,
) {
    let resolver = Arc::new(Mutex::new(EventResolver::default()));
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
                Err(error) => client.log(MessageTypeWire::Error, &format!("cannot read a saved file: {error}")),
            }
        }
    }
}

/// The events of a notice. A small file is read at once; a large one takes a while, and the runtime has other things
/// to do.
async fn resolved(
    resolver: &Arc<Mutex<EventResolver>>,
    notice: DocumentNotice,
    open: Vec<PathBuf>,
) -> std::io::Result<Vec<Event>> {
    let resolve = move |resolver: &Mutex<EventResolver>, notice: &DocumentNotice| {
        resolver.lock().unwrap_or_else(PoisonError::into_inner).events(notice, &open)
    };
    if notice.costs_at_most(MAX_INLINE_BYTES) {
        return Ok(resolve(resolver, &notice));
    }
    let resolver = Arc::clone(resolver);
    Ok(offload("lsp resolve", move || resolve(&resolver, &notice))?.await)
}

async fn submit(event: Event, runs: &dyn Runs, clock: &dyn Clock, client: &ClientWriter) {
    let mut attempt = 1;
    loop {
        let Err(error) = runs.submit(event.clone()).await else { return };
        let passing = matches!(error, RunsError::Full { .. } | RunsError::Away(_) | RunsError::Storage(_));
        if !passing || attempt >= MAX_ATTEMPTS {
            client.log(MessageTypeWire::Error, &format!("cannot queue an event: {error}"));
            return;
        }
        attempt += 1;
        clock.sleep_ms(PAUSE_MS).await;
    }
}
