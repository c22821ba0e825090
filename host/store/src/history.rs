//! Adds rows to the append-only history: transitions and audit.

use std::borrow::Cow;
use std::collections::HashMap;

use probehost_model::{Action, ChainRow, Change, Timestamp, Trigger};

use crate::conn::{Conn, Value};
use crate::dialect::{Column, Statement};
use crate::events::{self, NewEvent};
use crate::failure::Failure;
use crate::observe::{Recorded, Write, outcome_text};
use crate::{chain, rows};

const TRANSITION_COLUMNS: [Column; 9] = [
    Column::Whole("at"),
    Column::Text("target_id"),
    Column::Text("check_name"),
    Column::Text("\"from\""),
    Column::Text("\"to\""),
    Column::Text("reason"),
    Column::Text("message"),
    Column::Whole("streak"),
    Column::Text("\"trigger\""),
];

static INSERT_TRANSITIONS: Statement = Statement::new(|dialect| {
    let insert = dialect.insert("transitions", &TRANSITION_COLUMNS);
    format!("{insert} RETURNING id, target_id, check_name, at")
});

const AUDIT_COLUMNS: [Column; 12] = [
    Column::Whole("id"),
    Column::Whole("at"),
    Column::Text("principal"),
    Column::Text("action"),
    Column::Text("\"trigger\""),
    Column::Text("target_id"),
    Column::Text("check_name"),
    Column::Text("\"from\""),
    Column::Text("\"to\""),
    Column::Text("outcome"),
    Column::Whole("transition_id"),
    Column::Text("hash"),
];

static INSERT_AUDIT: Statement = Statement::new(|dialect| dialect.insert("audit", &AUDIT_COLUMNS));

/// An audit row that is yet to be written; the fields as in [`AUDIT_COLUMNS`], but for the id
/// and the hash, which it is given when it is written.
#[derive(Debug)]
pub(crate) struct NewAudit<'a>(
    i64,
    &'a str,
    &'static str,
    Option<&'static str>,
    Cow<'a, str>,
    Option<&'a str>,
    Option<&'static str>,
    Option<&'static str>,
    String,
    Option<i64>,
);

impl<'a> NewAudit<'a> {
    /// A target was created, changed, enabled, disabled or deleted.
    pub(crate) fn target_changed(
        at: Timestamp,
        principal: &'a str,
        target: impl Into<Cow<'a, str>>,
        outcome: &str,
    ) -> Self {
        let action = Action::TargetChanged.as_str();
        let outcome = outcome.to_owned();
        let target = target.into();
        Self(at.as_micros(), principal, action, None, target, None, None, None, outcome, None)
    }

    /// A token was made or revoked.
    pub(crate) fn token_changed(at: Timestamp, principal: &'a str, outcome: String) -> Self {
        let action = Action::TokenChanged.as_str();
        let target = Cow::Borrowed("");
        Self(at.as_micros(), principal, action, None, target, None, None, None, outcome, None)
    }

    fn row(&self, id: i64) -> ChainRow<&str> {
        let Self(at, principal, action, trigger, target, check, from, to, outcome, transition) =
            self;
        ChainRow {
            id,
            at: *at,
            principal,
            action,
            trigger: *trigger,
            target,
            check: *check,
            from: *from,
            to: *to,
            outcome,
            transition_id: *transition,
        }
    }

    /// Something was done with a managed target, by whom, and what had asked for it; with the
    /// states where one led to the other.
    pub(crate) fn lifecycle(
        (at, principal, trigger, target): (Timestamp, &'a str, Option<Trigger>, &'a str),
        action: Action,
        states: Option<(&'static str, &'static str)>,
        outcome: String,
    ) -> Self {
        let trigger = trigger.map(Trigger::as_str);
        let (from, to) = states.unzip();
        let (at, action, target) = (at.as_micros(), action.as_str(), Cow::Borrowed(target));
        Self(at, principal, action, trigger, target, None, from, to, outcome, None)
    }
}

