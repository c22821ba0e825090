//! The certificate that the API is served with, taken up anew when its files change.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use probehost_config::ServerTls;
use rustls::crypto::ring::{default_provider, sign::any_supported_type};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{InconsistentKeys, ServerConfig};
use tokio::time::{MissedTickBehavior, interval};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(2);

/// Why a certificate can't be served with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// A file can't be read.
    #[error(
        "[server.tls]: {path} can't be read ({why}); see that it is there and that the host's user may read it"
    )]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A file holds no certificate.
    #[error(
        "[server.tls] certificate: {path} holds no certificate ({why}); give a PEM file with the certificate first and those that lead to its authority after it"
    )]
    NoCertificate {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A file holds no key.
    #[error(
        "[server.tls] key: {path} holds no private key that can be used ({why}); give a PEM file with an RSA, ECDSA or Ed25519 key without a password"
    )]
    NoKey {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The cryptography of this build can't do it.
    #[error("[server.tls]: TLS can't be served ({0}); this binary is broken, build it anew")]
    NoTls(String),
    /// Certificate and key do not belong together.
    #[error(
        "[server.tls]: the key {key} is not that of the certificate {certificate}; give the pair"
    )]
    NoPair {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
    },
}

/// What the files hold.
type Read = (Vec<u8>, Vec<u8>);

/// The certificate in use.
#[derive(Debug)]
pub(crate) struct Certificates {
    files: ServerTls,
    current: RwLock<Arc<CertifiedKey>>,
    read: Read,
}

impl Certificates {
    /// Reads the files.
    ///
    /// # Errors
    /// They can't be read or used.
    pub(crate) fn load(files: &ServerTls) -> Result<Arc<Self>, CertificateError> {
        let read = read(files)?;
        let current = RwLock::new(Arc::new(certified(files, &read)?));
        Ok(Arc::new(Self { files: files.clone(), current, read }))
    }

    /// What handshakes go by.
    ///
    /// # Errors
    /// The cryptography can't do TLS.
    pub(crate) fn acceptor(self: &Arc<Self>) -> Result<TlsAcceptor, CertificateError> {
        let config = ServerConfig::builder_with_provider(default_provider().into());
        let config = config
            .with_safe_default_protocol_versions()
            .map_err(|error| CertificateError::NoTls(error.to_string()))?;
        let resolver: Arc<Self> = Arc::clone(self);
        let mut config = config.with_no_client_auth().with_cert_resolver(resolver);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// Takes up changed files until `stop`. Files that can't be used change nothing, and are told
    /// of once: half of a pair may be on its way.
    pub(crate) async fn watch(self: Arc<Self>, stop: CancellationToken) {
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut seen = Ok(self.read.clone());
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
            }
            let now = read(&self.files);
            if now == seen {
                continue;
            }
            let taken = now.clone().and_then(|read| certified(&self.files, &read));
            match taken {
                Ok(key) => {
                    *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(key);
                    info!(certificate = %self.files.certificate.display(), "the certificate was renewed");
                }
                Err(error) => warn!(%error, "the certificate before stays in use"),
            }
            seen = now;
        }
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn read(files: &ServerTls) -> Result<Read, CertificateError> {
    let file = |path: &Path| {
        std::fs::read(path).map_err(|error| CertificateError::Unreadable {
            path: path.to_owned(),
            why: error.to_string(),
        })
    };
    Ok((file(&files.certificate)?, file(&files.key)?))
}

fn certified(
    files: &ServerTls,
    (certificate, key): &Read,
) -> Result<CertifiedKey, CertificateError> {
    let no_certificate =
        |why: String| CertificateError::NoCertificate { path: files.certificate.clone(), why };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
    let chain = chain.map_err(|error| no_certificate(error.to_string()))?;
    if chain.is_empty() {
        return Err(no_certificate("there is none in it".to_owned()));
    }
    let no_key = |why: String| CertificateError::NoKey { path: files.key.clone(), why };
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| no_key(error.to_string()))?;
    let key = any_supported_type(&key).map_err(|error| no_key(error.to_string()))?;
    let certified = CertifiedKey::new(chain, key);
    match certified.keys_match() {
        // Some keys can't tell; then the first handshake does.
        Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified),
        Err(rustls::Error::InconsistentKeys(_)) => Err(CertificateError::NoPair {
            certificate: files.certificate.clone(),
            key: files.key.clone(),
        }),
        Err(error) => Err(no_certificate(error.to_string())),
    }
}
