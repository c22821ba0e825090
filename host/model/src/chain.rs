//! The chain of hashes over the audit (contract A3): what a row's hash is of, and how rows are
//! held against it.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Stands before the columns of a row, so that another encoding is never taken for this one.
const VERSION: u8 = 1;

/// A SHA-256 hash of a chain; as text 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChainHash([u8; 32]);

impl ChainHash {
    /// What stands before the first row of all: zeros.
    pub const START: Self = Self([0; 32]);
}

impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A text that is no hash of a chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a hash: it is 64 lower-case hexadecimal digits")]
pub struct HashError(String);

impl std::str::FromStr for ChainHash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        let wrong = || HashError(text.chars().take(80).collect());
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return Err(wrong());
        }
        let mut hash = [0; 32];
        for (byte, [high, low]) in hash.iter_mut().zip(pairs) {
            let (high, low) = digit(*high).zip(digit(*low)).ok_or_else(wrong)?;
            *byte = high << 4 | low;
        }
        Ok(Self(hash))
    }
}

impl Serialize for ChainHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ChainHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// An audit row, every column exactly as it is stored. Words are texts here: a chain also holds
/// where a row has a word that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainRow<T = String> {
    /// Its id.
    pub id: i64,
    /// When, in microseconds since the Unix epoch.
    pub at: i64,
    /// Who did it.
    pub principal: T,
    /// What was done.
    pub action: T,
    /// What asked for the probe.
    pub trigger: Option<T>,
    /// Id of the target.
    pub target: T,
    /// Name of the check.
    pub check: Option<T>,
    /// The state before.
    pub from: Option<T>,
    /// The state after.
    pub to: Option<T>,
    /// What came of it.
    pub outcome: T,
    /// The id of the transition of which it tells.
    pub transition_id: Option<i64>,
}

impl<T: AsRef<str>> ChainRow<T> {
    /// The hash of this row after a row of hash `before`: SHA-256 over `before`, a version byte,
    /// and every column. A column is a byte 0 where it is missing; 1 and its eight bytes, the
    /// highest first, for a number; 2, its length in bytes as such a number, and its bytes for
    /// a text. So no two rows are encoded alike.
    #[must_use]
    pub fn hash_after(&self, before: ChainHash) -> ChainHash {
        let mut hasher = Sha256::new();
        hasher.update(before.0);
        hasher.update([VERSION]);
        number(&mut hasher, Some(self.id));
        number(&mut hasher, Some(self.at));
        text(&mut hasher, Some(&self.principal));
        text(&mut hasher, Some(&self.action));
        text(&mut hasher, self.trigger.as_ref());
        text(&mut hasher, Some(&self.target));
        text(&mut hasher, self.check.as_ref());
        text(&mut hasher, self.from.as_ref());
        text(&mut hasher, self.to.as_ref());
        text(&mut hasher, Some(&self.outcome));
        number(&mut hasher, self.transition_id);
        ChainHash(hasher.finalize().into())
    }
}

fn number(hasher: &mut Sha256, number: Option<i64>) {
    match number {
        None => hasher.update([0]),
        Some(number) => {
            hasher.update([1]);
            hasher.update(number.to_be_bytes());
        }
    }
}

fn text(hasher: &mut Sha256, text: Option<&impl AsRef<str>>) {
    match text.map(AsRef::as_ref) {
        None => hasher.update([0]),
        Some(text) => {
            hasher.update([2]);
            hasher.update((text.len() as u64).to_be_bytes());
            hasher.update(text.as_bytes());
        }
    }
}

/// A row of the chain as it is exported: with the hash of the row before and its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainLink {
    /// The row.
    #[serde(flatten)]
    pub row: ChainRow,
    /// The hash of the row before, [`ChainHash::START`] for the first of all.
    pub hash_before: ChainHash,
    /// What stands as the hash of this row; none where somebody wrote around the host.
    pub hash: Option<ChainHash>,
}

