//! Short looks at all targets and checks, for what is asked often.

use probehost_model::{CheckId, Status, Timestamp};

use crate::{Store, StoreError, rows};

/// Which state the targets and their checks are in: another one after each save, whoever made it,
/// and the same one while only records change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TargetsVersion {
    targets: i64,
    // Each save moves `updated_at` of the targets that it changes to a later time, and no row ever
    // goes. So these two, read as one number, only ever grow. One sum of microseconds would
    // overflow at some thousand targets.
    seconds: i64,
    micros: i64,
}

/// What is known of a check, in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckStatus {
    /// The check.
    pub check: CheckId,
    /// Its probe kind.
    pub kind: String,
    /// Its status; `unknown` before the first probe.
    pub status: Status,
    /// Failures in a row.
    pub streak: u32,
    /// When the last conclusive probe ended.
    pub checked_at: Option<Timestamp>,
}

impl Store {
    /// Which state the targets are in.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn targets_version(&self) -> Result<TargetsVersion, StoreError> {
        let text = "SELECT COUNT(*), \
             CAST(COALESCE(SUM(updated_at / 1000000), 0) AS BIGINT), \
             CAST(COALESCE(SUM(updated_at % 1000000), 0) AS BIGINT) FROM targets";
        let found = self.read(text, &[]).await?;
        let Some(row) = found.first() else { return Ok(TargetsVersion::default()) };
        Ok(TargetsVersion {
            targets: rows::get(row, 0)?,
            seconds: rows::get(row, 1)?,
            micros: rows::get(row, 2)?,
        })
    }

    /// Every check of the targets that are not deleted, by ascending id.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn statuses(&self) -> Result<Vec<CheckStatus>, StoreError> {
        let text = "SELECT checks.target_id, checks.name, checks.kind, \
             COALESCE(records.status, 'unknown'), COALESCE(records.streak, 0), records.checked_at \
             FROM targets JOIN checks ON checks.target_id = targets.id \
             LEFT JOIN records ON records.target_id = checks.target_id \
                 AND records.check_name = checks.name \
             WHERE targets.deleted_at IS NULL ORDER BY checks.target_id, checks.name";
        let found = self.read(text, &[]).await?;
        let statuses = found.iter().map(|row| {
            let checked_at: Option<i64> = rows::get(row, 5)?;
            Ok(CheckStatus {
                check: CheckId { target: rows::get(row, 0)?, check: rows::get(row, 1)? },
                kind: rows::get(row, 2)?,
                status: rows::word(rows::get(row, 3)?, "status")?,
                streak: rows::count(rows::get(row, 4)?),
                checked_at: checked_at.map(Timestamp::from_micros),
            })
        });
        statuses.collect()
    }
}
