//! Writes the chain of the audit: its head, the rows from before there was one, and the cut
//! that retention makes (contract A3).

use probehost_model::{ChainHash, ChainReader, ChainRow, Timestamp};

use crate::audit_log::{self, ENDS, PAGE};
use crate::conn::{Conn, Value};
use crate::dialect::{self, Column, Statement};
use crate::failure::Failure;
use crate::{StoreError, rows};

/// The most rows that one step of retention removes: a short transaction.
const STEP: u32 = 500;

/// Where the chain ends: what the next row follows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    id: i64,
    hash: ChainHash,
    rows: i64,
}

impl End {
    /// Makes the row that `row` gives for its id the last one, and gives it with its hash.
    pub(crate) fn append<T: AsRef<str>>(
        &mut self,
        row: impl FnOnce(i64) -> ChainRow<T>,
    ) -> (ChainRow<T>, String) {
        self.id = self.id.saturating_add(1);
        self.rows = self.rows.saturating_add(1);
        let row = row(self.id);
        self.hash = row.hash_after(self.hash);
        (row, self.hash.to_string())
    }
}

/// Makes ids grow in the order of commits. Held until the transaction ends; taking it again
/// does nothing.
pub(crate) async fn lock(conn: &mut Conn) -> Result<(), Failure> {
    if let Some(lock) = conn.dialect().history_lock() {
        conn.execute(lock, &[]).await?;
    }
    Ok(())
}

/// Reads the end, under the lock of the history. A head that somebody has damaged does not keep
/// the host from its work: the chain goes on, and whoever verifies it finds the damage.
pub(crate) async fn end(conn: &mut Conn) -> Result<End, Failure> {
    let found = conn
        .fetch_all(
            "SELECT (SELECT id FROM audit_head), (SELECT hash FROM audit_head), \
             (SELECT rows FROM audit_head), (SELECT MAX(id) FROM audit)",
            &[],
        )
        .await?;
    let mut end = End { id: 0, hash: ChainHash::START, rows: 0 };
    if let Some(row) = found.first() {
        let (head, newest): (Option<i64>, Option<i64>) = (rows::get(row, 0)?, rows::get(row, 3)?);
        end.id = head.max(newest).unwrap_or(0);
        end.rows = rows::get::<Option<i64>>(row, 2)?.unwrap_or(0);
        let hash = rows::get::<Option<&str>>(row, 1)?.and_then(|text| text.parse().ok());
        end.hash = hash.unwrap_or(ChainHash::START);
    }
    Ok(end)
}

/// Makes that end the head.
pub(crate) async fn put_head(conn: &mut Conn, end: &End) -> Result<(), Failure> {
    let hash = end.hash.to_string();
    conn.execute(
        "UPDATE audit_head SET id = $1, hash = $2, rows = $3",
        &[Value::Whole(end.id), Value::Text(&hash), Value::Whole(end.rows)],
    )
    .await?;
    Ok(())
}

/// There is an audit from before there was a chain.
const UNCHAINED: &str = "SELECT 1 FROM audit_head WHERE rows = 0 \
     AND EXISTS (SELECT 1 FROM audit) \
     AND NOT EXISTS (SELECT 1 FROM audit WHERE hash IS NOT NULL)";

static PUT_HASHES: Statement = Statement::new(|dialect| {
    format!(
        "{} UPDATE audit SET hash = new.hash FROM new WHERE audit.id = new.id",
        dialect.rows_as("new", &[Column::Whole("id"), Column::Text("hash")])
    )
});

/// Chains the rows from before there was a chain, in one transaction. What was done to them
/// until then, no chain can tell.
pub(crate) async fn adopt(conn: &mut Conn) -> Result<(), Failure> {
    if conn.fetch_all(UNCHAINED, &[]).await?.is_empty() {
        return Ok(());
    }
    conn.execute(conn.dialect().begin(), &[]).await?;
    let done = match adopt_all(conn).await {
        Ok(()) => conn.execute(dialect::COMMIT, &[]).await.map_err(Failure::from),
        Err(failure) => Err(failure),
    };
    if done.as_ref().is_err_and(|failure| !failure.is_lost()) {
        // The failure itself says more than one of this would.
        let _ = conn.execute(dialect::ROLLBACK, &[]).await;
    }
    done
}

