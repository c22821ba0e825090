//! Merges finished hours into days, and what several hosts wrote of an hour into one row, in
//! steps that are short transactions; and lets go of what is old (contract A4).

use std::collections::HashMap;
use std::time::Duration;

use probehost_model::{Rollup, Step, Timestamp};

use crate::conn::{Conn, Row, Value};
use crate::dialect::{Column, Dialect, Statement};
use crate::failure::Failure;
use crate::rollups::{self, NewRow};
use crate::rows;

/// The most rows that one step reads, or removes.
const STEP: usize = 200;
/// An hour is finished this long after its end: a probe vouches for a day before it at most,
/// and hosts' clocks differ.
const SETTLED: Duration = Duration::from_hours(26);
/// Comes after every name.
const END: &str = "\u{10FFFF}";

static MARK: Statement = Statement::new(|dialect| {
    let hold = match dialect {
        Dialect::Sqlite => "",
        Dialect::Postgres => " FOR UPDATE",
    };
    format!("SELECT hour, target_id, check_name FROM rollup_mark{hold}")
});

/// What is merged already comes first of a check's rows, so that what it is merged with takes its
/// place.
const PICK: &str = "SELECT target_id, check_name, writer, runs, passes, inconclusive, failures, \
     healthy_us, unhealthy_us, latency FROM rollups WHERE step = 3600 AND start = $1 \
     AND (target_id, check_name) > ($2, $3) ORDER BY target_id, check_name, writer LIMIT $4";

const CHECKS: [Column; 2] = [Column::Text("target_id"), Column::Text("check_name")];

static DAYS: Statement = Statement::new(|dialect| {
    format!(
        "{} SELECT rollups.target_id, rollups.check_name, {} FROM rollups JOIN new \
         ON rollups.target_id = new.target_id AND rollups.check_name = new.check_name \
         WHERE step = 86400 AND start = $2 AND writer = ''",
        dialect.rows_as("new", &CHECKS),
        rollups::READ,
    )
});

static DELETE_HOUR: Statement = Statement::new(|dialect| {
    format!(
        "{} DELETE FROM rollups WHERE step = 3600 AND start = $2 \
         AND (target_id, check_name, writer) IN (SELECT target_id, check_name, writer FROM new)",
        dialect.rows_as(
            "new",
            &[Column::Text("target_id"), Column::Text("check_name"), Column::Text("writer")]
        ),
    )
});

/// The rows of one check in an hour: who wrote them, and all of them as one.
struct Group {
    target: String,
    check: String,
    writers: Vec<String>,
    rollup: Rollup,
}

/// One step. Gives whether there may be more to do.
pub(crate) async fn compact(conn: &mut Conn, now: Timestamp) -> Result<bool, Failure> {
    let found = conn.fetch_all(MARK.of(conn.dialect()), &[]).await?;
    let Some(mark) = found.first() else { return Ok(false) };
    let hour = Timestamp::from_micros(rows::get(mark, 0)?);
    let after: (String, String) = (rows::get(mark, 1)?, rows::get(mark, 2)?);
    let current = Step::Hour.start_of(now);
    if hour > current {
        // A clock was far ahead, and was set right: what comes from now on is to be kept.
        move_to(conn, current, (END, END)).await?;
        return Ok(false);
    }
    let values = [
        Value::Whole(hour.as_micros()),
        Value::Text(&after.0),
        Value::Text(&after.1),
        Value::Whole(i64::try_from(STEP).unwrap_or(i64::MAX)),
    ];
    let found = conn.fetch_all(PICK, &values).await?;
    if found.is_empty() {
        return next_hour(conn, hour, now).await;
    }
    let mut groups = groups(&found)?;
    if found.len() == STEP {
        if groups.len() == 1 {
            // Even one check's rows are more than a step: first fewer rows, then the day.
            merge_writers(conn, hour, &groups).await?;
            return Ok(true);
        }
        // The rest of the last one comes with the next step.
        groups.pop();
    }
    for group in &mut groups {
        group.rollup.fit(Step::Hour.span());
    }
    merge_writers(conn, hour, &groups).await?;
    add_to_day(conn, hour, &groups).await?;
    if let Some(last) = groups.last() {
        move_to(conn, hour, (&last.target, &last.check)).await?;
    }
    Ok(true)
}

