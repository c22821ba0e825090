//! The one task that writes: takes what has queued up, commits it together, and only then
//! answers each caller.

use probehost_model::Timestamp;
use tokio::sync::{mpsc, oneshot, watch};

use crate::batch;
use crate::conn::Conn;
use crate::failure::Failure;
use crate::link::Link;
use crate::notify::NotifyWrite;
use crate::observe::{Recorded, Write};
use crate::save::{self, Save, SaveReport};
use crate::tokens::{self, TokenWrite};
use crate::{
    LifecycleWrite, RollupHour, StoreError, chain, compaction, dialect, events, lifecycle, notify,
    rollups, set_back,
};

/// The most observations that one transaction holds.
const BATCH: usize = 256;

/// What the writer can be asked for.
#[derive(Debug)]
pub(crate) enum Job {
    Observe(Box<Write>, oneshot::Sender<Result<Recorded, StoreError>>),
    Save(Box<Save>, oneshot::Sender<Result<SaveReport, StoreError>>),
    Lifecycle(Box<LifecycleWrite>, oneshot::Sender<Result<bool, StoreError>>),
    Notify(Box<NotifyWrite>, oneshot::Sender<Result<bool, StoreError>>),
    Token(Box<TokenWrite>, oneshot::Sender<Result<(), StoreError>>),
    /// Drop events from before that time.
    Trim(Timestamp, oneshot::Sender<Result<(), StoreError>>),
    /// Drop history from before that time, one step; whether there may be more.
    TrimHistory(Timestamp, oneshot::Sender<Result<bool, StoreError>>),
    /// Make what is from later than the horizon from now.
    BringBack {
        horizon: Timestamp,
        now: Timestamp,
        answer: oneshot::Sender<Result<(), StoreError>>,
    },
    /// Hours of checks, or what becomes of them; whether there may be more.
    Rollups(RollupWork, oneshot::Sender<Result<bool, StoreError>>),
    /// Take nothing more; end when the queue is empty.
    Close,
}

/// An observation and who waits for its answer. Whoever it was may have gone: the write
/// stands all the same (contract R4), so nobody looks whether an answer was taken.
type Waiting = (Box<Write>, oneshot::Sender<Result<Recorded, StoreError>>);

/// What a transaction does between its begin and its end. It may be tried again.
trait Work: Sync {
    type Done: Send;
    /// Whether it may bring events.
    const NEWS: bool = true;

    fn run(&self, conn: &mut Conn) -> impl Future<Output = Result<Self::Done, Failure>> + Send;
}

/// Observations that are recorded together; the results are in their order.
struct Batch<'a>(&'a [&'a Write]);

impl Work for Batch<'_> {
    type Done = Vec<Recorded>;

    async fn run(&self, conn: &mut Conn) -> Result<Self::Done, Failure> {
        batch::record(conn, self.0).await
    }
}

impl Work for Save {
    type Done = SaveReport;

    async fn run(&self, conn: &mut Conn) -> Result<Self::Done, Failure> {
        save::apply(conn, self).await
    }
}

impl Work for LifecycleWrite {
    type Done = bool;

    async fn run(&self, conn: &mut Conn) -> Result<Self::Done, Failure> {
        lifecycle::apply(conn, self).await
    }
}

impl Work for NotifyWrite {
    type Done = bool;
    const NEWS: bool = false;

    async fn run(&self, conn: &mut Conn) -> Result<Self::Done, Failure> {
        notify::apply(conn, self).await
    }
}

impl Work for TokenWrite {
    type Done = ();

    async fn run(&self, conn: &mut Conn) -> Result<Self::Done, Failure> {
        tokens::apply(conn, self).await
    }
}

struct BringBack(Timestamp, Timestamp);

impl Work for BringBack {
    type Done = ();

    async fn run(&self, conn: &mut Conn) -> Result<Self::Done, Failure> {
        set_back::bring_back(conn, self.0, self.1).await
    }
}

struct Trim(Timestamp);

impl Work for Trim {
    type Done = ();

    async fn run(&self, conn: &mut Conn) -> Result<Self::Done, Failure> {
        events::trim(conn, self.0).await
    }
}

struct TrimHistory(Timestamp);

impl Work for TrimHistory {
    type Done = bool;

    async fn run(&self, conn: &mut Conn) -> Result<Self::Done, Failure> {
        chain::cut(conn, self.0).await
    }
}

/// What there is to do with rollups, in one short transaction each.
#[derive(Debug)]
pub(crate) enum RollupWork {
    /// A writer's own hours.
    Put(String, Vec<RollupHour>),
    /// A step of merging what is finished at that time.
    Compact(Timestamp),
    /// A step of removing what began before that time.
    Trim(Timestamp),
}

impl Work for RollupWork {
    type Done = bool;

    async fn run(&self, conn: &mut Conn) -> Result<Self::Done, Failure> {
        match self {
            Self::Put(writer, hours) => {
                rollups::put(conn, writer, hours).await?;
                Ok(false)
            }
            Self::Compact(now) => compaction::compact(conn, *now).await,
            Self::Trim(before) => compaction::trim(conn, *before).await,
        }
    }
}

/// How often a transaction is tried that another host's got in the way of.
const TRIES: usize = 3;

pub(crate) struct Writer {
    link: Link,
    /// Told after each commit that may have brought events.
    news: watch::Sender<()>,
}

impl Writer {
    pub(crate) const fn new(link: Link, news: watch::Sender<()>) -> Self {
        Self { link, news }
    }

