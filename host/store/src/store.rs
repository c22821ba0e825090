//! The handle that the rest of the host holds.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use probehost_model::{CheckId, Target, Timestamp};
use sqlx::SqlSafeStr;
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use crate::conn::{Readers, Row, Value};
use crate::dialect::Dialect;
use crate::link::Link;
use crate::save::{Change, Save};
use crate::writer::{Job, RollupWork, Writer};
use crate::{
    AuditLog, LifecycleWrite, Location, Options, Recorded, RollupHour, SaveReport, StoreError,
    Write, chain, open,
};

/// The store. Cheap to clone; every clone is the same store.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    location: Location,
    jobs: mpsc::Sender<Job>,
    readers: Readers,
    /// After each commit of this host that may have brought events.
    news: watch::Receiver<()>,
    /// None once the writer was awaited.
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Store {
    /// Opens the database, creates or brings up its schema, looks whether the file is whole,
    /// and starts the writer on the current tokio runtime.
    ///
    /// # Errors
    /// The file can't be opened or written, is damaged, locked, or of a newer version; the
    /// server can't be reached or refuses the host. Each error says what to do.
    pub async fn open(options: Options) -> Result<Self, StoreError> {
        let mut conn = open::writer(&options).await?;
        let adopted = chain::adopt(&mut conn).await;
        adopted.map_err(|failure| failure.into_error(&options.location))?;
        let (jobs, queue) = mpsc::channel(options.queue.max(1));
        let (readers, location) = (open::readers(&options), options.location.clone());
        let (told, news) = watch::channel(());
        let writer = tokio::spawn(Writer::new(Link::new(conn, options), told).run(queue));
        let writer = Mutex::new(Some(writer));
        Ok(Self { inner: Arc::new(Inner { location, jobs, readers, news, writer }) })
    }

    /// Records one observation: decided by one statement, and committed together with its
    /// transition and audit rows before this answers.
    ///
    /// The observation is in the writer's queue when this function returns, before its future
    /// is polled: a caller that drops the future can't lose the write (contract R4). Only
    /// when the queue is full does the future have to be awaited for a place in it.
    ///
    /// # Errors
    /// The database can't be written, or the store is closed; nothing was recorded.
    pub fn record(
        &self,
        write: Write,
    ) -> impl Future<Output = Result<Recorded, StoreError>> + Send + 'static {
        let (answer, answered) = oneshot::channel();
        self.submit(Job::Observe(Box::new(write), answer), answered)
    }

    /// Makes the file's targets the stored ones, in one transaction: what is new is added,
    /// what differs is changed, what is gone is deleted (softly, with its records). A check
    /// whose kind or config changed has its record reset to `unknown`, with the subject that
    /// `subjects` gives for it, unless its target is disabled (contract T7). `updated_at`
    /// moves exactly when something changed.
    ///
    /// # Errors
    /// Ids that are there twice, or a database that can't be written; nothing was changed.
    pub fn sync_file_targets(
        &self,
        targets: Vec<Target>,
        subjects: HashMap<CheckId, String>,
        now: Timestamp,
        principal: &str,
    ) -> impl Future<Output = Result<SaveReport, StoreError>> + Send + 'static {
        self.save(Change::Sync { targets, subjects }, now, principal)
    }

    /// Adds a target that is not the file's. Its checks have no records yet.
    ///
    /// # Errors
    /// Its id is or was another target's, two of its checks have one name, or the database
    /// can't be written; nothing was changed.
    pub fn create_target(
        &self,
        target: Target,
        now: Timestamp,
        principal: &str,
    ) -> impl Future<Output = Result<SaveReport, StoreError>> + Send + 'static {
        self.save(Change::Create { target }, now, principal)
    }

    /// Makes a target what is given, in one transaction, compared with what is stored: as
    /// [`Store::sync_file_targets`] does for one of the file's.
    ///
    /// # Errors
    /// No such target, or a database that can't be written; nothing was changed.
    pub fn replace_target(
        &self,
        target: Target,
        subjects: HashMap<CheckId, String>,
        now: Timestamp,
        principal: &str,
    ) -> impl Future<Output = Result<SaveReport, StoreError>> + Send + 'static {
        self.save(Change::Replace { target, subjects }, now, principal)
    }

    /// Enables or disables a target. Its records stand either way. A later sync sets what the
    /// file says.
    ///
    /// # Errors
    /// No such target, or a database that can't be written.
    pub fn set_enabled(
        &self,
        target: &str,
        enabled: bool,
        now: Timestamp,
        principal: &str,
    ) -> impl Future<Output = Result<SaveReport, StoreError>> + Send + 'static {
        self.save(Change::SetEnabled { target: target.to_owned(), enabled }, now, principal)
    }

    /// Deletes a target (softly) and its records, in one transaction (contract R9). A later
    /// sync brings it back when the file still names it.
    ///
    /// # Errors
    /// No such target, or a database that can't be written.
    pub fn delete_target(
        &self,
        target: &str,
        now: Timestamp,
        principal: &str,
    ) -> impl Future<Output = Result<SaveReport, StoreError>> + Send + 'static {
        self.save(Change::Delete { target: target.to_owned() }, now, principal)
    }

    /// Saves a lifecycle record with its history, in one transaction. Gives whether it landed:
    /// not when the stored record is not the revision before (another host was faster), or the
    /// target is deleted or not managed any more.
    ///
    /// # Errors
    /// The database can't be written; nothing was saved.
    pub fn save_lifecycle(
        &self,
        write: LifecycleWrite,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send + 'static {
        let (answer, answered) = oneshot::channel();
        self.submit(Job::Lifecycle(Box::new(write), answer), answered)
    }

    /// Drops events from before that time; the newest stays.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn trim_events(
        &self,
        before: Timestamp,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + 'static {
        let (answer, answered) = oneshot::channel();
        self.submit(Job::Trim(before, answer), answered)
    }

    /// One short step of retention: drops audit rows and transitions from before that time, the
    /// oldest first and some hundreds at most. The chain of the audit stays one that can be
    /// verified (contract A3). Gives whether there may be more.
    ///
    /// # Errors
    /// The database can't be written; or the oldest audit rows are not what was written, and so
    /// stay.
    pub fn trim_history(
        &self,
        before: Timestamp,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send + 'static {
        let (answer, answered) = oneshot::channel();
        self.submit(Job::TrimHistory(before, answer), answered)
    }

    /// Writes what a run of a host has counted: its own row of each hour, whatever stood there.
    /// At most some hundreds at a time. Hours that are merged into days already stay as they are.
    ///
    /// # Errors
    /// The database can't be written; nothing was.
    pub fn put_rollups(
        &self,
        writer: &str,
        hours: Vec<RollupHour>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + 'static {
        let done = self.rollup_work(RollupWork::Put(writer.to_owned(), hours));
        async move { done.await.map(drop) }
    }

    /// One short step of merging hours that are finished into days. Gives whether there may be
    /// more to do.
    ///
    /// # Errors
    /// The database can't be written; nothing was.
    pub fn compact_rollups(
        &self,
        now: Timestamp,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send + 'static {
        self.rollup_work(RollupWork::Compact(now))
    }

    /// One short step of dropping rollups of periods that began before that time. Gives whether
    /// there may be more.
    ///
    /// # Errors
    /// The database can't be written; nothing was dropped.
    pub fn trim_rollups(
        &self,
        before: Timestamp,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send + 'static {
        self.rollup_work(RollupWork::Trim(before))
    }

    fn rollup_work(
        &self,
        work: RollupWork,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send + 'static {
        let (answer, answered) = oneshot::channel();
        self.submit(Job::Rollups(work, answer), answered)
    }

    /// The audit, to be read as a chain.
    #[must_use]
    pub fn audit_log(&self) -> AuditLog {
        AuditLog::of(self.inner.location.clone(), self.inner.readers.clone())
    }

    /// Changes whenever this host has committed something that events may tell of. Other hosts
    /// of the same database are not heard.
    #[must_use]
    pub fn news(&self) -> watch::Receiver<()> {
        self.inner.news.clone()
    }

    /// Whether other hosts may write to the same database.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.inner.location.path().is_none()
    }

    /// The language of its database.
    pub(crate) fn dialect(&self) -> Dialect {
        if self.is_shared() { Dialect::Postgres } else { Dialect::Sqlite }
    }

    fn save(
        &self,
        change: Change,
        now: Timestamp,
        principal: &str,
    ) -> impl Future<Output = Result<SaveReport, StoreError>> + Send + 'static {
        let save = Save { change, now, principal: principal.to_owned() };
        let (answer, answered) = oneshot::channel();
        self.submit(Job::Save(Box::new(save), answer), answered)
    }

    /// Puts a job into the queue that answers one question.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        job: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Job,
    ) -> impl Future<Output = Result<T, StoreError>> + Send + 'static {
        let (answer, answered) = oneshot::channel();
        self.submit(job(answer), answered)
    }

    /// Puts a job into the queue now if there is room, else when the future is awaited.
    pub(crate) fn submit<T: Send + 'static>(
        &self,
        job: Job,
        answered: oneshot::Receiver<Result<T, StoreError>>,
    ) -> impl Future<Output = Result<T, StoreError>> + Send + 'static {
        let waiting = match self.inner.jobs.try_send(job) {
            // A closed queue drops the job and with it the sender of the answer.
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => None,
            Err(mpsc::error::TrySendError::Full(job)) => Some((self.inner.jobs.clone(), job)),
        };
        async move {
            if let Some((jobs, job)) = waiting {
                // A failed send is a closed queue again.
                let _ = jobs.send(job).await;
            }
            answered.await.unwrap_or(Err(StoreError::Closed))
        }
    }

    /// Writes what is queued, then ends the writer and the connections. Returns when all of
    /// them have ended; a second call waits for the same. What is asked afterwards answers
    /// [`StoreError::Closed`].
    pub async fn close(&self) {
        let mut writer = self.inner.writer.lock().await;
        if let Some(task) = writer.as_mut() {
            // A writer that has ended already can't be told to.
            let _ = self.inner.jobs.send(Job::Close).await;
            if let Err(error) = task.await {
                tracing::error!(%error, "the writer of the store ended by itself");
            }
            *writer = None;
        }
        self.inner.readers.close().await;
    }

    /// Asks for rows on a connection that only reads.
    pub(crate) async fn read(
        &self,
        text: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let found = self.inner.readers.fetch_all(text, values).await;
        found.map_err(|error| StoreError::from_sqlx(&self.inner.location, &error))
    }
}
