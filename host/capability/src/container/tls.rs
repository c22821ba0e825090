//! TLS with an engine, on a connection of its own for each request.
//!
//! The client library has TLS too, but trusts all that this machine trusts besides `ca.pem`: whoever
//! has a certificate of any public authority could then be the engine.

use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use bollard::BollardRequest;
use bollard::errors::Error as Library;
use http::header::HOST;
use http::{HeaderValue, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::engine_error::EngineError;
use crate::tls::{self, Roots};

/// Where an engine is, and how TLS is spoken with it.
#[derive(Debug, Clone)]
pub struct Tls {
    /// Host and port.
    address: Arc<str>,
    name: ServerName<'static>,
    config: Arc<ClientConfig>,
}

impl Tls {
    pub(super) fn new(address: String, folder: &Path) -> Result<Self, EngineError> {
        let host = address.rsplit_once(':').map_or(address.as_str(), |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(host).map_err(|_| EngineError::Address(address.clone()))?;
        let config = Arc::new(config(folder)?);
        Ok(Self { address: address.into(), name, config })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Connects, sends, and waits for the head of the answer.
    pub(super) async fn request(
        self,
        mut request: BollardRequest,
    ) -> Result<Response<Incoming>, Library> {
        // The library writes where it goes; on the wire there is the path alone.
        let path = request.uri().path_and_query().cloned();
        *request.uri_mut() = path.map(Uri::from).unwrap_or_default();
        let host = HeaderValue::from_str(&self.address).map_err(io::Error::other)?;
        request.headers_mut().insert(HOST, host);

        let tcp = TcpStream::connect(&*self.address).await?;
        let tls = TlsConnector::from(self.config).connect(self.name, tcp).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(tls)).await?;
        let mut connection = Box::pin(connection);
        let mut answer = pin!(sender.send_request(request));
        // Polled together, because an engine that refuses the certificate says so to the connection.
        let answer = tokio::select! {
            biased;
            answer = &mut answer => answer?,
            end = &mut connection => {
                end?;
                return Ok(answer.await?);
            }
        };
        // It ends by itself when nobody reads the rest of the answer any more.
        tokio::spawn(connection);
        Ok(answer)
    }
}

fn config(folder: &Path) -> Result<ClientConfig, EngineError> {
    let bad = |path: &Path, why: String| EngineError::TlsFile { path: path.to_owned(), why };
    let [ca, cert, key] = ["ca.pem", "cert.pem", "key.pem"].map(|name| folder.join(name));
    let roots = Roots::of_file(&ca).map_err(|why| bad(&ca, why))?;
    let chain = CertificateDer::pem_file_iter(&cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| bad(&cert, error.to_string()))?;
    // Its errors say nothing of what it holds.
    let secret =
        PrivateKeyDer::from_pem_file(&key).map_err(|error| bad(&key, error.to_string()))?;
    tls::judge_of(&roots)
        .and_then(tls::verifying)
        .map_err(|error| bad(&ca, error.to_string()))?
        .with_client_auth_cert(chain, secret)
        .map_err(|error| bad(&cert, error.to_string()))
}
