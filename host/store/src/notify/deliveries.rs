//! What becomes of a delivery: claimed, tried, delivered, put off, given up, replayed.

use probehost_model::Timestamp;
use probehost_model::notify::DeliveryState;

use crate::conn::{Conn, Value};
use crate::dialect::{Column, Statement};
use crate::failure::Failure;

/// What came of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// The sink has it.
    Delivered,
    /// Not yet; when it is tried again, and what went wrong.
    Later {
        /// When.
        at: Timestamp,
        /// For people, without anything that is secret.
        error: String,
    },
    /// It never will; why.
    Dead(String),
}

pub(super) async fn claim(
    conn: &mut Conn,
    id: i64,
    host: &str,
    now: Timestamp,
    until: Timestamp,
) -> Result<bool, Failure> {
    let text = "UPDATE deliveries SET claimed_by = $2, claimed_until = $3, \
                attempts = attempts + 1, first_attempt_at = COALESCE(first_attempt_at, $4) \
                WHERE id = $1 AND state = 'pending' AND claimed_until <= $4 RETURNING id";
    let values = [
        Value::Whole(id),
        Value::Text(host),
        Value::Whole(until.as_micros()),
        Value::Whole(now.as_micros()),
    ];
    Ok(!conn.fetch_all(text, &values).await?.is_empty())
}

pub(super) async fn settle(
    conn: &mut Conn,
    id: i64,
    settled: &Settled,
    now: Timestamp,
) -> Result<bool, Failure> {
    let (state, next, finished, error) = match settled {
        Settled::Delivered => (DeliveryState::Delivered, None, Some(now), ""),
        Settled::Later { at, error } => (DeliveryState::Pending, Some(at), None, error.as_str()),
        Settled::Dead(error) => (DeliveryState::Dead, None, Some(now), error.as_str()),
    };
    let text = "UPDATE deliveries SET state = $2, \
                next_attempt_at = COALESCE($3, next_attempt_at), finished_at = $4, \
                last_error = $5, claimed_by = '', claimed_until = 0 \
                WHERE id = $1 AND state = 'pending' RETURNING id";
    let values = [
        Value::Whole(id),
        Value::Text(state.as_str()),
        Value::MaybeWhole(next.map(|at| at.as_micros())),
        Value::MaybeWhole(finished.map(Timestamp::as_micros)),
        Value::Text(error),
    ];
    Ok(!conn.fetch_all(text, &values).await?.is_empty())
}

pub(super) async fn hasten(conn: &mut Conn, sink: &str, now: Timestamp) -> Result<bool, Failure> {
    let text = "UPDATE deliveries SET next_attempt_at = $2 \
                WHERE sink = $1 AND state = 'pending' AND next_attempt_at > $2";
    conn.execute(text, &[Value::Text(sink), Value::Whole(now.as_micros())]).await?;
    Ok(true)
}

pub(super) async fn release(conn: &mut Conn) -> Result<bool, Failure> {
    let text = "UPDATE deliveries SET claimed_by = '', claimed_until = 0 \
                WHERE state = 'pending' AND claimed_until > 0";
    conn.execute(text, &[]).await?;
    Ok(true)
}

pub(super) async fn replay(conn: &mut Conn, id: i64, now: Timestamp) -> Result<bool, Failure> {
    let text = "UPDATE deliveries SET state = 'pending', attempts = 0, first_attempt_at = NULL, \
                next_attempt_at = $2, finished_at = NULL, claimed_by = '', claimed_until = 0 \
                WHERE id = $1 AND state = 'dead' RETURNING id";
    let values = [Value::Whole(id), Value::Whole(now.as_micros())];
    Ok(!conn.fetch_all(text, &values).await?.is_empty())
}

static ABANDON: Statement = Statement::new(|dialect| {
    format!(
        "{known} UPDATE deliveries SET state = 'dead', finished_at = $3, \
         last_error = 'there is no sink of this name any more', claimed_by = '', \
         claimed_until = 0 WHERE state = 'pending' AND created_at < $2 \
         AND sink NOT IN (SELECT name FROM known)",
        known = dialect.rows_as("known", &[Column::Text("name")]),
    )
});

pub(super) async fn abandon(
    conn: &mut Conn,
    sinks: &[String],
    before: Timestamp,
    now: Timestamp,
) -> Result<bool, Failure> {
    let known: Vec<[&String; 1]> = sinks.iter().map(|name| [name]).collect();
    let known = serde_json::to_string(&known)?;
    let values =
        [Value::Text(&known), Value::Whole(before.as_micros()), Value::Whole(now.as_micros())];
    conn.execute(ABANDON.of(conn.dialect()), &values).await?;
    Ok(true)
}

pub(super) async fn trim(conn: &mut Conn, before: Timestamp) -> Result<bool, Failure> {
    let text = "DELETE FROM deliveries WHERE state <> 'pending' AND finished_at < $1";
    conn.execute(text, &[Value::Whole(before.as_micros())]).await?;
    Ok(true)
}