/// Goes on to the next hour of which there are rows, when it is finished: from then on nobody
/// writes to it.
async fn next_hour(conn: &mut Conn, hour: Timestamp, now: Timestamp) -> Result<bool, Failure> {
    let text = "SELECT MIN(start) FROM rollups WHERE step = 3600 AND start > $1";
    let found = conn.fetch_all(text, &[Value::Whole(hour.as_micros())]).await?;
    let next: Option<i64> = found.first().map(|row| rows::get(row, 0)).transpose()?.flatten();
    let next = next.map(Timestamp::from_micros);
    match next.filter(|next| next.plus(Step::Hour.span()).plus(SETTLED) <= now) {
        Some(next) => {
            move_to(conn, next, ("", "")).await?;
            Ok(true)
        }
        None => Ok(false),
    }
}

async fn move_to(
    conn: &mut Conn,
    hour: Timestamp,
    (target, check): (&str, &str),
) -> Result<(), Failure> {
    conn.execute(
        "UPDATE rollup_mark SET hour = $1, target_id = $2, check_name = $3",
        &[Value::Whole(hour.as_micros()), Value::Text(target), Value::Text(check)],
    )
    .await?;
    Ok(())
}

/// Rows of [`PICK`], check by check.
fn groups(found: &[Row]) -> Result<Vec<Group>, Failure> {
    let mut groups: Vec<Group> = Vec::new();
    for row in found {
        let (target, check): (&str, &str) = (rows::get(row, 0)?, rows::get(row, 1)?);
        let writer: String = rows::get(row, 2)?;
        let rollup = rollups::read(row, 3)?;
        match groups.last_mut() {
            Some(last) if last.target == target && last.check == check => {
                last.writers.push(writer);
                last.rollup.merge(&rollup);
            }
            _ => groups.push(Group {
                target: target.to_owned(),
                check: check.to_owned(),
                writers: vec![writer],
                rollup,
            }),
        }
    }
    Ok(groups)
}

/// Makes one row of those of several writers.
async fn merge_writers(conn: &mut Conn, hour: Timestamp, groups: &[Group]) -> Result<(), Failure> {
    let many: Vec<_> = groups.iter().filter(|group| group.writers.len() > 1).collect();
    if many.is_empty() {
        return Ok(());
    }
    let old: Vec<_> = many
        .iter()
        .flat_map(|group| group.writers.iter().map(|writer| (&group.target, &group.check, writer)))
        .collect();
    let old = serde_json::to_string(&old)?;
    let values = [Value::Text(&old), Value::Whole(hour.as_micros())];
    conn.execute(DELETE_HOUR.of(conn.dialect()), &values).await?;
    let rows = many.iter().map(|group| {
        rollups::new_row((&group.target, &group.check), Step::Hour, hour, "", &group.rollup)
    });
    rollups::put_merged(conn, &rows.collect::<Result<Vec<_>, _>>()?).await
}

/// Adds an hour of some checks to the day that it is in.
async fn add_to_day(conn: &mut Conn, hour: Timestamp, groups: &[Group]) -> Result<(), Failure> {
    let day = Step::Day.start_of(hour);
    let checks: Vec<_> = groups.iter().map(|group| (&group.target, &group.check)).collect();
    let checks = serde_json::to_string(&checks)?;
    let values = [Value::Text(&checks), Value::Whole(day.as_micros())];
    let found = conn.fetch_all(DAYS.of(conn.dialect()), &values).await?;
    let mut days: HashMap<(&str, &str), Rollup> = HashMap::with_capacity(groups.len());
    for row in &found {
        days.insert((rows::get(row, 0)?, rows::get(row, 1)?), rollups::read(row, 2)?);
    }
    let rows = groups.iter().map(|group| {
        let check = (group.target.as_str(), group.check.as_str());
        let mut all = days.remove(&check).unwrap_or_default();
        all.merge(&group.rollup);
        rollups::new_row(check, Step::Day, day, "", &all)
    });
    let rows: Vec<NewRow<'_>> = rows.collect::<Result<_, _>>()?;
    rollups::put_merged(conn, &rows).await
}

/// One step of letting go of what began before that time. Gives whether there may be more.
pub(crate) async fn trim(conn: &mut Conn, before: Timestamp) -> Result<bool, Failure> {
    let mut more = false;
    for step in [Step::Hour, Step::Day] {
        let removed = conn
            .fetch_all(
                "DELETE FROM rollups WHERE (target_id, check_name, step, start, writer) IN \
                 (SELECT target_id, check_name, step, start, writer FROM rollups \
                 WHERE step = $1 AND start < $2 ORDER BY start LIMIT $3) RETURNING start",
                &[
                    Value::Whole(step.seconds().into()),
                    Value::Whole(before.as_micros()),
                    Value::Whole(i64::try_from(STEP).unwrap_or(i64::MAX)),
                ],
            )
            .await?;
        more |= removed.len() == STEP;
    }
    Ok(more)
}
