//! The one task that writes: takes what has queued up, commits it together, and only then
//! answers each caller.

use std::path::PathBuf;

use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::{mpsc, oneshot};

use crate::batch;
use crate::history::Failure;
use crate::observe::{Recorded, Write};
use crate::save::{self, Save, SaveReport};
use crate::{StoreError, dialect};

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

/// An observation and who waits for its answer. Whoever it was may have gone: the write
/// stands all the same (contract R4), so nobody looks whether an answer was taken.
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
        let mut waiting: Vec<Waiting> = Vec::with_capacity(BATCH);
        while queue.recv_many(&mut jobs, BATCH).await > 0 {
            for job in jobs.drain(..) {
                match job {
                    Job::Observe(write, answer) => waiting.push((write, answer)),
                    Job::Save(save, answer) => {
                        // In the order in which they came.
                        self.observe(&mut waiting).await;
                        let _ = answer.send(self.save(&save).await);
                    }
                    Job::Close => queue.close(),
                }
            }
            self.observe(&mut waiting).await;
        }
        if let Err(error) = self.conn.close().await {
            tracing::warn!(path = %self.path.display(), %error, "closing the database failed");
        }
    }

    /// Records what waits, and answers each when its own observation is committed.
    async fn observe(&mut self, waiting: &mut Vec<Waiting>) {
        match self.land_quietly(waiting).await {
            Err(error) if error.is_outage() => return fail(waiting, &error),
            // At worst nothing has landed: the transaction finds out whose fault it is.
            Ok(()) | Err(_) => {}
        }
        if waiting.is_empty() {
            return;
        }
        let writes: Vec<&Write> = waiting.iter().map(|(write, _)| &**write).collect();
        match self.transaction(&writes).await {
            Ok(results) => {
                for ((_, answer), result) in waiting.drain(..).zip(results) {
                    let _ = answer.send(Ok(result));
                }
            }
            Err(error) if error.is_outage() || waiting.len() == 1 => fail(waiting, &error),
            // One of them is at fault: each on its own, so that it fails alone.
            Err(_) => {
                for (write, answer) in waiting.drain(..) {
                    let result = self.transaction(&[&write]).await;
                    let only = result.and_then(|mut all| all.pop().ok_or(StoreError::Closed));
                    let _ = answer.send(only);
                }
            }
        }
    }

    /// Lands what changes no status, as most observations do, by one statement without a
    /// transaction around it; a third of the trips to the connection's thread. What is left
    /// in `waiting` did not land.
    async fn land_quietly(&mut self, waiting: &mut Vec<Waiting>) -> Result<(), StoreError> {
        let writes: Vec<&Write> = waiting.iter().map(|(write, _)| &**write).collect();
        let landed = batch::land_quietly(&mut self.conn, &writes).await;
        let landed = landed.map_err(|failure| self.error(failure))?;
        let mut rest = Vec::new();
        for ((write, answer), landed) in waiting.drain(..).zip(landed) {
            match landed {
                Some(recorded) => drop(answer.send(Ok(recorded))),
                None => rest.push((write, answer)),
            }
        }
        waiting.append(&mut rest);
        Ok(())
    }

    /// All of `writes` in one transaction, or none. The results are in their order.
    async fn transaction(&mut self, writes: &[&Write]) -> Result<Vec<Recorded>, StoreError> {
        let result = match sqlx::query(dialect::BEGIN).execute(&mut self.conn).await {
            Ok(_) => batch::record(&mut self.conn, writes).await,
            Err(error) => Err(error.into()),
        };
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
        let failure = match result {
            Ok(value) => match sqlx::query(dialect::COMMIT).execute(&mut self.conn).await {
                Ok(_) => return Ok(value),
                Err(error) => Failure::Sql(error),
            },
            Err(failure) => failure,
        };
        // Fails when there is nothing to undo: the begin failed, or the database undid it.
        let _ = sqlx::query(dialect::ROLLBACK).execute(&mut self.conn).await;
        Err(self.error(failure))
    }

    fn error(&self, failure: Failure) -> StoreError {
        match failure {
            Failure::Sql(error) => StoreError::from_sqlx(&self.path, &error),
            Failure::Store(error) => error,
        }
    }
}

fn fail(waiting: &mut Vec<Waiting>, error: &StoreError) {
    for (_, answer) in waiting.drain(..) {
        let _ = answer.send(Err(error.clone()));
    }
}
