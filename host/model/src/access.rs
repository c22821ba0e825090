//! Who may do what over the API (contract E4).

use serde::{Deserialize, Serialize};

use crate::Timestamp;
use crate::words::words;

/// What a token lets its holder do. Each may do all that those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessRole {
    /// Reads everything, changes nothing.
    Viewer,
    /// Besides: probes by hand; restarts, quarantines, releases and updates managed targets;
    /// enables and disables targets; tests and replays notifications.
    Operator,
    /// Besides: creates, changes and deletes targets.
    Admin,
}

words!(AccessRole, "role", {
    Viewer => "viewer",
    Operator => "operator",
    Admin => "admin",
});

/// A bearer token, without the token: only its hash is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// The principal whose it is; its name in the audit.
    pub name: String,
    /// What it lets its holder do.
    pub role: AccessRole,
    /// SHA-256 of the token, in hexadecimal digits.
    pub hash: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it is worth nothing. None: it does not expire.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

impl Token {
    /// Whether it lets anybody in at `now`.
    #[must_use]
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E4: a role may do all that those below it may.
    #[test]
    fn roles_are_in_order() {
        assert!(AccessRole::Viewer < AccessRole::Operator);
        assert!(AccessRole::Operator < AccessRole::Admin);
    }

    #[test]
    fn a_token_ends_at_its_time_or_when_it_is_revoked() {
        let at = Timestamp::from_micros;
        let token = Token {
            name: "ci".into(),
            role: AccessRole::Viewer,
            hash: String::new(),
            created_at: at(1),
            expires_at: Some(at(10)),
            revoked_at: None,
        };
        assert!(token.is_active(at(9)));
        assert!(!token.is_active(at(10)));
        assert!(!Token { revoked_at: Some(at(2)), ..token.clone() }.is_active(at(9)));
        assert!(Token { expires_at: None, ..token }.is_active(at(i64::MAX)));
    }
}
