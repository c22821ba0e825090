//! Rollups in the store: each host's own rows, and what is read of them (contract A4).

use std::collections::BTreeMap;
use std::time::Duration;

use probehost_model::{CheckId, Latency, Reason, Rollup, Step, Timestamp};

use crate::change::micros;
use crate::conn::{Conn, Row, Value};
use crate::dialect::{self, Column, Dialect, Statement};
use crate::failure::Failure;
use crate::{Store, StoreError, rows};

/// An hour of a check, as one run of a host has counted it so far.
#[derive(Debug, Clone, PartialEq)]
pub struct RollupHour {
    /// Which check.
    pub check: CheckId,
    /// When the hour began.
    pub start: Timestamp,
    /// All that the writer has counted in it: what it wrote before is replaced.
    pub rollup: Rollup,
}

pub(crate) const COLUMNS: [Column; 12] = [
    Column::Text("target_id"),
    Column::Text("check_name"),
    Column::Whole("step"),
    Column::Whole("start"),
    Column::Text("writer"),
    Column::Whole("runs"),
    Column::Whole("passes"),
    Column::Whole("inconclusive"),
    Column::Text("failures"),
    Column::Whole("healthy_us"),
    Column::Whole("unhealthy_us"),
    Column::Bytes("latency"),
];

/// What [`read`] reads, in its order.
pub(crate) const READ: &str =
    "runs, passes, inconclusive, failures, healthy_us, unhealthy_us, latency";

const REPLACE: &str = " ON CONFLICT (target_id, check_name, step, start, writer) DO UPDATE SET \
     runs = excluded.runs, passes = excluded.passes, inconclusive = excluded.inconclusive, \
     failures = excluded.failures, healthy_us = excluded.healthy_us, \
     unhealthy_us = excluded.unhealthy_us, latency = excluded.latency";

/// Hours that are in days already, or are about to be, are not written any more: they would
/// be counted twice. The mark is held until the commit, so that none slips through while it
/// moves.
static PUT_HOURS: Statement = Statement::new(|dialect| {
    let list = dialect::names(&COLUMNS);
    format!(
        "{} INSERT INTO rollups ({list}) SELECT {list} FROM (SELECT new.* FROM new, rollup_mark \
         WHERE new.start > rollup_mark.hour{}) AS open WHERE true{REPLACE}",
        dialect.rows_as("new", &COLUMNS),
        match dialect {
            Dialect::Sqlite => "",
            Dialect::Postgres => " FOR SHARE OF rollup_mark",
        },
    )
});

/// What is merged is written whatever the mark says: by who moves it.
static PUT_MERGED: Statement =
    Statement::new(|dialect| format!("{}{REPLACE}", dialect.insert("rollups", &COLUMNS)));

/// A row to write; the fields as in [`COLUMNS`].
pub(crate) type NewRow<'a> =
    (&'a str, &'a str, i64, i64, &'a str, i64, i64, i64, String, i64, i64, String);

pub(crate) fn new_row<'a>(
    check: (&'a str, &'a str),
    step: Step,
    start: Timestamp,
    writer: &'a str,
    rollup: &Rollup,
) -> Result<NewRow<'a>, Failure> {
    let whole = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let failures: BTreeMap<&str, u64> =
        rollup.failures.iter().map(|(reason, count)| (reason.as_str(), *count)).collect();
    let latency = rollup.latency.to_bytes();
    let latency = latency.iter().fold(String::with_capacity(2 * latency.len()), |mut hex, byte| {
        for digit in [byte >> 4, byte & 15] {
            hex.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
        }
        hex
    });
    Ok((
        check.0,
        check.1,
        step.seconds().into(),
        start.as_micros(),
        writer,
        whole(rollup.runs),
        whole(rollup.passes),
        whole(rollup.inconclusive),
        serde_json::to_string(&failures)?,
        micros(rollup.healthy),
        micros(rollup.unhealthy),
        latency,
    ))
}

/// Writes a host's own hours.
pub(crate) async fn put(
    conn: &mut Conn,
    writer: &str,
    hours: &[RollupHour],
) -> Result<(), Failure> {
    let rows = hours.iter().map(|hour| {
        let check = (hour.check.target.as_str(), hour.check.check.as_str());
        new_row(check, Step::Hour, hour.start, writer, &hour.rollup)
    });
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    let rows = serde_json::to_string(&rows)?;
    conn.execute(PUT_HOURS.of(conn.dialect()), &[Value::Text(&rows)]).await?;
    Ok(())
}

