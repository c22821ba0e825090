//! The statement that decides each observation (contract R1), and what goes in and comes out.

use std::borrow::Cow;

use probehost_model::{
    CheckId, Observation, Outcome, Reason, Record, Refusal, Status, Thresholds, Timestamp, Trigger,
};

use crate::StoreError;
use crate::conn::Row;
use crate::dialect::{Column, Dialect, Statement};
use crate::rows::{self, RECORD_COLUMNS};

/// One observation to record, and what the probe saw when it began.
#[derive(Debug, Clone)]
pub struct Write {
    /// Whose observation it is.
    pub check: CheckId,
    /// The target's `updated_at` before the probe began (contract R2).
    pub seen_updated_at: Timestamp,
    /// What the probe found, and when it ended.
    pub observation: Observation,
    /// By which the status is judged. Neither is zero.
    pub thresholds: Thresholds,
    /// What asked for the probe.
    pub trigger: Trigger,
    /// Who did: a principal's name, or [`probehost_model::SYSTEM_PRINCIPAL`].
    pub principal: Cow<'static, str>,
    /// What the plugin asked for and was not granted, one text per call, fit for people. Each
    /// has its audit row when the observation lands.
    pub denied: Vec<String>,
}

/// Whether an observation landed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// It did, and is committed.
    Applied {
        /// The status that it replaced (contract T6); `unknown` where there was no record.
        from: Status,
        /// The reason that it replaced.
        reason_before: Option<Reason>,
        /// The record now.
        record: Box<Record>,
        /// The row in the history, when the status changed.
        transition_id: Option<i64>,
    },
    /// It did not; nothing was written.
    Refused(Refusal),
}

/// What the incoming rows hold, in the order of [`encode`].
const SEEN: [Column; 11] = [
    Column::Text("target_id"),
    Column::Text("check_name"),
    Column::Whole("seen_updated_at"),
    Column::Text("last_outcome"),
    Column::Text("reason"),
    Column::Text("message"),
    Column::Text("subject"),
    Column::Whole("last_attempt_at"),
    Column::Text("last_error"),
    Column::Whole("failure_threshold"),
    Column::Whole("inconclusive_threshold"),
];

/// What each column of a record becomes: the rule of `probehost_model::advance`.
///
/// `excluded` is the incoming row and `records` the one that is stored. Both arms of the
/// statement use these texts as they stand: in the insert arm, `records` is a row of which
/// nothing is known. `{sticky}` stands for the sticky reasons.
const RULE: [(&str, &str); 18] = [
    ("target_id", "excluded.target_id"),
    ("check_name", "excluded.check_name"),
    (
        "status",
        "CASE WHEN excluded.last_outcome = 'pass' THEN 'healthy' \
         WHEN excluded.last_outcome = 'fail' AND (excluded.reason IN ({sticky}) \
             OR records.streak + 1 >= excluded.failure_threshold) THEN 'unhealthy' \
         WHEN excluded.last_outcome = 'inconclusive' \
             AND records.inconclusive_streak + 1 >= excluded.inconclusive_threshold THEN 'unknown' \
         ELSE records.status END",
    ),
    (
        "reason",
        "CASE excluded.last_outcome WHEN 'inconclusive' THEN records.reason \
         ELSE excluded.reason END",
    ),
    (
        "message",
        "CASE excluded.last_outcome WHEN 'inconclusive' THEN records.message \
         ELSE excluded.message END",
    ),
    (
        "subject",
        "CASE excluded.last_outcome WHEN 'inconclusive' \
             THEN COALESCE(records.subject, excluded.subject) \
         ELSE excluded.subject END",
    ),
    (
        "streak",
        "CASE excluded.last_outcome WHEN 'pass' THEN 0 WHEN 'fail' THEN records.streak + 1 \
         ELSE records.streak END",
    ),
    (
        "inconclusive_streak",
        "CASE excluded.last_outcome WHEN 'inconclusive' THEN records.inconclusive_streak + 1 \
         ELSE 0 END",
    ),
    (
        "checked_at",
        "CASE excluded.last_outcome WHEN 'inconclusive' THEN records.checked_at \
         ELSE excluded.last_attempt_at END",
    ),
    (
        "last_success_at",
        "CASE excluded.last_outcome WHEN 'pass' THEN excluded.last_attempt_at \
         ELSE records.last_success_at END",
    ),
    ("last_attempt_at", "excluded.last_attempt_at"),
    ("last_error", "excluded.last_error"),
    ("last_outcome", "excluded.last_outcome"),
    ("failure_threshold", "excluded.failure_threshold"),
    ("inconclusive_threshold", "excluded.inconclusive_threshold"),
    ("replaced_status", "records.status"),
    ("replaced_reason", "records.reason"),
    ("updated_at", "excluded.last_attempt_at"),
];

/// The record of which nothing is known. Without a subject, so that the first observation
/// gives it, also when it is inconclusive.
const BLANK: &str = "SELECT 'unknown' AS status, '' AS reason, '' AS message, NULL AS subject, \
     0 AS streak, 0 AS inconclusive_streak, CAST(NULL AS BIGINT) AS checked_at, \
     CAST(NULL AS BIGINT) AS last_success_at";

