//! The dates of a certificate.

use std::time::{SystemTime, UNIX_EPOCH};

use x509_parser::prelude::{FromDer, X509Certificate};

use super::types::Certificate;

const SECONDS_PER_DAY: f64 = 86_400.0;

/// Reads the dates of a certificate in DER; None when it is none.
pub(super) fn read(der: &[u8]) -> Option<Certificate> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let validity = certificate.validity();
    let (not_before, not_after) = (validity.not_before.timestamp(), validity.not_after.timestamp());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Seconds of any date that X.509 can write are exact in an f64.
    #[allow(clippy::cast_precision_loss)]
    let days_left = (not_after as f64 - now.as_secs_f64()) / SECONDS_PER_DAY;
    Some(Certificate { not_before, not_after, days_left })
}
