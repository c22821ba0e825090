//! TLS: what is trusted, and what is said when a handshake fails.

mod certificate;
mod verifier;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use probehost_model::Timestamp;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{AlertDescription, CertificateError, InvalidMessage, OtherError, RootCertStore};

use crate::SetupError;

pub use certificate::{Certificate, Details};
pub(crate) use certificate::{details, read};
pub(crate) use verifier::{for_probes, inspecting, judge, judge_of, verifying};

use verifier::Refused;

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
            add(&mut store, path)
                .map_err(|why| SetupError::RootFile { path: path.clone(), why })?;
        }
        Ok(Self(Arc::new(store)))
    }

    /// Those in this file alone.
    pub(crate) fn of_file(path: &Path) -> Result<Self, String> {
        let mut store = RootCertStore::empty();
        add(&mut store, path)?;
        Ok(Self(Arc::new(store)))
    }
}

/// Adds the certificates of a file, of which there has to be one.
fn add(store: &mut RootCertStore, path: &Path) -> Result<(), String> {
    let mut found = false;
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| error.to_string())? {
        let certificate = certificate.map_err(|error| error.to_string())?;
        store.add(certificate).map_err(|error| error.to_string())?;
        found = true;
    }
    if found { Ok(()) } else { Err("there is no certificate in it".to_owned()) }
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

/// The error of the TLS layer inside one of input and output.
pub(crate) fn within(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// What is said where the layer beneath `error` is TLS, and whether the peer refused this client.
pub(crate) fn refusal_within(peer: &str, error: &io::Error) -> Option<(String, bool)> {
    let tls = within(error)?;
    let refused = matches!(tls, rustls::Error::AlertReceived(_));
    Some((refusal(peer, tls).message, refused))
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
        AlertDescription::UnknownCA | AlertDescription::BadCertificate => {
            "it does not trust the client certificate".to_owned()
        }
        AlertDescription::NoApplicationProtocol => "it does not offer HTTP/1.1".to_owned(),
        other => format!("{other:?}"),
    }
}
