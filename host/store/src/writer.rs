//! The one task that writes: takes what has queued up, writes it as one transaction, and only
//! then answers each caller.

use std::collections::HashMap;
use std::path::PathBuf;

use probehost_model::Refusal;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection};
use tokio::sync::{mpsc, oneshot};

use crate::history::Failure;
use crate::observe::{self, Recorded, Write};
use crate::save::{self, Save, SaveReport};
use crate::{StoreError, dialect, history, rows};

/// The most observations that one transaction holds.
const BATCH: usize = 256;

/// What the writer can be asked for.
#[derive(Debug)]
pub(crate) enum Job {
    Observe(Box<Write>, oneshot::Sender<Result<Recorded, StoreError>>),
    Save(Box<Save>, oneshot::Sender<Result<SaveReport, StoreError>>),
    /// Take nothing more; end when the queue is empty.
    Close,
}

type Waiting = (Box<Write>, oneshot::Sender<Result<Recorded, StoreError>>);

pub(crate) struct Writer {
    conn: SqliteConnection,
    path: PathBuf,
}

impl Writer {
    pub(crate) fn new(conn: SqliteConnection, path: PathBuf) -> Self {
        Self { conn, path }
    }

    /// Writes until it is told to close or every handle is gone, and the queue is empty.
    pub(crate) async fn run(mut self, mut queue: mpsc::Receiver<Job>) {
        let mut jobs = Vec::with_capacity(BATCH);
        let mut batch: Vec<Waiting> = Vec::with_capacity(BATCH);
        while queue.recv_many(&mut jobs, BATCH).await > 0 {
            for job in jobs.drain(..) {
                match job {
                    Job::Observe(write, answer) => batch.push((write, answer)),
                    Job::Save(save, answer) => {
                        // In the order in which they came.
                        self.observe(&mut batch).await;
                        // Whoever asked may have gone; the save stands.
                        let _ = answer.send(self.save(&save).await);
                    }
                    Job::Close => queue.close(),
                }
            }
            self.observe(&mut batch).await;
        }
        if let Err(error) = self.conn.close().await {
            tracing::warn!(path = %self.path.display(), %error, "closing the database failed");
        }
    }

    async fn observe(&mut self, batch: &mut Vec<Waiting>) {
        if batch.is_empty() {
            return;
        }
        let writes: Vec<&Write> = batch.iter().map(|(write, _)| &**write).collect();
        match self.transaction(&writes).await {
            Ok(results) => {
                for ((_, answer), result) in batch.drain(..).zip(results) {
                    // Whoever asked may have gone; the write stands (contract R4).
                    let _ = answer.send(Ok(result));
                }
            }
            Err(error) if error.is_outage() || batch.len() == 1 => {
                for (_, answer) in batch.drain(..) {
                    let _ = answer.send(Err(error.clone()));
                }
            }
            // One of them is at fault: each on its own, so that it fails alone.
            Err(_) => {
                for (write, answer) in batch.drain(..) {
                    let result = self.transaction(&[&write]).await;
                    let _ = answer.send(
                        result.and_then(|mut results| results.pop().ok_or(StoreError::Closed)),
                    );
                }
            }
        }
    }

    /// All of `writes` in one transaction, or none. The results are in their order.
    async fn transaction(&mut self, writes: &[&Write]) -> Result<Vec<Recorded>, StoreError> {
        let result = record_all(&mut self.conn, writes).await;
        self.finish(result).await
    }

    async fn save(&mut self, save: &Save) -> Result<SaveReport, StoreError> {
        let result = match sqlx::query(dialect::BEGIN).execute(&mut self.conn).await {
            Ok(_) => save::apply(&mut self.conn, save).await,
            Err(error) => Err(error.into()),
        };
        self.finish(result).await
    }

