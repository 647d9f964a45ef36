//! Connections to mail servers, with the same TLS as everything else that leaves this machine.

use crate::server_address::{Protection, ServerAddress};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// How long a connection may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(20);

/// What a protocol runs over.
pub(crate) trait MailStream: AsyncRead + AsyncWrite + Unpin + Send + fmt::Debug {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send + fmt::Debug> MailStream for S {}

/// Connects to an IMAP server.
pub(crate) async fn connect(server: &ServerAddress) -> Result<Box<dyn MailStream>, String> {
    let place = format!("{}:{}", server.host, server.port);
    let connecting = TcpStream::connect((server.host.as_str(), server.port));
    let plain = match timeout(CONNECT_LIMIT, connecting).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(format!("cannot connect to {place}: {error}")),
        Err(_) => return Err(format!("cannot connect to {place}: timed out")),
    };
    if server.protection == Protection::Plain {
        return Ok(Box::new(plain));
    }
    let name = ServerName::try_from(server.host.clone()).map_err(|error| format!("invalid host: {error}"))?;
    let protecting = TlsConnector::from(Arc::new(config()?)).connect(name, plain);
    match timeout(CONNECT_LIMIT, protecting).await {
        Ok(Ok(stream)) => Ok(Box::new(stream)),
        Ok(Err(error)) => Err(format!("TLS with {place} failed: {error}")),
        Err(_) => Err(format!("TLS with {place} timed out")),
    }
}

fn config() -> Result<ClientConfig, String> {
    let told = |error: rustls::Error| format!("TLS cannot be used: {error}");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().map_err(told)?;
    Ok(builder.with_platform_verifier().map_err(told)?.with_no_client_auth())
}
