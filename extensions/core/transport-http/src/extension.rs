//! The transports as an extension: they are offered, and nothing is opened until somebody asks.

use crate::contract::{Bound, Input, Output, Reach, TRANSPORT, Transport, TransportError};
use crate::desk::Desk;
use crate::http::Server;
use crate::line::{Line, LineReader, write_line};
use crate::settings::{CLOSE_TIMEOUT_MS, MAX_MESSAGE_BYTES};
use crate::talk::{Heard, talk};
use crate::{acp, token};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::host::Host;
use futures_util::{Sink, Stream};
use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The extension.
#[must_use]
pub fn extension() -> Arc<dyn Extension> {
    Arc::new(TransportExtension)
}

struct TransportExtension;

impl Extension for TransportExtension {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(include_str!("../manifest.json"))
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        let doors = Arc::new(Doors { desk: Arc::new(Desk::new(host.clone())), servers: Mutex::default() });
        let provided = host.provide(&TRANSPORT, doors as Arc<dyn Transport>);
        Box::pin(std::future::ready(provided.map(drop).map_err(ExtensionError::new)))
    }
}

/// The ways in that are open.
struct Doors {
    desk: Arc<Desk>,
    servers: Mutex<Vec<Server>>,
}

impl Transport for Doors {
    fn listen(&self, addr: SocketAddr, reach: Reach) -> BoxFuture<'_, Result<Bound, TransportError>> {
        Box::pin(async move {
            if reach == Reach::Loopback && !addr.ip().is_loopback() {
                return Err(TransportError::NotLoopback { addr });
            }
            let data = self.desk.folders().data;
            let secret = token::read_or_make(&data)?;
            let server = Server::open(&self.desk, addr, &secret).await?;
            let bound = Bound { addr: server.addr, token_file: token::token_file(&data) };
            self.servers.lock().unwrap_or_else(PoisonError::into_inner).push(server);
            Ok(bound)
        })
    }

    fn stdio(&self, input: Input, output: Output) -> BoxFuture<'_, Result<(), TransportError>> {
        let desk = Arc::clone(&self.desk);
        Box::pin(async move {
            let heard = Box::pin(lines(LineReader::new(input, MAX_MESSAGE_BYTES)));
            let said = Box::pin(line_sink(output));
            Ok(talk(desk, "stdio", heard, said).await?)
        })
    }

    fn acp(&self, input: Input, output: Output) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(acp::serve(Arc::clone(&self.desk), input, output))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.desk.closing.cancel();
            let servers = std::mem::take(&mut *self.servers.lock().unwrap_or_else(PoisonError::into_inner));
            let limit = Duration::from_millis(CLOSE_TIMEOUT_MS);
            let drained = async {
                if let Ok(sessions) = self.desk.sessions() {
                    sessions.drain().await;
                }
            };
            // What does not end in time is durable, and goes on at the next start.
            let _ = tokio::time::timeout(limit, drained).await;
            let closed = futures_util::future::join_all(servers.into_iter().map(Server::closed));
            let _ = tokio::time::timeout(limit, closed).await;
        })
    }
}

/// The messages of a client as a stream. It ends when the input does, or breaks.
fn lines(reader: LineReader<Input>) -> impl Stream<Item = Heard> + Send {
    futures_util::stream::unfold(reader, |mut reader| async move {
        let heard = match reader.next().await {
            Ok(Some(Line::Text(text))) => Heard::Text(text),
            Ok(Some(Line::TooLong)) => Heard::Garbled("the message is too long"),
            Ok(Some(Line::NotText)) => Heard::Garbled("the message is no UTF-8"),
            Ok(None) | Err(_) => return None,
        };
        Some((heard, reader))
    })
}

fn line_sink(output: Output) -> impl Sink<String, Error = io::Error> + Send {
    futures_util::sink::unfold(output, |mut output, text: String| async move {
        write_line(&mut output, &text).await?;
        Ok(output)
    })
}
