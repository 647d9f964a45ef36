//! TLS for connections to the database, with the same library as everything else that leaves this machine.

use crate::contract::{DatabaseAddress, TlsUse};
use dispatch_contracts::storage::StorageError;
use dispatch_os::files::read_at_most;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_platform_verifier::BuilderVerifierExt;
use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as RustlsStream;

/// The largest file of authorities.
const MAX_AUTHORITIES_BYTES: u64 = 8 * 1024 * 1024;

/// Makes protected connections.
#[derive(Clone)]
pub(crate) struct DatabaseTls {
    config: Arc<ClientConfig>,
}

impl DatabaseTls {
    /// With certificates checked as the address asks for.
    pub(crate) fn new(address: &DatabaseAddress) -> Result<Self, StorageError> {
        let told = |error: Error| StorageError::Unwritable(format!("TLS cannot be used: {error}"));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().map_err(told)?;
        let config = match (address.tls, &address.authorities) {
            (TlsUse::Verified, Some(file)) => builder.with_root_certificates(authorities(file)?).with_no_client_auth(),
            (TlsUse::Verified, None) => builder.with_platform_verifier().map_err(told)?.with_no_client_auth(),
            (TlsUse::Unchecked, _) => {
                let verifier = Arc::new(AnyCertificate { provider });
                builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
            }
        };
        Ok(Self { config: Arc::new(config) })
    }
}

/// The certificates in a file.
fn authorities(file: &Path) -> Result<RootCertStore, StorageError> {
    let refused = |why: String| StorageError::Unwritable(format!("`sslrootcert` {}: {why}", file.display()));
    let text = read_at_most(file, MAX_AUTHORITIES_BYTES).map_err(|error| refused(error.to_string()))?;
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|error| refused(error.to_string()))?;
        store.add(certificate).map_err(|error| refused(error.to_string()))?;
    }
    if store.is_empty() {
        return Err(refused("it holds no certificate in the form PEM".to_owned()));
    }
    Ok(store)
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for DatabaseTls {
    type Stream = ProtectedStream<S>;
    type TlsConnect = ProtectedConnect;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> Result<ProtectedConnect, io::Error> {
        // A socket in the file system has no name; PostgreSQL offers no TLS there either.
        let name = ServerName::try_from(host.to_owned()).or_else(|_| ServerName::try_from("localhost"));
        let name = name.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(ProtectedConnect { config: Arc::clone(&self.config), name })
    }
}

/// A connection that is about to be protected.
pub(crate) struct ProtectedConnect {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for ProtectedConnect {
    type Stream = ProtectedStream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<ProtectedStream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move { TlsConnector::from(self.config).connect(self.name, stream).await.map(ProtectedStream) })
    }
}

/// A protected connection.
pub(crate) struct ProtectedStream<S>(RustlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for ProtectedStream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for ProtectedStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ProtectedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buffer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// `sslmode=require` protects against listeners alone, as it does in libpq: any certificate will do.
#[derive(Debug)]
struct AnyCertificate {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