/// Contract R2: the target is as the probe saw it before it began, and it may be written. It
/// also stays so until the observation is committed.
fn guard(dialect: Dialect) -> String {
    format!(
        "EXISTS (SELECT 1 FROM targets \
         JOIN checks ON checks.target_id = targets.id AND checks.name = excluded.check_name \
         WHERE targets.id = excluded.target_id AND targets.deleted_at IS NULL \
         AND targets.enabled AND targets.updated_at = excluded.seen_updated_at{})",
        dialect.hold()
    )
}

/// For quiet mode: there is a record, so the insert arm, which would change a status that was
/// `unknown`, is not taken.
const STORED: &str = "EXISTS (SELECT 1 FROM records AS stored \
     WHERE stored.target_id = excluded.target_id AND stored.check_name = excluded.check_name)";

/// The statement. It answers with one row for each observation that landed.
///
/// Its second parameter chooses what lands: with 0 everything that may; with 1 (quiet mode)
/// only what leaves the status and the reason as they are. Such an observation has no transition,
/// no event and, unless it was by hand, no audit row (contract A2): it is whole by itself, so that the statement needs
/// no transaction around it. What stays out is then decided with 0.
pub(crate) static UPSERT: Statement = Statement::new(|dialect| {
    let sticky: Vec<String> = Reason::ALL
        .into_iter()
        .filter(|reason| reason.is_sticky())
        .map(|reason| format!("'{reason}'"))
        .collect();
    let rule = RULE.map(|(column, rule)| (column, rule.replace("{sticky}", &sticky.join(", "))));
    let columns = rule.each_ref().map(|(column, _)| *column).join(", ");
    let first = rule.each_ref().map(|(_, rule)| rule.as_str()).join(", ");
    let next: Vec<String> = rule
        .iter()
        .filter(|(column, _)| !matches!(*column, "target_id" | "check_name"))
        .map(|(column, rule)| format!("{column} = {rule}"))
        .collect();
    let becomes = |name| {
        rule.iter().find(|(column, _)| *column == name).map_or("", |(_, rule)| rule.as_str())
    };
    format!(
        "{seen} INSERT INTO records ({columns}) \
         SELECT {first} FROM seen AS excluded CROSS JOIN ({BLANK}) AS records \
         WHERE {guard} AND ($2 = 0 OR {STORED}){in_order} \
         ON CONFLICT (target_id, check_name) DO UPDATE SET {next} \
         WHERE (records.last_attempt_at IS NULL \
                OR excluded.last_attempt_at > records.last_attempt_at) \
             AND ($2 = 0 OR ({status} = records.status AND {reason} = records.reason)) \
         RETURNING target_id, check_name, replaced_status, replaced_reason, {record}",
        seen = dialect.rows_as("seen", &SEEN),
        guard = guard(dialect),
        in_order = dialect.in_order(),
        next = next.join(", "),
        status = becomes("status"),
        reason = becomes("reason"),
        record = RECORD_COLUMNS.join(", "),
    )
});

/// Which of the refused observations would have found their target as they had seen it: the
/// others were refused because it has changed. Rows: a number, and what [`guard`] reads.
pub(crate) static STANDING: Statement = Statement::new(|dialect| {
    let columns = [
        Column::Whole("place"),
        Column::Text("target_id"),
        Column::Text("check_name"),
        Column::Whole("seen_updated_at"),
    ];
    let (refused, guard) = (dialect.rows_as("excluded", &columns), guard(dialect));
    format!("{refused} SELECT place FROM excluded WHERE {guard}")
});

/// The second parameter of [`UPSERT`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lands {
    /// Everything that may land.
    Always,
    /// Only what leaves the status and the reason as they are.
    Quietly,
}

impl Lands {
    pub(crate) const fn parameter(self) -> i64 {
        match self {
            Self::Always => 0,
            Self::Quietly => 1,
        }
    }
}

/// One incoming row of [`UPSERT`].
pub(crate) type SeenRow<'a> =
    (&'a str, &'a str, i64, &'a str, &'a str, &'a str, &'a str, i64, &'a str, u32, u32);

/// An observation as an incoming row of [`UPSERT`].
pub(crate) fn encode(write: &Write) -> SeenRow<'_> {
    let seen = &write.observation;
    let (reason, message, error) = match &seen.outcome {
        Outcome::Pass => ("", "", ""),
        Outcome::Fail(failure) => (failure.reason.as_str(), failure.message(), ""),
        Outcome::Inconclusive { error } => ("", "", error.as_str()),
    };
    (
        &write.check.target,
        &write.check.check,
        write.seen_updated_at.as_micros(),
        seen.outcome.as_str(),
        reason,
        message,
        &seen.subject,
        seen.at.as_micros(),
        error,
        write.thresholds.failure,
        write.thresholds.inconclusive,
    )
}

/// What one row of the answer of [`UPSERT`] says.
pub(crate) fn decode(row: &Row) -> Result<Recorded, StoreError> {
    Ok(Recorded::Applied {
        from: rows::word(rows::get(row, 2)?, "replaced_status")?,
        reason_before: rows::reason(rows::get(row, 3)?)?,
        record: Box::new(rows::record(row, 4)?),
        transition_id: None,
    })
}

/// The whole outcome as one text for people, for the audit.
pub(crate) fn outcome_text(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Pass => "pass".to_owned(),
        Outcome::Fail(failure) => format!("fail {}: {}", failure.reason, failure.message()),
        Outcome::Inconclusive { error } => format!("inconclusive: {error}"),
    }
}
