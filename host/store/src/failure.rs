//! Why a step of a transaction failed.

use crate::{Location, StoreError};

/// Why a step of a transaction failed; the writer, which knows the database, makes a
/// [`StoreError`] of it.
#[derive(Debug)]
pub(crate) enum Failure {
    Sql(sqlx::Error),
    Store(StoreError),
}

impl Failure {
    /// Whether two transactions got in each other's way, so that one was undone.
    pub(crate) fn is_collision(&self) -> bool {
        let Self::Sql(sqlx::Error::Database(error)) = self else { return false };
        matches!(error.code().as_deref(), Some("40P01" | "40001"))
    }

    /// What is told of it.
    pub(crate) fn into_error(self, location: &Location) -> StoreError {
        match self {
            Self::Sql(error) => StoreError::from_sqlx(location, &error),
            Self::Store(error) => error,
        }
    }

    /// Whether it was the connection that failed.
    pub(crate) const fn is_lost(&self) -> bool {
        matches!(self, Self::Sql(sqlx::Error::Io(_) | sqlx::Error::Protocol(_)))
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Sql(sqlx::Error::Encode(Box::new(error)))
    }
}
