//! What a certificate says.

use std::net::IpAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use probehost_model::sanitize;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

const SECONDS_PER_DAY: f64 = 86_400.0;

/// Most names of a certificate that are told.
const MOST_NAMES: usize = 100;

/// The dates of a server's certificate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// Seconds since the Unix epoch, UTC.
    pub not_before: i64,
    /// Seconds since the Unix epoch, UTC.
    pub not_after: i64,
    /// Days until `not_after`, negative when it has passed.
    pub days_left: f64,
}

/// A server's certificate, with whom it is for. Texts are made fit for people.
#[derive(Debug, Clone, PartialEq)]
pub struct Details {
    /// From when until when.
    pub dates: Certificate,
    /// `CN=example.com`.
    pub subject: String,
    /// Who signed it.
    pub issuer: String,
    /// The names and addresses that it is for, at most 100.
    pub names: Vec<String>,
    /// Why it is not good. None: it is.
    pub problem: Option<String>,
}

/// Reads the dates of a certificate in DER; None when it is none.
pub(crate) fn read(der: &[u8]) -> Option<Certificate> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    Some(dates(&certificate))
}

/// Reads a certificate in DER, which has this problem; None when it is none.
pub(crate) fn details(der: &[u8], problem: Option<String>) -> Option<Details> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let alternatives = certificate.subject_alternative_name().ok().flatten();
    let names = alternatives.into_iter().flat_map(|names| &names.value.general_names);
    Some(Details {
        dates: dates(&certificate),
        subject: sanitize(&certificate.subject().to_string()),
        issuer: sanitize(&certificate.issuer().to_string()),
        names: names.filter_map(name).take(MOST_NAMES).collect(),
        problem: problem.map(|text| sanitize(&text)),
    })
}

/// A name or an address; other kinds say nothing to people.
fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some(sanitize(name)),
        GeneralName::IPAddress(bytes) => {
            let v4 = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
            let v6 = <[u8; 16]>::try_from(*bytes).map(IpAddr::from);
            v4.or(v6).ok().map(|address| address.to_string())
        }
        _ => None,
    }
}

fn dates(certificate: &X509Certificate<'_>) -> Certificate {
    let validity = certificate.validity();
    let (not_before, not_after) = (validity.not_before.timestamp(), validity.not_after.timestamp());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Seconds of any date that X.509 can write are exact in an f64.
    #[allow(clippy::cast_precision_loss)]
    let days_left = (not_after as f64 - now.as_secs_f64()) / SECONDS_PER_DAY;
    Certificate { not_before, not_after, days_left }
}
