//! Host keys: their types, the pin of one, and the algorithms to ask for so that a server with
//! several keys shows the one that is wanted.

use std::fmt;
use std::str::FromStr;

use russh::keys::ssh_key::Fingerprint;
use russh::keys::{Algorithm, EcdsaCurve, HashAlg, PublicKey};

/// A type of host key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum KeyType {
    Ed25519,
    EcdsaP256,
    EcdsaP384,
    EcdsaP521,
    Rsa,
}

impl KeyType {
    /// In the order in which a server is asked for them.
    pub(super) const ALL: [Self; 5] =
        [Self::Ed25519, Self::EcdsaP256, Self::EcdsaP384, Self::EcdsaP521, Self::Rsa];

    /// As OpenSSH writes it.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Ed25519 => "ssh-ed25519",
            Self::EcdsaP256 => "ecdsa-sha2-nistp256",
            Self::EcdsaP384 => "ecdsa-sha2-nistp384",
            Self::EcdsaP521 => "ecdsa-sha2-nistp521",
            Self::Rsa => "ssh-rsa",
        }
    }

    /// None: a type that this host does not ask for.
    pub(super) fn of(key: &PublicKey) -> Option<Self> {
        match key.algorithm() {
            Algorithm::Ed25519 => Some(Self::Ed25519),
            Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 } => Some(Self::EcdsaP256),
            Algorithm::Ecdsa { curve: EcdsaCurve::NistP384 } => Some(Self::EcdsaP384),
            Algorithm::Ecdsa { curve: EcdsaCurve::NistP521 } => Some(Self::EcdsaP521),
            Algorithm::Rsa { .. } => Some(Self::Rsa),
            _ => None,
        }
    }

    /// The algorithms that make a server show its key of this type, best first.
    pub(super) fn algorithms(self) -> Vec<Algorithm> {
        let ecdsa = |curve| vec![Algorithm::Ecdsa { curve }];
        match self {
            Self::Ed25519 => vec![Algorithm::Ed25519],
            Self::EcdsaP256 => ecdsa(EcdsaCurve::NistP256),
            Self::EcdsaP384 => ecdsa(EcdsaCurve::NistP384),
            Self::EcdsaP521 => ecdsa(EcdsaCurve::NistP521),
            // The one with SHA-1 is left out: whoever can forge those could be any server.
            Self::Rsa => vec![
                Algorithm::Rsa { hash: Some(HashAlg::Sha512) },
                Algorithm::Rsa { hash: Some(HashAlg::Sha256) },
            ],
        }
    }
}

/// `ssh-ed25519 SHA256:…`
pub(super) fn shown(key: &PublicKey) -> String {
    let fingerprint = key.fingerprint(HashAlg::Sha256);
    match KeyType::of(key) {
        Some(kind) => format!("{} {fingerprint}", kind.as_str()),
        None => format!("{} {fingerprint}", key.algorithm()),
    }
}

/// The size of a key whose type leaves a choice.
pub(super) fn bits(key: &PublicKey) -> Option<u32> {
    let modulus = key.key_data().rsa()?.n();
    let bytes = modulus.as_positive_bytes()?;
    let zeros = bytes.first().map_or(0, |byte| byte.leading_zeros());
    u32::try_from(bytes.len()).ok()?.checked_mul(8)?.checked_sub(zeros)
}

/// The fingerprint that a host key must have, and its type where that is pinned too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Pin {
    pub(super) kind: Option<KeyType>,
    digest: [u8; 32],
}

/// Why a text is no pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum PinError {
    #[error("no host key is pinned; `probehost ssh-fingerprint HOST` shows what a host offers")]
    Missing,
    #[error(
        "the pinned host key is not `TYPE SHA256:…`, as `ssh-keygen -l` and `probehost ssh-fingerprint HOST` show it"
    )]
    Malformed,
    #[error(
        "the pinned host key has a type that can't be asked for; there are: ssh-ed25519, ecdsa-sha2-nistp256, ecdsa-sha2-nistp384, ecdsa-sha2-nistp521, ssh-rsa"
    )]
    Type,
}

impl FromStr for Pin {
    type Err = PinError;

    fn from_str(text: &str) -> Result<Self, PinError> {
        let (kind, fingerprint) = match text.trim().split_once(char::is_whitespace) {
            None => (None, text.trim()),
            Some((kind, fingerprint)) => {
                let known = KeyType::ALL.into_iter().find(|known| known.as_str() == kind);
                (Some(known.ok_or(PinError::Type)?), fingerprint.trim())
            }
        };
        if fingerprint.is_empty() {
            return Err(PinError::Missing);
        }
        Ok(Self { kind, digest: sha256(fingerprint).ok_or(PinError::Malformed)? })
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(kind) = self.kind {
            write!(f, "{} ", kind.as_str())?;
        }
        Fingerprint::Sha256(self.digest).fmt(f)
    }
}

impl Pin {
    /// Whether `key` is the pinned one.
    pub(super) fn is(&self, key: &PublicKey) -> bool {
        key.fingerprint(HashAlg::Sha256) == Fingerprint::Sha256(self.digest)
            && self.kind.is_none_or(|kind| KeyType::of(key) == Some(kind))
    }
}

/// The bytes of a fingerprint `SHA256:…`.
pub(super) fn sha256(text: &str) -> Option<[u8; 32]> {
    match text.trim_end_matches('=').parse() {
        Ok(Fingerprint::Sha256(digest)) => Some(digest),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINGERPRINT: &str = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";
    const KEY: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";

    #[test]
    fn pins_have_a_type_or_none() {
        for text in [FINGERPRINT.to_owned(), format!("ssh-rsa {FINGERPRINT}")] {
            assert_eq!(text.parse::<Pin>().unwrap().to_string(), text);
            assert_eq!(format!(" {text}= ").parse::<Pin>().unwrap().to_string(), text);
        }
    }

    /// P2: what is no pin is refused, with what to do.
    #[test]
    fn what_is_no_pin_is_refused() {
        let rows = [
            ("", PinError::Missing),
            (" ", PinError::Missing),
            ("SHA256:abc", PinError::Malformed),
            ("MD5:16:27:ac:a5:76:28:2d:36:63:1b:56:4d:eb:df:a6:48", PinError::Malformed),
            ("ssh-ed25519", PinError::Malformed),
            ("ssh-dss SHA256:abc", PinError::Type),
        ];
        for (text, error) in rows {
            assert_eq!(text.parse::<Pin>(), Err(error), "{text:?}");
        }
    }

    /// K1, K2: the type is a part of the pin.
    #[test]
    fn a_pin_is_one_key() {
        let key: PublicKey = KEY.parse().unwrap();
        let pin: Pin = shown(&key).parse().unwrap();
        assert!(pin.is(&key));
        assert!(!Pin { kind: Some(KeyType::Rsa), ..pin }.is(&key));
        assert!(Pin { kind: None, ..pin }.is(&key));
        assert!(!FINGERPRINT.parse::<Pin>().unwrap().is(&key));
    }
}
