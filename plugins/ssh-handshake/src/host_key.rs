//! What a pinned host key looks like. The host verifies it; here it is held to its form, so that
//! a mistake is found before anything is dialled.

use probehost_sdk::ConfigError;

/// Types of host keys that can be pinned.
const TYPES: [&str; 5] =
    ["ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa"];

/// Letters of a SHA-256 in base64 without padding.
const LETTERS: usize = 43;

/// Says what is wrong with a pin.
pub(crate) fn check(text: &str) -> Result<(), ConfigError> {
    let (kind, fingerprint) = match text.trim().split_once(char::is_whitespace) {
        None => (None, text.trim()),
        Some((kind, fingerprint)) => (Some(kind), fingerprint.trim()),
    };
    let wrong = |message: String| Err(ConfigError::at("host_key", message));
    if fingerprint.is_empty() {
        return wrong(
            "is empty; `probehost ssh-fingerprint HOST` shows what a host offers, and nothing is \
             dialled without a pinned key"
                .to_owned(),
        );
    }
    if let Some(kind) = kind
        && !TYPES.contains(&kind)
    {
        return wrong(format!("{kind:?} is no type of host key; there are: {}", TYPES.join(", ")));
    }
    if !is_fingerprint(fingerprint) {
        return wrong(
            "is not `TYPE SHA256:…`, as `probehost ssh-fingerprint HOST` and `ssh-keygen -l` show it"
                .to_owned(),
        );
    }
    Ok(())
}

/// Whether a text is `SHA256:` and what follows it.
pub(crate) fn is_fingerprint(text: &str) -> bool {
    let base64 = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    text.strip_prefix("SHA256:")
        .map(|digest| digest.trim_end_matches('='))
        .is_some_and(|digest| digest.len() == LETTERS && digest.bytes().all(base64))
}
