//! TLS: what is trusted, and what is said when a handshake fails.

mod certificate;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use probehost_model::Timestamp;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, InvalidMessage,
    OtherError, RootCertStore, SignatureScheme,
};

use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};

use crate::SetupError;

pub use certificate::{Certificate, Details};
pub(crate) use certificate::{details, read};

/// The certificates that are trusted.
#[derive(Debug, Clone)]
pub(crate) struct Roots(Arc<RootCertStore>);

impl Roots {
    /// Reads those of the machine, when `system`, and those in `files`.
    pub(crate) fn load(system: bool, files: &[PathBuf]) -> Result<Self, SetupError> {
        let mut store = RootCertStore::empty();
        if system {
            // Stores of real machines have certificates that nobody can read; others will do.
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        for path in files {
            let bad = |why: String| SetupError::RootFile { path: path.clone(), why };
            let mut found = false;
            for certificate in
                CertificateDer::pem_file_iter(path).map_err(|error| bad(error.to_string()))?
            {
                let certificate = certificate.map_err(|error| bad(error.to_string()))?;
                store.add(certificate).map_err(|error| bad(error.to_string()))?;
                found = true;
            }
            if !found {
                return Err(bad("there is no certificate in it".to_owned()));
            }
        }
        Ok(Self(Arc::new(store)))
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// What judges certificates; None when nothing is trusted, so that no server could be.
pub(crate) fn judge(roots: &Roots) -> Result<Option<Arc<WebPkiServerVerifier>>, rustls::Error> {
    if roots.0.is_empty() {
        return Ok(None);
    }
    WebPkiServerVerifier::builder_with_provider(Arc::clone(&roots.0), provider())
        .build()
        .map(Some)
        .map_err(|error| rustls::Error::General(error.to_string()))
}

/// One configuration for all calls that take only a certificate that `judge` finds good.
pub(crate) fn verifying(
    judge: Arc<WebPkiServerVerifier>,
    alpn: &[&str],
) -> Result<Arc<ClientConfig>, rustls::Error> {
    config(Arc::new(Verifier(judge)), alpn)
}

/// One configuration for all calls that take any certificate.
pub(crate) fn inspecting() -> Result<Arc<ClientConfig>, rustls::Error> {
    config(Arc::new(AnyCertificate(provider())), &[])
}

fn config(
    verifier: Arc<dyn ServerCertVerifier>,
    alpn: &[&str],
) -> Result<Arc<ClientConfig>, rustls::Error> {
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    // Each probe has to see the certificate that the server has now.
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

/// Why the certificates that a server showed are not good for `name`; None when they are.
pub(crate) fn problem(
    judge: Option<&WebPkiServerVerifier>,
    peer: &str,
    chain: &[CertificateDer<'_>],
    name: &ServerName<'_>,
) -> Option<String> {
    let Some(judge) = judge else { return Some(untrusting(peer)) };
    let (leaf, others) = chain.split_first()?;
    match judge.verify_server_cert(leaf, others, name, &[], UnixTime::now()) {
        Ok(_) => None,
        Err(rustls::Error::InvalidCertificate(cause)) => Some(certificate_message(peer, &cause)),
        Err(other) => Some(format!("the certificate of {peer} is not good: {other}")),
    }
}

/// What is said where nothing is trusted.
pub(crate) fn untrusting(peer: &str) -> String {
    format!(
        "this host trusts no certificate at all, so it can't judge that of {peer}; install the \
         package ca-certificates, or name a PEM file in the host's config"
    )
}

/// Takes every certificate, as long as the server has its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Decides as webpki does, and hands out the certificate that was refused: its dates are what
/// people want to know of it, and rustls keeps only those that were good.
#[derive(Debug)]
struct Verifier(Arc<WebPkiServerVerifier>);

/// A certificate that was refused.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
struct Refused {
    cause: rustls::Error,
    certificate: CertificateDer<'static>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.0
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            .map_err(|cause| {
                let certificate = end_entity.clone().into_owned();
                let refused = OtherError(Arc::new(Refused { cause, certificate }));
                rustls::Error::InvalidCertificate(CertificateError::Other(refused))
            })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// What is said of a handshake that failed.
pub(crate) struct Refusal {
    pub(crate) message: String,
    /// The certificate that was refused.
    pub(crate) certificate: Option<CertificateDer<'static>>,
}

pub(crate) fn refusal(peer: &str, error: &rustls::Error) -> Refusal {
    if let rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(inner))) = error
        && let Some(refused) = inner.downcast_ref::<Refused>()
    {
        let message = match &refused.cause {
            rustls::Error::InvalidCertificate(cause) => certificate_message(peer, cause),
            other => format!("the certificate of {peer} is not good: {other}"),
        };
        return Refusal { message, certificate: Some(refused.certificate.clone()) };
    }
    let message = match error {
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            format!("{peer} does not speak TLS")
        }
        rustls::Error::AlertReceived(alert) => {
            format!("{peer} broke off the TLS handshake: {}", alert_text(*alert))
        }
        other => format!("no TLS with {peer}: {other}"),
    };
    Refusal { message, certificate: None }
}

fn certificate_message(peer: &str, cause: &CertificateError) -> String {
    match cause {
        CertificateError::ExpiredContext { time, not_after } => format!(
            "the certificate of {peer} has expired on {} ({} ago)",
            date(*not_after),
            days(time.as_secs().saturating_sub(not_after.as_secs()))
        ),
        CertificateError::NotValidYetContext { time, not_before } => format!(
            "the certificate of {peer} is not valid before {} (in {})",
            date(*not_before),
            days(not_before.as_secs().saturating_sub(time.as_secs()))
        ),
        CertificateError::NotValidForNameContext { expected, presented } => format!(
            "the certificate of {peer} is not for {}, but for {}",
            expected.to_str(),
            names(presented)
        ),
        CertificateError::UnknownIssuer => format!(
            "the certificate of {peer} is signed by an issuer that this host does not trust; \
             if it is a private one, name its certificate in the host's config"
        ),
        other => format!("the certificate of {peer} is not good: {other}"),
    }
}

/// `example.com, *.example.com and 3 more`.
fn names(presented: &[String]) -> String {
    const SHOWN: usize = 3;
    // webpki writes `DnsName("example.com")`.
    let plain = |name: &String| name.split('"').nth(1).unwrap_or(name).to_owned();
    let shown: Vec<_> = presented.iter().take(SHOWN).map(plain).collect();
    match presented.len().saturating_sub(SHOWN) {
        0 if shown.is_empty() => "no name".to_owned(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// `2026-11-28`.
fn date(time: UnixTime) -> String {
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(time.as_secs())).unwrap_or(UNIX_EPOCH);
    let text = Timestamp::from(time).to_string();
    text.split('T').next().unwrap_or(&text).to_owned()
}

fn days(seconds: u64) -> String {
    match seconds / 86_400 {
        0 => "less than a day".to_owned(),
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    }
}

fn alert_text(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::HandshakeFailure => "no cipher or version in common".to_owned(),
        AlertDescription::ProtocolVersion => "no TLS version in common".to_owned(),
        AlertDescription::UnrecognisedName => "it does not know the name".to_owned(),
        AlertDescription::CertificateRequired => "it wants a client certificate".to_owned(),
        AlertDescription::NoApplicationProtocol => "it does not offer HTTP/1.1".to_owned(),
        other => format!("{other:?}"),
    }
}
