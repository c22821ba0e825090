//! What notifications need of others: a store with an outbox, and a way to the sinks.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use probehost_model::notify::{Notification, Sink};
use probehost_model::{ChangeEvent, Target, Timestamp};
use probehost_store::{Due, NotifyPlan, NotifyState, Settled, Store, StoreError};
use tokio::sync::watch;

type Answer<T> = Result<T, StoreError>;

/// The events and the outbox; see the functions of the same purpose of [`Store`].
pub trait Outbox: Send + Sync + 'static {
    /// Changes when there may be new events.
    fn news(&self) -> watch::Receiver<()>;
    /// Whether other hosts have the same outbox.
    fn is_shared(&self) -> bool;
    /// The id of the newest event.
    fn newest(&self) -> impl Future<Output = Answer<i64>> + Send;
    /// The events after that one.
    fn after(&self, id: i64, limit: u32) -> impl Future<Output = Answer<Vec<ChangeEvent>>> + Send;
    /// One target; none when it is deleted.
    fn target(&self, id: &str) -> impl Future<Output = Answer<Option<Target>>> + Send;
    /// Up to where it is planned, and what stands.
    fn state(&self) -> impl Future<Output = Answer<NotifyState>> + Send;
    /// Commits a plan; false: another host was faster.
    fn plan(&self, plan: NotifyPlan) -> impl Future<Output = Answer<bool>> + Send;
    /// What a sink has to do.
    fn due(&self, sink: &str, now: Timestamp) -> impl Future<Output = Answer<Due>> + Send;
    /// Takes a delivery; false: it is not to be had.
    fn claim(
        &self,
        id: i64,
        host: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> impl Future<Output = Answer<bool>> + Send;
    /// Writes down what came of it.
    fn settle(
        &self,
        id: i64,
        settled: Settled,
        now: Timestamp,
    ) -> impl Future<Output = Answer<bool>> + Send;
    /// Lets the pending ones of a sink be tried at once.
    fn hasten(&self, sink: &str, now: Timestamp) -> impl Future<Output = Answer<bool>> + Send;
    /// Gives up the claims of a host that is gone.
    fn release(&self) -> impl Future<Output = Answer<bool>> + Send;
    /// Gives up what was planned before for none of these sinks.
    fn abandon(
        &self,
        sinks: Vec<String>,
        before: Timestamp,
        now: Timestamp,
    ) -> impl Future<Output = Answer<bool>> + Send;
    /// Drops what was finished before.
    fn trim(&self, before: Timestamp) -> impl Future<Output = Answer<bool>> + Send;
}

impl Outbox for Store {
    fn news(&self) -> watch::Receiver<()> {
        Self::news(self)
    }

    fn is_shared(&self) -> bool {
        Self::is_shared(self)
    }

    async fn newest(&self) -> Answer<i64> {
        Ok(self.event_bounds().await?.last)
    }

    async fn after(&self, id: i64, limit: u32) -> Answer<Vec<ChangeEvent>> {
        self.events_after(id, limit).await
    }

    async fn target(&self, id: &str) -> Answer<Option<Target>> {
        Ok(Self::target(self, id).await?.map(|stored| stored.target))
    }

    async fn state(&self) -> Answer<NotifyState> {
        self.notify_state().await
    }

    async fn plan(&self, plan: NotifyPlan) -> Answer<bool> {
        self.plan_notifications(plan).await
    }

    async fn due(&self, sink: &str, now: Timestamp) -> Answer<Due> {
        self.due_delivery(sink, now).await
    }

    async fn claim(&self, id: i64, host: &str, now: Timestamp, until: Timestamp) -> Answer<bool> {
        self.claim_delivery(id, host, now, until).await
    }

    async fn settle(&self, id: i64, settled: Settled, now: Timestamp) -> Answer<bool> {
        self.settle_delivery(id, settled, now).await
    }

    async fn hasten(&self, sink: &str, now: Timestamp) -> Answer<bool> {
        self.hasten_deliveries(sink, now).await
    }

    async fn release(&self) -> Answer<bool> {
        self.release_deliveries().await
    }

    async fn abandon(&self, sinks: Vec<String>, before: Timestamp, now: Timestamp) -> Answer<bool> {
        self.abandon_deliveries(sinks, before, now).await
    }

    async fn trim(&self, before: Timestamp) -> Answer<bool> {
        self.trim_deliveries(before).await
    }
}

/// One message, on its way to a sink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The same for every attempt to deliver it, and for no other message: who has seen it already
    /// can drop it.
    pub id: String,
    /// What it says.
    pub notification: Notification,
    /// When it is sent.
    pub now: Timestamp,
}

/// Why a sink did not take a message. For people; without anything that is secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// It never will.
    #[error("{0}")]
    Refused(String),
    /// It may later.
    #[error("{error}")]
    Later {
        /// What went wrong.
        error: String,
        /// How long the sink wants to be left alone.
        after: Option<Duration>,
    },
}

impl SendError {
    /// Something that may be otherwise next time.
    pub fn later(error: impl Into<String>) -> Self {
        Self::Later { error: error.into(), after: None }
    }
}

/// Brings messages to sinks.
pub trait Wire: Send + Sync + 'static {
    /// Sends one message once, until `limit` has passed.
    fn send(
        &self,
        sink: &Sink,
        message: &Outgoing,
        limit: Duration,
    ) -> impl Future<Output = Result<(), SendError>> + Send;
}

impl<W: Wire> Wire for Arc<W> {
    fn send(
        &self,
        sink: &Sink,
        message: &Outgoing,
        limit: Duration,
    ) -> impl Future<Output = Result<(), SendError>> + Send {
        W::send(self, sink, message, limit)
    }
}