/// What is wrong with a chain, and at which id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainFault {
    /// The row is not what was written, or its hash is not.
    #[error("row {id} was changed: it is not what its hash was made of")]
    Changed {
        /// The row.
        id: i64,
    },
    /// The row has no hash that could be one.
    #[error("row {id} has no hash: it was not written by the host")]
    NoHash {
        /// The row.
        id: i64,
    },
    /// Rows are gone.
    #[error("rows are missing between {after} and {before}: they were removed")]
    Missing {
        /// The last row before the gap; 0 is the beginning of the chain.
        after: i64,
        /// The first row after it.
        before: i64,
    },
    /// A row stands at another's id.
    #[error("rows were reordered: what was written as row {id} stands as row {stands_at}")]
    Reordered {
        /// Where it belongs.
        id: i64,
        /// Where it stands.
        stands_at: i64,
    },
    /// The newest rows are gone.
    #[error("the tail is cut: the last row is {last}, and row {head} was written")]
    TailCut {
        /// The last row that is there.
        last: i64,
        /// The id of the head.
        head: i64,
    },
    /// A row that the head does not know of.
    #[error("row {id} comes after the head ({head}): it was not written by the host")]
    BeyondHead {
        /// The newest row.
        id: i64,
        /// The id of the head.
        head: i64,
    },
    /// A row that retention has removed is there.
    #[error("row {id} stands before the beginning ({anchor}): it was not left there by the host")]
    BeforeAnchor {
        /// The oldest row.
        id: i64,
        /// The id of the anchor.
        anchor: i64,
    },
    /// The last row's hash, or the number of rows, is not the head's.
    #[error("the head differs: row {id} is the last, but {what}")]
    HeadDiffers {
        /// The last row.
        id: i64,
        /// In which way.
        what: String,
    },
    /// There is no head, or no anchor.
    #[error("the {0} is gone: the row that holds it was removed")]
    NoEnd(&'static str),
}

/// Goes along a chain from row to row. Holds nothing but the end that it has reached.
#[derive(Debug, Clone)]
pub struct ChainReader {
    hash: ChainHash,
    id: i64,
    rows: u64,
}

impl ChainReader {
    /// Begins after the row of that id and hash.
    #[must_use]
    pub const fn after(id: i64, hash: ChainHash) -> Self {
        Self { hash, id, rows: 0 }
    }

    /// The hash of the last row that was read.
    #[must_use]
    pub const fn hash(&self) -> ChainHash {
        self.hash
    }

    /// The id of the last row that was read.
    #[must_use]
    pub const fn id(&self) -> i64 {
        self.id
    }

    /// How many rows were read.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Reads the next row. What follows it, as far as it is at hand, helps to tell what a fault
    /// is.
    ///
    /// # Errors
    /// It does not follow from the row before.
    pub fn read(&mut self, link: &ChainLink, following: &[ChainLink]) -> Result<(), ChainFault> {
        let ChainLink { row, hash_before, hash } = link;
        let follows = row.hash_after(self.hash);
        if *hash == Some(follows) && *hash_before == self.hash {
            (self.hash, self.id) = (follows, row.id);
            self.rows += 1;
            return Ok(());
        }
        let belongs = |other: &&ChainLink| {
            let here = ChainRow { id: row.id, ..other.row.clone() };
            other.hash == Some(here.hash_after(self.hash))
        };
        if let Some(other) = following.iter().find(belongs) {
            return Err(ChainFault::Reordered { id: row.id, stands_at: other.row.id });
        }
        // Ids have no gaps, but for those that the chain itself vouches for.
        if row.id > self.id.saturating_add(1) {
            return Err(ChainFault::Missing { after: self.id, before: row.id });
        }
        Err(match hash {
            Some(_) => ChainFault::Changed { id: row.id },
            None => ChainFault::NoHash { id: row.id },
        })
    }
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
