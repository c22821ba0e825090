//! What a clock that was set back leaves behind: times that have not come yet.
//!
//! A record takes only results that are later than its last (contract R2), so one from the future
//! takes none until then; and a delivery that is due in the future waits that long.

use probehost_model::Timestamp;
use tokio::sync::oneshot;

use crate::conn::{Conn, Value};
use crate::failure::Failure;
use crate::writer::Job;
use crate::{Store, StoreError, rows};

/// Records from a time that has not come yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FromTheFuture {
    /// How many.
    pub records: u64,
    /// The latest of their times.
    pub latest: Timestamp,
}

const RECORDS: &str = "UPDATE records SET last_attempt_at = $2, updated_at = $2, \
     checked_at = CASE WHEN checked_at > $2 THEN $2 ELSE checked_at END, \
     last_success_at = CASE WHEN last_success_at > $2 THEN $2 ELSE last_success_at END \
     WHERE last_attempt_at > $1";

const DELIVERIES: &str = "UPDATE deliveries SET next_attempt_at = $2, claimed_until = 0, \
     claimed_by = '' WHERE state = 'pending' AND created_at > $1";

/// Does all of it but begin and commit.
pub(crate) async fn bring_back(
    conn: &mut Conn,
    horizon: Timestamp,
    now: Timestamp,
) -> Result<(), Failure> {
    let values = [Value::Whole(horizon.as_micros()), Value::Whole(now.as_micros())];
    conn.execute(RECORDS, &values).await?;
    conn.execute(DELIVERIES, &values).await?;
    Ok(())
}

impl Store {
    /// The records whose last attempt was later than `horizon`. None: there are none.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn from_the_future(
        &self,
        horizon: Timestamp,
    ) -> Result<Option<FromTheFuture>, StoreError> {
        let text = "SELECT COUNT(*), MAX(last_attempt_at) FROM records WHERE last_attempt_at > $1";
        let found = self.read(text, &[Value::Whole(horizon.as_micros())]).await?;
        let Some(row) = found.first() else { return Ok(None) };
        let (records, latest): (i64, Option<i64>) = (rows::get(row, 0)?, rows::get(row, 1)?);
        let records = u64::try_from(records).unwrap_or_default();
        Ok(latest.map(|latest| FromTheFuture { records, latest: Timestamp::from_micros(latest) }))
    }

    /// Makes what is from later than `horizon` from `now`, in one transaction: the times of records,
    /// and of deliveries that wait. What it says stays.
    ///
    /// # Errors
    /// The database can't be written; nothing was changed.
    pub fn bring_back(
        &self,
        horizon: Timestamp,
        now: Timestamp,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + 'static {
        let (answer, answered) = oneshot::channel();
        self.submit(Job::BringBack { horizon, now, answer }, answered)
    }
}