    /// Writes until it is told to close or every handle is gone, and the queue is empty.
    pub(crate) async fn run(mut self, mut queue: mpsc::Receiver<Job>) {
        let mut jobs = Vec::with_capacity(BATCH);
        let mut waiting: Vec<Waiting> = Vec::with_capacity(BATCH);
        while self.receive(&mut queue, &mut jobs).await {
            for job in jobs.drain(..) {
                match job {
                    Job::Observe(write, answer) => waiting.push((write, answer)),
                    Job::Save(save, answer) => {
                        // In the order in which they came.
                        self.observe(&mut waiting).await;
                        let _ = answer.send(self.transaction(&*save).await);
                    }
                    Job::Lifecycle(write, answer) => {
                        self.observe(&mut waiting).await;
                        let _ = answer.send(self.transaction(&*write).await);
                    }
                    Job::Notify(write, answer) => {
                        let _ = answer.send(self.transaction(&*write).await);
                    }
                    Job::Token(write, answer) => {
                        let _ = answer.send(self.transaction(&*write).await);
                    }
                    Job::BringBack { horizon, now, answer } => {
                        let _ = answer.send(self.transaction(&BringBack(horizon, now)).await);
                    }
                    Job::Trim(before, answer) => {
                        let _ = answer.send(self.transaction(&Trim(before)).await);
                    }
                    Job::TrimHistory(before, answer) => {
                        let _ = answer.send(self.transaction(&TrimHistory(before)).await);
                    }
                    Job::Rollups(work, answer) => {
                        let _ = answer.send(self.transaction(&work).await);
                    }
                    Job::Close => queue.close(),
                }
            }
            self.observe(&mut waiting).await;
        }
        self.link.close().await;
    }

    /// Takes what has queued up, or waits for it; and sees meanwhile to a connection that was
    /// lost. False at the end of the queue.
    async fn receive(&mut self, queue: &mut mpsc::Receiver<Job>, jobs: &mut Vec<Job>) -> bool {
        while let Some(next) = self.link.next_attempt() {
            match tokio::time::timeout_at(next, queue.recv_many(jobs, BATCH)).await {
                Ok(received) => return received > 0,
                Err(_) => self.link.reconnect().await,
            }
        }
        queue.recv_many(jobs, BATCH).await > 0
    }

    /// Records what waits, and answers each when its own observation is committed.
    async fn observe(&mut self, waiting: &mut Vec<Waiting>) {
        if waiting.is_empty() {
            return;
        }
        match self.land_quietly(waiting).await {
            Err(error) if error.is_outage() => return fail(waiting, &error),
            // At worst nothing has landed: the transaction finds out whose fault it is.
            Ok(()) | Err(_) => {}
        }
        if waiting.is_empty() {
            return;
        }
        let writes: Vec<&Write> = waiting.iter().map(|(write, _)| &**write).collect();
        match self.transaction(&Batch(&writes)).await {
            Ok(results) => {
                for ((_, answer), result) in waiting.drain(..).zip(results) {
                    let _ = answer.send(Ok(result));
                }
            }
            Err(error) if error.is_outage() || waiting.len() == 1 => fail(waiting, &error),
            // One of them is at fault: each on its own, so that it fails alone.
            Err(_) => {
                for (write, answer) in waiting.drain(..) {
                    let result = self.transaction(&Batch(&[&write])).await;
                    let only = result.and_then(|mut all| all.pop().ok_or(StoreError::Closed));
                    let _ = answer.send(only);
                }
            }
        }
    }

    /// Lands what changes no status and no reason, as most observations do, by one statement without a
    /// transaction around it; a third of the trips to the connection's thread. What is left
    /// in `waiting` did not land.
    async fn land_quietly(&mut self, waiting: &mut Vec<Waiting>) -> Result<(), StoreError> {
        let writes: Vec<&Write> = waiting.iter().map(|(write, _)| &**write).collect();
        let landed = batch::land_quietly(self.link.get().await?, &writes).await;
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

    /// All that `work` does in one transaction, or nothing of it.
    async fn transaction<W: Work>(&mut self, work: &W) -> Result<W::Done, StoreError> {
        let mut tries = 1;
        loop {
            let conn = self.link.get().await?;
            let result = match begin(conn).await {
                Ok(()) => work.run(conn).await,
                Err(error) => Err(error),
            };
            match finish(conn, result).await {
                Ok(value) => {
                    if W::NEWS {
                        self.news.send_replace(());
                    }
                    return Ok(value);
                }
                // The database has undone it, and nothing is known of it any more.
                Err(failure) if tries < TRIES && failure.is_collision() => tries += 1,
                Err(failure) => return Err(self.error(failure)),
            }
        }
    }

    fn error(&mut self, failure: Failure) -> StoreError {
        let error = failure.into_error(&self.link.options().location);
        self.link.note(&error);
        error
    }
}

async fn begin(conn: &mut Conn) -> Result<(), Failure> {
    conn.execute(conn.dialect().begin(), &[]).await?;
    Ok(())
}

/// Commits, or undoes what was begun.
async fn finish<T>(conn: &mut Conn, result: Result<T, Failure>) -> Result<T, Failure> {
    let failure = match result {
        Ok(value) => match conn.execute(dialect::COMMIT, &[]).await {
            Ok(()) => return Ok(value),
            Err(error) => Failure::Sql(error),
        },
        Err(failure) => failure,
    };
    // Fails when there is nothing to undo: the begin failed, the database undid it, or it is
    // not there any more. After a connection that said nothing in time, nothing is asked.
    if !failure.is_lost() {
        let _ = conn.execute(dialect::ROLLBACK, &[]).await;
    }
    Err(failure)
}

fn fail(waiting: &mut Vec<Waiting>, error: &StoreError) {
    for (_, answer) in waiting.drain(..) {
        let _ = answer.send(Err(error.clone()));
    }
}