/// Writes what was merged.
pub(crate) async fn put_merged(conn: &mut Conn, rows: &[NewRow<'_>]) -> Result<(), Failure> {
    if !rows.is_empty() {
        let rows = serde_json::to_string(rows)?;
        conn.execute(PUT_MERGED.of(conn.dialect()), &[Value::Text(&rows)]).await?;
    }
    Ok(())
}

/// Reads the columns of [`READ`], the first of which stands at `first`.
pub(crate) fn read(row: &Row, first: usize) -> Result<Rollup, StoreError> {
    let unreadable = |column, detail: String| StoreError::Unreadable {
        column,
        value: "a rollup".to_owned(),
        detail,
    };
    let count = |column: usize| -> Result<u64, StoreError> {
        Ok(u64::try_from(rows::get::<i64>(row, first + column)?).unwrap_or(0))
    };
    let failures: BTreeMap<String, u64> = serde_json::from_str(rows::get(row, first + 3)?)
        .map_err(|error| unreadable("failures", error.to_string()))?;
    let failures = failures.into_iter().map(|(reason, count)| {
        let reason: Reason = rows::word(&reason, "failures")?;
        Ok((reason, count))
    });
    let latency = Latency::from_bytes(rows::get(row, first + 6)?)
        .map_err(|error| unreadable("latency", error.to_string()))?;
    Ok(Rollup {
        runs: count(0)?,
        passes: count(1)?,
        inconclusive: count(2)?,
        failures: failures.collect::<Result<_, StoreError>>()?,
        healthy: Duration::from_micros(count(4)?),
        unhealthy: Duration::from_micros(count(5)?),
        latency,
    })
}

/// What a host has counted of a check and holds in memory.
#[derive(Debug, Clone, Default)]
pub struct LiveHours {
    /// The writer: the host's own rows of these hours are replaced by them.
    pub writer: String,
    /// Each hour that is held, as a whole.
    pub hours: Vec<(Timestamp, Rollup)>,
}

impl Store {
    /// What a check did, by hour or by day, from the period that begins at `since`: the rows of
    /// all hosts, merged, and what this host has counted and not written yet. Periods of which
    /// nothing is known are not there.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn rollups(
        &self,
        check: &CheckId,
        step: Step,
        since: Timestamp,
        live: &LiveHours,
    ) -> Result<BTreeMap<Timestamp, Rollup>, StoreError> {
        // Days hold what is before the mark; what is after it, the hours do.
        let text = match step {
            Step::Hour => {
                "SELECT step, start, writer, (SELECT hour FROM rollup_mark), runs, passes, \
                 inconclusive, failures, healthy_us, unhealthy_us, latency FROM rollups \
                 WHERE target_id = $1 AND check_name = $2 AND step = 3600 AND start >= $3"
            }
            Step::Day => {
                "SELECT step, start, writer, mark.hour, runs, passes, inconclusive, failures, \
                 healthy_us, unhealthy_us, latency FROM rollups, rollup_mark AS mark \
                 WHERE rollups.target_id = $1 AND rollups.check_name = $2 AND start >= $3 \
                 AND (step = 86400 OR start > mark.hour OR (start = mark.hour \
                 AND (rollups.target_id, rollups.check_name) > (mark.target_id, mark.check_name)))"
            }
        };
        let values = [
            Value::Text(&check.target),
            Value::Text(&check.check),
            Value::Whole(since.as_micros()),
        ];
        let found = self.read(text, &values).await?;
        let mut mark = None;
        let mut periods: BTreeMap<Timestamp, Rollup> = BTreeMap::new();
        let mut hours: BTreeMap<Timestamp, Rollup> = BTreeMap::new();
        for row in &found {
            let start = Timestamp::from_micros(rows::get(row, 1)?);
            let hour = Timestamp::from_micros(rows::get(row, 3)?);
            mark = Some(hour);
            let own = rows::get::<&str>(row, 2)? == live.writer && start > hour;
            if own && live.hours.iter().any(|(held, _)| *held == start) {
                continue;
            }
            let is_hour = rows::get::<i64>(row, 0)? == i64::from(Step::Hour.seconds());
            let into = if is_hour { &mut hours } else { &mut periods };
            into.entry(start).or_default().merge(&read(row, 4)?);
        }
        for (start, rollup) in &live.hours {
            if *start >= since && mark.is_none_or(|mark| *start > mark) {
                hours.entry(*start).or_default().merge(rollup);
            }
        }
        for (start, mut rollup) in hours {
            rollup.fit(Step::Hour.span());
            periods.entry(step.start_of(start)).or_default().merge(&rollup);
        }
        Ok(periods)
    }
}
