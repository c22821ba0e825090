//! What is offered to a server, cheapest first.

use std::borrow::Cow;
use std::sync::Arc;

use russh::client::Config;
use russh::{Preferred, SshId, kex};

use super::keys::KeyType;

/// Key exchanges, the cheap ones for a client first: two multiplications on one curve, the same
/// with ML-KEM beside it, the curves of NIST, and last the groups of whole numbers, which are
/// many times as dear and serve what has nothing newer. What a probe sends is worth nothing to
/// who records it today, but for a password: a check that must outlive a quantum computer has a
/// key instead.
const KEX: &[kex::Name] = &[
    kex::CURVE25519,
    kex::CURVE25519_PRE_RFC_8731,
    kex::MLKEM768X25519_SHA256,
    kex::ECDH_SHA2_NISTP256,
    kex::ECDH_SHA2_NISTP384,
    kex::ECDH_SHA2_NISTP521,
    kex::DH_G14_SHA256,
    kex::DH_G16_SHA512,
    kex::DH_GEX_SHA256,
    kex::EXTENSION_SUPPORT_AS_CLIENT,
    kex::EXTENSION_OPENSSH_STRICT_KEX_AS_CLIENT,
];

/// A config that asks a server for its host key of the first of these types that it has.
pub(super) fn config(types: &[KeyType]) -> Arc<Config> {
    let keys = types.iter().copied().flat_map(KeyType::algorithms).collect();
    Arc::new(Config {
        client_id: SshId::Standard(Cow::Borrowed(concat!(
            "SSH-2.0-probehost_",
            env!("CARGO_PKG_VERSION")
        ))),
        preferred: Preferred {
            kex: Cow::Borrowed(KEX),
            key: Cow::Owned(keys),
            ..Preferred::DEFAULT
        },
        ..Config::default()
    })
}