    /// Commits, or undoes what was begun.
    async fn finish<T>(&mut self, result: Result<T, Failure>) -> Result<T, StoreError> {
        let result = match result {
            Ok(value) => match sqlx::query(dialect::COMMIT).execute(&mut self.conn).await {
                Ok(_) => return Ok(value),
                Err(error) => Failure::Sql(error),
            },
            Err(failure) => failure,
        };
        // Fails when there is nothing to undo: the begin failed, or the database undid it.
        let _ = sqlx::query(dialect::ROLLBACK).execute(&mut self.conn).await;
        Err(match result {
            Failure::Sql(error) => StoreError::from_sqlx(&self.path, &error),
            Failure::Store(error) => error,
        })
    }
}

/// Begins the transaction and does all of it but the commit.
async fn record_all(
    conn: &mut SqliteConnection,
    writes: &[&Write],
) -> Result<Vec<Recorded>, Failure> {
    sqlx::query(dialect::BEGIN).execute(&mut *conn).await?;
    let mut results: Vec<Recorded> =
        writes.iter().map(|_| Recorded::Refused(Refusal::Changed)).collect();
    for round in rounds(writes) {
        decide(conn, writes, &round, &mut results).await?;
    }
    explain_refusals(conn, writes, &mut results).await?;
    history::of_batch(conn, writes, &mut results).await?;
    Ok(results)
}

/// One statement may touch a record once; so each round has at most one observation of a
/// check, and observations of one check stay in their order.
fn rounds(writes: &[&Write]) -> Vec<Vec<usize>> {
    let mut rounds: Vec<Vec<usize>> = Vec::with_capacity(1);
    let mut of_check: HashMap<(&str, &str), usize> = HashMap::with_capacity(writes.len());
    for (place, write) in writes.iter().enumerate() {
        let count = of_check.entry((&write.check.target, &write.check.check)).or_insert(0);
        match rounds.get_mut(*count) {
            Some(round) => round.push(place),
            None => rounds.push(vec![place]),
        }
        *count += 1;
    }
    rounds
}

/// Runs the deciding statement over one round.
async fn decide(
    conn: &mut SqliteConnection,
    writes: &[&Write],
    round: &[usize],
    results: &mut [Recorded],
) -> Result<(), Failure> {
    let members = || round.iter().filter_map(|place| Some((*place, *writes.get(*place)?)));
    let seen: Vec<_> = members().map(|(_, write)| observe::encode(write)).collect();
    let landed = sqlx::query(AssertSqlSafe(observe::UPSERT.clone()))
        .bind(serde_json::to_string(&seen)?)
        .fetch_all(conn)
        .await?;
    let places: HashMap<(&str, &str), usize> = members()
        .map(|(place, write)| ((write.check.target.as_str(), write.check.check.as_str()), place))
        .collect();
    for row in &landed {
        let place = places.get(&(rows::get(row, 0)?, rows::get(row, 1)?));
        if let Some(result) = place.and_then(|place| results.get_mut(*place)) {
            *result = observe::decode(row)?;
        }
    }
    Ok(())
}

/// Tells the refused whose target is as they saw it that they were overtaken.
async fn explain_refusals(
    conn: &mut SqliteConnection,
    writes: &[&Write],
    results: &mut [Recorded],
) -> Result<(), Failure> {
    let refused: Vec<_> = writes
        .iter()
        .zip(results.iter())
        .enumerate()
        .filter(|(_, (_, result))| matches!(result, Recorded::Refused(_)))
        .map(|(place, (write, _))| {
            let seen = write.seen_updated_at.as_micros();
            (place, &write.check.target, &write.check.check, seen)
        })
        .collect();
    if refused.is_empty() {
        return Ok(());
    }
    let standing: Vec<i64> = sqlx::query_scalar(AssertSqlSafe(observe::STANDING.clone()))
        .bind(serde_json::to_string(&refused)?)
        .fetch_all(conn)
        .await?;
    for place in standing {
        let place = usize::try_from(place).ok();
        if let Some(result) = place.and_then(|place| results.get_mut(place)) {
            *result = Recorded::Refused(Refusal::Overtaken);
        }
    }
    Ok(())
}
