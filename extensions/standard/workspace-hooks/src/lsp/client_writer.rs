//! Writes messages to the client on its own thread, so that a client that does not read blocks nothing.

use super::frame;
use super::run_reports::log;
use super::wire::MessageTypeWire;
use dispatch_os::threads;
use lsp_server::Message;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// A client that does not read loses what it was told beyond this; answers are always kept.
const MAX_UNREAD: usize = 10_000;
/// How long the last messages to a client may take.
const LAST_MESSAGES: Duration = Duration::from_secs(2);

/// The way to the client. Never waits.
#[derive(Clone)]
pub(super) struct ClientWriter {
    messages: mpsc::Sender<OutgoingMessage>,
    unread: Arc<AtomicUsize>,
}

enum OutgoingMessage {
    Message(Box<Message>),
    /// Everything before it is written.
    End(mpsc::Sender<()>),
}

impl ClientWriter {
    /// Starts the thread that writes. It ends when all senders are dropped, or the client is gone.
    pub(super) fn start(output: Box<dyn Write + Send>) -> std::io::Result<Self> {
        let (messages, received) = mpsc::channel();
        let unread = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&unread);
        threads::spawn("lsp writer", move || {
            let mut output = BufWriter::new(output);
            for outgoing in received {
                let message = match outgoing {
                    OutgoingMessage::Message(message) => message,
                    OutgoingMessage::End(reached) => {
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
        let (end, ended) = mpsc::channel();
        if self.messages.send(OutgoingMessage::End(end)).is_ok() {
            let _ = ended.recv_timeout(LAST_MESSAGES);
        }
    }

    pub(super) fn send(&self, message: Message) {
        let droppable = matches!(message, Message::Notification(_));
        if droppable && self.unread.load(Ordering::Acquire) >= MAX_UNREAD {
            return;
        }
        self.unread.fetch_add(1, Ordering::AcqRel);
        // A client that is gone is noticed where its messages are read.
        let _ = self.messages.send(OutgoingMessage::Message(Box::new(message)));
    }

    pub(super) fn log(&self, kind: MessageTypeWire, text: &str) {
        self.send(log(kind, text));
    }
}
