//! How a webhook is signed, so that who gets it can tell that it comes from here, and is new.

use std::fmt::Write as _;

use probehost_model::Timestamp;
use ring::hmac;

/// The header with the seconds since the Unix epoch at which it was signed.
pub(crate) const TIMESTAMP: &str = "x-probehost-timestamp";
/// The header with the signature.
pub(crate) const SIGNATURE: &str = "x-probehost-signature";

/// The values of both headers: HMAC-SHA256 over the timestamp, a full stop and the body.
pub(crate) fn sign(key: &str, now: Timestamp, body: &[u8]) -> (String, String) {
    let timestamp = now.as_micros().div_euclid(1_000_000).to_string();
    let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
    let mut context = hmac::Context::with_key(&key);
    context.update(timestamp.as_bytes());
    context.update(b".");
    context.update(body);
    let mut signature = String::from("sha256=");
    for byte in context.sign().as_ref() {
        // Writing to a String cannot fail.
        let _ = write!(signature, "{byte:02x}");
    }
    (timestamp, signature)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E5: as `printf '1764500000.{"a":1}' | openssl dgst -sha256 -hmac topsecret` says.
    #[test]
    fn a_signature_that_others_can_check() {
        let now = Timestamp::from_micros(1_764_500_000_900_000);
        let (timestamp, signature) = sign("topsecret", now, b"{\"a\":1}");
        assert_eq!(timestamp, "1764500000");
        assert_eq!(signature, EXPECTED);
    }

    const EXPECTED: &str =
        "sha256=4b4deac31b694f8f08e4c7721f3479c582a45f3d7b0b9ddb2a72aeb46fb68b69";
}