/// Writes audit rows and events in their order, as the last thing of a transaction.
pub(crate) async fn tell(
    conn: &mut Conn,
    audit: &[NewAudit<'_>],
    told: &[NewEvent<'_>],
) -> Result<(), Failure> {
    if audit.is_empty() && told.is_empty() {
        return Ok(());
    }
    chain::lock(conn).await?;
    insert_audit(conn, audit).await?;
    events::insert(conn, told).await
}

/// Writes audit rows in their order, under the lock of the history: each follows the one before
/// by its hash (contract A3).
pub(crate) async fn insert_audit(conn: &mut Conn, new: &[NewAudit<'_>]) -> Result<(), Failure> {
    if new.is_empty() {
        return Ok(());
    }
    let mut end = chain::end(conn).await?;
    let mut linked = Vec::with_capacity(new.len());
    for new in new {
        let (row, hash) = end.append(|id| new.row(id));
        linked.push((
            row.id,
            row.at,
            row.principal,
            row.action,
            row.trigger,
            row.target,
            row.check,
            row.from,
            row.to,
            row.outcome,
            row.transition_id,
            hash,
        ));
    }
    let linked = serde_json::to_string(&linked)?;
    conn.execute(INSERT_AUDIT.of(conn.dialect()), &[Value::Text(&linked)]).await?;
    chain::put_head(conn, &end).await
}

/// Adds the transitions, audit rows and events of a batch, and tells each its transition's id.
pub(crate) async fn of_batch(
    conn: &mut Conn,
    writes: &[&Write],
    results: &mut [Recorded],
) -> Result<(), Failure> {
    transitions(conn, writes, results).await?;
    let mut new = Vec::new();
    let mut told = Vec::new();
    for (write, result) in writes.iter().zip(results.iter()) {
        let Recorded::Applied { from, reason_before, record, transition_id } = result else {
            continue;
        };
        // E1: when the status or the reason changed.
        if (*from, *reason_before) != (record.status, record.reason) {
            let change = Change::Status {
                check: write.check.check.clone(),
                from: *from,
                to: record.status,
                reason: record.reason,
                message: record.message.clone(),
                streak: record.streak,
            };
            told.push(NewEvent::new(write.observation.at, &write.check.target, &change)?);
        }
        let row = |action: Action, outcome, transition| {
            NewAudit(
                write.observation.at.as_micros(),
                &write.principal,
                action.as_str(),
                Some(write.trigger.as_str()),
                Cow::Borrowed(write.check.target.as_str()),
                Some(&write.check.check),
                Some(from.as_str()),
                Some(record.status.as_str()),
                outcome,
                transition,
            )
        };
        for call in &write.denied {
            new.push(row(Action::CapabilityDenied, call.clone(), None));
        }
        // One row for a probe by hand: its `from` and `to` tell the transition too.
        let action = match (write.trigger, transition_id) {
            (Trigger::Manual, _) => Action::Probe,
            (Trigger::Scheduled | Trigger::Saved, Some(_)) => Action::Transition,
            (Trigger::Scheduled | Trigger::Saved, None) => continue,
        };
        new.push(row(action, outcome_text(&write.observation.outcome), *transition_id));
    }
    tell(conn, &new, &told).await
}

async fn transitions(
    conn: &mut Conn,
    writes: &[&Write],
    results: &mut [Recorded],
) -> Result<(), Failure> {
    let mut new = Vec::new();
    // Attempts of one check get ever later, so check and time name a transition.
    let mut ids = HashMap::new();
    for (write, result) in writes.iter().zip(results) {
        let Recorded::Applied { from, record, transition_id, .. } = result else {
            continue;
        };
        if *from == record.status {
            continue;
        }
        let at = write.observation.at.as_micros();
        new.push((
            at,
            &write.check.target,
            &write.check.check,
            from.as_str(),
            record.status.as_str(),
            record.reason.map_or("", |reason| reason.as_str()),
            record.message.clone(),
            record.streak,
            write.trigger.as_str(),
        ));
        ids.insert((write.check.target.as_str(), write.check.check.as_str(), at), transition_id);
    }
    if new.is_empty() {
        return Ok(());
    }
    chain::lock(conn).await?;
    let new = serde_json::to_string(&new)?;
    let text = INSERT_TRANSITIONS.of(conn.dialect());
    let inserted = conn.fetch_all(text, &[Value::Text(&new)]).await?;
    for row in &inserted {
        let key = (rows::get(row, 1)?, rows::get(row, 2)?, rows::get(row, 3)?);
        if let Some(id) = ids.get_mut(&key) {
            **id = Some(rows::get(row, 0)?);
        }
    }
    Ok(())
}
