//! The statements that change targets and checks, and the one that resets a record.

use std::time::Duration;

use probehost_model::{Check, CheckId, Target, Timestamp};

use crate::conn::{Conn, Value};
use crate::failure::Failure;

/// Microseconds as they are stored; the longest span that fits, for a longer one.
pub(crate) fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

/// Writes a target's own row; a deleted one is back by this.
pub(crate) async fn put_target(
    conn: &mut Conn,
    target: &Target,
    updated_at: Timestamp,
) -> Result<(), Failure> {
    let labels = serde_json::to_string(&target.labels)?;
    let managed = target.managed.as_ref().map(serde_json::to_string).transpose()?;
    conn.execute(
        "INSERT INTO targets (id, name, labels, enabled, source, updated_at, managed, \
         deleted_at) VALUES ($1, $2, $3, $4, $5, $6, $7, NULL) \
         ON CONFLICT (id) DO UPDATE SET name = excluded.name, labels = excluded.labels, \
         enabled = excluded.enabled, source = excluded.source, \
         updated_at = excluded.updated_at, managed = excluded.managed, deleted_at = NULL",
        &[
            Value::Text(&target.id),
            Value::Text(&target.name),
            Value::Text(&labels),
            Value::Flag(target.enabled),
            Value::Text(target.source.as_str()),
            Value::Whole(updated_at.as_micros()),
            Value::MaybeText(managed.as_deref()),
        ],
    )
    .await?;
    Ok(())
}

/// Writes a check's row.
pub(crate) async fn put_check(conn: &mut Conn, target: &str, check: &Check) -> Result<(), Failure> {
    let config = check.config.to_string();
    conn.execute(
        "INSERT INTO checks (target_id, name, kind, role, config, interval_us, timeout_us, \
         failure_threshold, inconclusive_threshold) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
         ON CONFLICT (target_id, name) DO UPDATE SET kind = excluded.kind, \
         role = excluded.role, config = excluded.config, interval_us = excluded.interval_us, \
         timeout_us = excluded.timeout_us, failure_threshold = excluded.failure_threshold, \
         inconclusive_threshold = excluded.inconclusive_threshold",
        &[
            Value::Text(target),
            Value::Text(&check.name),
            Value::Text(&check.kind),
            Value::Text(check.role.as_str()),
            Value::Text(&config),
            Value::MaybeWhole(check.interval.map(micros)),
            Value::Whole(micros(check.timeout)),
            Value::Whole(check.thresholds.failure.into()),
            Value::Whole(check.thresholds.inconclusive.into()),
        ],
    )
    .await?;
    Ok(())
}

/// A check that its target no longer has takes its record with it.
pub(crate) async fn remove_check(
    conn: &mut Conn,
    target: &str,
    check: &str,
) -> Result<(), Failure> {
    for statement in [
        "DELETE FROM records WHERE target_id = $1 AND check_name = $2",
        "DELETE FROM checks WHERE target_id = $1 AND name = $2",
    ] {
        conn.execute(statement, &[Value::Text(target), Value::Text(check)]).await?;
    }
    Ok(())
}

/// Deletes a target softly; records and checks go (contract R9).
pub(crate) async fn delete_target(
    conn: &mut Conn,
    target: &str,
    at: Timestamp,
) -> Result<(), Failure> {
    for statement in
        ["DELETE FROM records WHERE target_id = $1", "DELETE FROM checks WHERE target_id = $1"]
    {
        conn.execute(statement, &[Value::Text(target)]).await?;
    }
    conn.execute(
        "UPDATE targets SET deleted_at = $2, updated_at = $2 WHERE id = $1",
        &[Value::Text(target), Value::Whole(at.as_micros())],
    )
    .await?;
    Ok(())
}

/// Nothing is known any more (contract T7, T8). Not the deciding statement: a reset is no
/// observation, it makes one void, and so it wins over whatever is stored.
pub(crate) async fn reset_record(
    conn: &mut Conn,
    id: &CheckId,
    check: &Check,
    subject: &str,
    now: Timestamp,
) -> Result<(), Failure> {
    conn.execute(
        "INSERT INTO records (target_id, check_name, status, reason, message, subject, streak, \
         inconclusive_streak, checked_at, last_success_at, last_attempt_at, last_error, \
         last_outcome, failure_threshold, inconclusive_threshold, replaced_status, \
         replaced_reason, updated_at) \
         VALUES ($1, $2, 'unknown', '', '', $3, 0, 0, NULL, NULL, NULL, '', '', $4, $5, \
         'unknown', '', $6) \
         ON CONFLICT (target_id, check_name) DO UPDATE SET status = 'unknown', reason = '', \
         message = '', subject = excluded.subject, streak = 0, inconclusive_streak = 0, \
         checked_at = NULL, last_success_at = NULL, last_attempt_at = NULL, last_error = '', \
         last_outcome = '', failure_threshold = excluded.failure_threshold, \
         inconclusive_threshold = excluded.inconclusive_threshold, \
         replaced_status = records.status, replaced_reason = records.reason, \
         updated_at = excluded.updated_at",
        &[
            Value::Text(&id.target),
            Value::Text(&id.check),
            Value::Text(subject),
            Value::Whole(check.thresholds.failure.into()),
            Value::Whole(check.thresholds.inconclusive.into()),
            Value::Whole(now.as_micros()),
        ],
    )
    .await?;
    Ok(())
}