async fn adopt_all(conn: &mut Conn) -> Result<(), Failure> {
    lock(conn).await?;
    // Another host may have done it meanwhile.
    if conn.fetch_all(UNCHAINED, &[]).await?.is_empty() {
        return Ok(());
    }
    let mut end = End { id: 0, hash: ChainHash::START, rows: 0 };
    loop {
        let values = [Value::Whole(end.id), Value::Whole(i64::MAX), Value::Whole(STEP.into())];
        let found = conn.fetch_all(PAGE, &values).await?;
        if found.is_empty() {
            return put_head(conn, &end).await;
        }
        let mut hashes = Vec::with_capacity(found.len());
        for row in &found {
            let (row, _) = audit_log::row(row)?;
            // Ids of before may have gaps.
            end.id = row.id.saturating_sub(1);
            let (row, hash) = end.append(|_| row);
            hashes.push((row.id, hash));
        }
        let hashes = serde_json::to_string(&hashes)?;
        conn.execute(PUT_HASHES.of(conn.dialect()), &[Value::Text(&hashes)]).await?;
    }
}

static DELETE_TRANSITIONS: Statement = Statement::new(|dialect| {
    format!(
        "{} DELETE FROM transitions WHERE id IN (SELECT id FROM new)",
        dialect.rows_as("new", &[Column::Whole("id")])
    )
});

/// One step of retention: removes the oldest history from before that time, at most [`STEP`]
/// rows of each table, and makes the chain begin after it. Gives whether there may be more.
///
/// Rows go from the oldest on, up to the first that is young enough: so what is left is one
/// chain, also where a clock was set back. Rows that the chain does not vouch for stay, and
/// with them all that comes after, as evidence.
pub(crate) async fn cut(conn: &mut Conn, before: Timestamp) -> Result<bool, Failure> {
    lock(conn).await?;
    let found = conn.fetch_all(ENDS, &[]).await?;
    let ends = found.first().map(audit_log::ends).transpose()?.unwrap_or_default();
    let Some(anchor) = ends.anchor else {
        return Err(StoreError::AuditDamaged(probehost_model::ChainFault::NoEnd("anchor")).into());
    };
    let values = [Value::Whole(anchor.id), Value::Whole(i64::MAX), Value::Whole(STEP.into())];
    let found = conn.fetch_all(PAGE, &values).await?;
    let links = audit_log::links(&found, anchor.hash)?;
    let mut chain = ChainReader::after(anchor.id, anchor.hash);
    let mut transitions = Vec::new();
    for (place, link) in links.iter().enumerate() {
        if link.row.at >= before.as_micros() {
            break;
        }
        let following = links.get(place + 1..).unwrap_or_default();
        chain.read(link, following).map_err(StoreError::AuditDamaged)?;
        transitions.extend(link.row.transition_id.map(|id| (id,)));
    }
    let hash = chain.hash().to_string();
    let removed = i64::try_from(chain.rows()).unwrap_or(i64::MAX);
    conn.execute(
        "UPDATE audit_anchor SET id = $1, hash = $2, rows = $3, at = $4",
        &[
            Value::Whole(chain.id()),
            Value::Text(&hash),
            Value::Whole(anchor.rows.saturating_add(removed)),
            Value::Whole(before.as_micros()),
        ],
    )
    .await?;
    conn.execute("DELETE FROM audit WHERE id <= $1", &[Value::Whole(chain.id())]).await?;
    if !transitions.is_empty() {
        let transitions = serde_json::to_string(&transitions)?;
        conn.execute(DELETE_TRANSITIONS.of(conn.dialect()), &[Value::Text(&transitions)]).await?;
    }
    let lifecycles = conn
        .fetch_all(
            "DELETE FROM lifecycle_transitions WHERE id IN (SELECT id FROM \
             (SELECT id, at FROM lifecycle_transitions ORDER BY id LIMIT $2) AS oldest \
             WHERE at < $1) RETURNING id",
            &[Value::Whole(before.as_micros()), Value::Whole(STEP.into())],
        )
        .await?
        .len();
    Ok(removed == i64::from(STEP) || lifecycles == STEP as usize)
}
