//! Tokens, cookies and what is derived from them.

use ring::digest::{SHA256, digest};
use ring::error::Unspecified;
use ring::rand::{SecureRandom as _, SystemRandom};
use subtle::ConstantTimeEq as _;

/// What every token begins with, so that scanners for leaked secrets find it.
const PREFIX: &str = "probehost_";

/// A new secret of 256 random bits.
///
/// # Errors
/// The system has no random numbers.
pub(crate) fn fresh() -> Result<String, Unspecified> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes)?;
    Ok(format!("{PREFIX}{}", hexadecimal(&bytes)))
}

/// What is kept of a secret. It has 256 random bits, so a plain hash can't be searched.
pub(crate) fn hash(secret: &str) -> String {
    hexadecimal(digest(&SHA256, secret.as_bytes()).as_ref())
}

/// What the page shows with everything that it changes: who has only the cookie, as another
/// site's page has, does not know it.
pub(super) fn csrf_token(cookie: &str) -> String {
    hash(&format!("csrf {cookie}"))
}

/// Compares in a time that tells nothing of where they differ.
pub(super) fn equal(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_fresh_and_hashes_are_sha256() {
        let (one, other) = (fresh().unwrap(), fresh().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.len(), PREFIX.len() + 64);
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash("abc"), abc);
        assert_ne!(csrf_token(&one), hash(&one));
        assert!(equal("a", "a") && !equal("a", "b") && !equal("a", "aa"));
    }
}
