//! What can be asked of the outbox.

use probehost_model::Timestamp;
use probehost_model::notify::{DeliveryState, NotificationKind};

use crate::conn::{Row, Value};
use crate::filter::Listing;
use crate::{Store, StoreError, rows};

/// A notification and what has become of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Ascends in the order in which they were planned.
    pub id: i64,
    /// Name of the sink.
    pub sink: String,
    /// Id of the target; empty where it tells of many.
    pub target: String,
    /// Name of the check; empty where it tells of the target as a whole.
    pub check: String,
    /// What it is.
    pub kind: NotificationKind,
    /// The event that asked for it, where one did.
    pub event: Option<i64>,
    /// What it says, as JSON.
    pub message: String,
    /// What has become of it.
    pub state: DeliveryState,
    /// How often it was tried.
    pub attempts: u32,
    /// When it was planned.
    pub created_at: Timestamp,
    /// When it was tried first.
    pub first_attempt_at: Option<Timestamp>,
    /// When it is tried next, while it is pending.
    pub next_attempt_at: Timestamp,
    /// When it was delivered or given up.
    pub finished_at: Option<Timestamp>,
    /// What went wrong last; empty: nothing.
    pub last_error: String,
}

/// What a sink has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    /// This one is to be tried now.
    Now(Box<Delivery>),
    /// Nothing before then.
    At(Timestamp),
    /// Nothing is pending.
    Nothing,
}

/// Which notifications to list. The default lists the newest of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryFilter {
    /// Only in this state.
    pub state: Option<DeliveryState>,
    /// Only to this sink.
    pub sink: Option<String>,
    /// Only about this target.
    pub target: Option<String>,
    /// Only rows with a smaller id: the last id of the page before.
    pub before: Option<i64>,
    /// How many, at most [`crate::MAX_PAGE`]. Default 100.
    pub limit: u32,
}

impl Default for DeliveryFilter {
    fn default() -> Self {
        Self { state: None, sink: None, target: None, before: None, limit: 100 }
    }
}

/// What there is of one sink.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SinkCounts {
    /// Name of the sink.
    pub sink: String,
    /// Yet to be delivered.
    pub pending: u64,
    /// Given up.
    pub dead: u64,
    /// When the oldest that is pending was planned.
    pub oldest_pending_at: Option<Timestamp>,
    /// When the last was delivered.
    pub last_delivered_at: Option<Timestamp>,
}

const COLUMNS: &str = "id, sink, target_id, check_name, kind, event_id, message, state, attempts, \
     created_at, first_attempt_at, next_attempt_at, finished_at, last_error";

/// Those of a sink that nothing of the same target has to come before.
const FIRST_OF_ITS_TARGET: &str = "state = 'pending' AND sink = $1 AND NOT EXISTS \
     (SELECT 1 FROM deliveries AS earlier WHERE earlier.state = 'pending' \
     AND earlier.sink = deliveries.sink AND earlier.target_id = deliveries.target_id \
     AND earlier.id < deliveries.id)";

impl Store {
    /// What a sink has to do: the oldest delivery that may be tried now. One that waits for its
    /// next attempt, or that another host has, holds back later ones about the same target.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn due_delivery(&self, sink: &str, now: Timestamp) -> Result<Due, StoreError> {
        let micros = now.as_micros();
        let text = format!(
            "SELECT {COLUMNS} FROM deliveries WHERE {FIRST_OF_ITS_TARGET} \
             AND next_attempt_at <= $2 AND claimed_until <= $2 ORDER BY id LIMIT 1"
        );
        let values = [Value::Text(sink), Value::Whole(micros)];
        let found = self.read(sqlx::AssertSqlSafe(text), &values).await?;
        if let Some(row) = found.first() {
            return Ok(Due::Now(Box::new(delivery(row)?)));
        }
        let text = format!(
            "SELECT MIN(CASE WHEN claimed_until > next_attempt_at THEN claimed_until \
             ELSE next_attempt_at END) FROM deliveries WHERE {FIRST_OF_ITS_TARGET}"
        );
        let found = self.read(sqlx::AssertSqlSafe(text), &[Value::Text(sink)]).await?;
        let next: Option<i64> = found.first().map(|row| rows::get(row, 0)).transpose()?.flatten();
        Ok(next.map_or(Due::Nothing, |at| Due::At(Timestamp::from_micros(at))))
    }

    /// Notifications, newest first.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn deliveries(&self, filter: &DeliveryFilter) -> Result<Vec<Delivery>, StoreError> {
        let mut query = Listing::new(&format!("SELECT {COLUMNS} FROM deliveries WHERE true"));
        query.equal("state", filter.state.map(DeliveryState::as_str));
        query.equal("sink", filter.sink.as_deref());
        query.equal("target_id", filter.target.as_deref());
        query.page(filter.before, filter.limit);
        self.list(query).await?.iter().map(delivery).collect()
    }

    /// One notification.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn delivery(&self, id: i64) -> Result<Option<Delivery>, StoreError> {
        let text = format!("SELECT {COLUMNS} FROM deliveries WHERE id = $1");
        let found = self.read(sqlx::AssertSqlSafe(text), &[Value::Whole(id)]).await?;
        found.first().map(delivery).transpose()
    }

    /// What there is of each sink that was ever told something which is still kept.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn sink_counts(&self) -> Result<Vec<SinkCounts>, StoreError> {
        let text = "SELECT sink, SUM(CASE state WHEN 'pending' THEN 1 ELSE 0 END), \
                    SUM(CASE state WHEN 'dead' THEN 1 ELSE 0 END), \
                    MIN(CASE state WHEN 'pending' THEN created_at END), \
                    MAX(CASE state WHEN 'delivered' THEN finished_at END) \
                    FROM deliveries GROUP BY sink ORDER BY sink";
        let found = self.read(text, &[]).await?;
        let counts = found.iter().map(|row| {
            let number = |column| -> Result<u64, StoreError> {
                let number: i64 = rows::get(row, column)?;
                Ok(u64::try_from(number).unwrap_or(0))
            };
            Ok(SinkCounts {
                sink: rows::get(row, 0)?,
                pending: number(1)?,
                dead: number(2)?,
                oldest_pending_at: rows::time(rows::get(row, 3)?),
                last_delivered_at: rows::time(rows::get(row, 4)?),
            })
        });
        counts.collect()
    }
}

fn delivery(row: &Row) -> Result<Delivery, StoreError> {
    Ok(Delivery {
        id: rows::get(row, 0)?,
        sink: rows::get(row, 1)?,
        target: rows::get(row, 2)?,
        check: rows::get(row, 3)?,
        kind: rows::word(rows::get(row, 4)?, "kind")?,
        event: rows::get(row, 5)?,
        message: rows::get(row, 6)?,
        state: rows::word(rows::get(row, 7)?, "state")?,
        attempts: rows::count(rows::get(row, 8)?),
        created_at: Timestamp::from_micros(rows::get(row, 9)?),
        first_attempt_at: rows::time(rows::get(row, 10)?),
        next_attempt_at: Timestamp::from_micros(rows::get(row, 11)?),
        finished_at: rows::time(rows::get(row, 12)?),
        last_error: rows::get(row, 13)?,
    })
}
