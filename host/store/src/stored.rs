//! Reads targets, their checks and records.

use std::collections::BTreeMap;
use std::time::Duration;

use probehost_model::{Check, Record, Target, Thresholds, Timestamp};
use serde::de::DeserializeOwned;

use crate::StoreError;
use crate::conn::Row;
use crate::rows;

/// Targets with checks and records, one row per check. A `WHERE` and an `ORDER BY` follow.
pub(crate) const SELECT: &str = "SELECT targets.id, targets.name, targets.labels, \
     targets.enabled, targets.source, targets.updated_at, targets.deleted_at, targets.managed, \
     checks.name, checks.kind, checks.role, checks.config, checks.interval_us, \
     checks.timeout_us, checks.failure_threshold, checks.inconclusive_threshold, \
     records.status, records.reason, records.message, records.subject, records.streak, \
     records.inconclusive_streak, records.checked_at, records.last_success_at, \
     records.last_attempt_at, records.last_error \
     FROM targets LEFT JOIN checks ON checks.target_id = targets.id \
     LEFT JOIN records ON records.target_id = checks.target_id \
         AND records.check_name = checks.name";

/// Where the columns of a record begin in [`SELECT`].
const RECORD_AT: usize = 16;

/// A target as it is stored.
pub(crate) struct Stored {
    pub(crate) target: Target,
    pub(crate) deleted: bool,
    pub(crate) records: BTreeMap<String, Record>,
}

/// Puts rows of [`SELECT`], which come in order of target and check, together.
pub(crate) fn assemble(found: &[Row]) -> Result<Vec<Stored>, StoreError> {
    let mut all: Vec<Stored> = Vec::new();
    for row in found {
        let id: &str = rows::get(row, 0)?;
        if all.last().is_none_or(|last| last.target.id != id) {
            all.push(stored(row)?);
        }
        let (Some(last), Some(name)) = (all.last_mut(), rows::get::<Option<String>>(row, 8)?)
        else {
            continue;
        };
        if rows::get::<Option<&str>>(row, RECORD_AT)?.is_some() {
            last.records.insert(name.clone(), rows::record(row, RECORD_AT)?);
        }
        last.target.checks.push(check(row, name)?);
    }
    Ok(all)
}

fn stored(row: &Row) -> Result<Stored, StoreError> {
    let target = Target {
        id: rows::get(row, 0)?,
        name: rows::get(row, 1)?,
        labels: json(rows::get(row, 2)?, "labels")?,
        enabled: rows::get(row, 3)?,
        source: rows::word(rows::get(row, 4)?, "source")?,
        updated_at: Timestamp::from_micros(rows::get(row, 5)?),
        managed: rows::get::<Option<&str>>(row, 7)?
            .map(|text| json(text, "managed"))
            .transpose()?,
        checks: Vec::new(),
    };
    let deleted = rows::get::<Option<i64>>(row, 6)?.is_some();
    Ok(Stored { target, deleted, records: BTreeMap::new() })
}

fn check(row: &Row, name: String) -> Result<Check, StoreError> {
    Ok(Check {
        name,
        kind: rows::get(row, 9)?,
        role: rows::word(rows::get(row, 10)?, "role")?,
        config: json(rows::get(row, 11)?, "config")?,
        interval: rows::get::<Option<i64>>(row, 12)?.map(span),
        timeout: span(rows::get(row, 13)?),
        thresholds: Thresholds {
            failure: rows::count(rows::get(row, 14)?),
            inconclusive: rows::count(rows::get(row, 15)?),
        },
    })
}

/// How long a stored time span is.
fn span(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

fn json<T: DeserializeOwned>(text: &str, column: &'static str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Unreadable {
        column,
        value: text.to_owned(),
        detail: error.to_string(),
    })
}
