//! Names of targets and checks.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Longest id of a target or name of a check, in bytes.
pub const MAX_ID_BYTES: usize = 128;

/// A check, wherever it is spoken of: the id of its target and its own name.
///
/// The order is that of the target's id, then the check's name, byte by byte:
/// the order in which checks due at the same moment are dispatched (contract S2).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CheckId {
    /// Id of the target.
    pub target: String,
    /// Name of the check within its target.
    pub check: String,
}

impl CheckId {
    /// The check `check` of the target `target`.
    #[must_use]
    pub fn new(target: &str, check: &str) -> Self {
        Self { target: target.to_owned(), check: check.to_owned() }
    }
}

/// `target/check`.
impl fmt::Display for CheckId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.target, self.check)
    }
}

/// Why a text can't be the id of a target or the name of a check.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Nothing there.
    #[error("is empty; give it 1 to {MAX_ID_BYTES} letters, digits, '.', '_' or '-'")]
    Empty,
    /// Over [`MAX_ID_BYTES`].
    #[error("is {0} bytes long; at most {MAX_ID_BYTES} are allowed")]
    TooLong(usize),
    /// A character that would need escaping in a URL, a metric or a log.
    #[error("holds {0:?}; use letters, digits, '.', '_' or '-', and begin with a letter or digit")]
    Character(char),
}

/// Checks that `text` can be the id of a target or the name of a check: 1 to 128 ASCII
/// letters, digits, `.`, `_` or `-`, beginning with a letter or digit, so that it stands
/// unescaped in URLs, metrics and logs.
///
/// # Errors
/// Says what is wrong with it and what would be right.
pub fn check_id_text(text: &str) -> Result<(), IdError> {
    let first = text.chars().next().ok_or(IdError::Empty)?;
    if text.len() > MAX_ID_BYTES {
        return Err(IdError::TooLong(text.len()));
    }
    if !first.is_ascii_alphanumeric() {
        return Err(IdError::Character(first));
    }
    match text.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))) {
        Some(odd) => Err(IdError::Character(odd)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stand_unescaped_anywhere() {
        for good in ["a", "Web-1", "shop.example.com", "0_x"] {
            assert_eq!(check_id_text(good), Ok(()));
        }
        assert_eq!(check_id_text(""), Err(IdError::Empty));
        assert_eq!(check_id_text("a/b"), Err(IdError::Character('/')));
        assert_eq!(check_id_text(".."), Err(IdError::Character('.')));
        assert_eq!(check_id_text(&"x".repeat(129)), Err(IdError::TooLong(129)));
    }

    /// S2: ascending id, target first.
    #[test]
    fn order_is_target_then_check() {
        let mut ids = [CheckId::new("b", "a"), CheckId::new("a", "z"), CheckId::new("a", "b")];
        ids.sort();
        assert_eq!(ids.map(|id| id.to_string()), ["a/b", "a/z", "b/a"]);
    }
}
