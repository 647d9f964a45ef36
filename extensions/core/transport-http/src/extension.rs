//! The transports as an extension: activating it offers them and opens nothing.

use crate::contract::{BoundServer, ClientInput, ClientOutput, Reach, TRANSPORT, Transport, TransportError};
use crate::http::{HttpServer, own_route_names};
use crate::line::{InputLine, LineReader, write_line};
use crate::message_channel::{ChannelClient, IncomingMessage, serve_messages};
use crate::services::TransportServices;
use crate::settings::{CLOSE_TIMEOUT_MS, MAX_MESSAGE_BYTES};
use crate::{acp, token};
use core::net::SocketAddr;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::host::Host;
use dispatch_contracts::ports::Level;
use futures_util::{Sink, Stream};
use serde_json::Map;
use std::borrow::Cow;
use std::io;
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

    fn harness(&self) -> Harness {
        dispatch_contracts::harness!()
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        let transports = Arc::new(OpenTransports {
            services: Arc::new(TransportServices::new(host.clone())),
            servers: Mutex::default(),
        });
        let reserved = host.reserve_routes(own_route_names());
        let provided = reserved.and_then(|_| host.provide(&TRANSPORT, transports as Arc<dyn Transport>));
        Box::pin(std::future::ready(provided.map(drop).map_err(ExtensionError::new)))
    }
}

/// The open listeners, and what they share.
struct OpenTransports {
    services: Arc<TransportServices>,
    servers: Mutex<Vec<HttpServer>>,
}

impl Transport for OpenTransports {
    fn listen(&self, addr: SocketAddr, reach: Reach) -> BoxFuture<'_, Result<BoundServer, TransportError>> {
        Box::pin(async move {
            if reach == Reach::Loopback && !addr.ip().is_loopback() {
                return Err(TransportError::NotLoopback { addr });
            }
            let data = self.services.folders().data;
            for (file, mode) in token::close(&data)? {
                let told = format!(
                    "{} was readable by other users of this machine (mode {mode:o}); its mode is now 600. \
                     If one of them may have read it, stop the server and delete the file: the next start makes a new token",
                    file.display()
                );
                self.services.log(Level::Warn, &told, Map::new());
            }
            let tokens = token::read_or_make(&data)?;
            let server = HttpServer::open(&self.services, addr, &tokens).await?;
            let bound = BoundServer {
                addr: server.addr,
                token_file: token::token_file(&data),
                approval_token_file: token::approval_token_file(&data),
            };
            self.servers.lock().unwrap_or_else(PoisonError::into_inner).push(server);
            Ok(bound)
        })
    }

    fn stdio(&self, input: ClientInput, output: ClientOutput) -> BoxFuture<'_, Result<(), TransportError>> {
        let services = Arc::clone(&self.services);
        Box::pin(async move {
            let heard = Box::pin(lines(LineReader::new(input, MAX_MESSAGE_BYTES)));
            let said = Box::pin(line_sink(output));
            Ok(serve_messages(services, ChannelClient { source: "stdio", may_answer: true }, heard, said).await?)
        })
    }

    fn acp(&self, input: ClientInput, output: ClientOutput) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(acp::serve(Arc::clone(&self.services), input, output))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.services.closing.cancel();
            let servers = std::mem::take(&mut *self.servers.lock().unwrap_or_else(PoisonError::into_inner));
            let limit = Duration::from_millis(CLOSE_TIMEOUT_MS);
            let drained = async {
                if let Ok(sessions) = self.services.sessions() {
                    sessions.drain().await;
                }
            };
            // What does not end in time is durable, and continues at the next start.
            let _ = tokio::time::timeout(limit, drained).await;
            let closed = futures_util::future::join_all(servers.into_iter().map(HttpServer::closed));
            let _ = tokio::time::timeout(limit, closed).await;
        })
    }
}

/// The messages of a client as a stream. It ends when the input ends or fails.
fn lines(reader: LineReader<ClientInput>) -> impl Stream<Item = IncomingMessage> + Send {
    futures_util::stream::unfold(reader, |mut reader| async move {
        let heard = match reader.next().await {
            Ok(Some(InputLine::Text(text))) => IncomingMessage::Text(text),
            Ok(Some(InputLine::TooLong)) => IncomingMessage::Unreadable("the message is longer than 32 MiB"),
            Ok(Some(InputLine::NotText)) => IncomingMessage::Unreadable("the message is not valid UTF-8"),
            Ok(None) | Err(_) => return None,
        };
        Some((heard, reader))
    })
}

fn line_sink(output: ClientOutput) -> impl Sink<String, Error = io::Error> + Send {
    futures_util::sink::unfold(output, |mut output, text: String| async move {
        write_line(&mut output, &text).await?;
        Ok(output)
    })
}
