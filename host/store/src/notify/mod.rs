//! The outbox of notifications (contract E5): what is planned of the events, and what has become
//! of each delivery.
//!
//! An event is written in the transaction of its transition, so nothing that happened is missing
//! from the events. A plan moves the cursor over them, and commits with it what is to be delivered
//! and which problems stand. It lands only over the plan that it was made from, so of two hosts
//! that plan the same events one does, and a crash anywhere plans nothing twice and misses nothing.

mod deliveries;
mod plan;
mod read;

use probehost_model::Timestamp;
use tokio::sync::oneshot;

use crate::conn::Conn;
use crate::failure::Failure;
use crate::writer::Job;
use crate::{Store, StoreError};

pub use deliveries::Settled;
pub use plan::{NewDelivery, NotifyPlan, NotifyState, ProblemKey, ProblemRow};
pub use read::{Delivery, DeliveryFilter, Due, SinkCounts};

/// One write to the outbox.
#[derive(Debug)]
pub(crate) enum NotifyWrite {
    Plan(NotifyPlan),
    /// A host takes a delivery for itself, until a time.
    Claim {
        id: i64,
        host: String,
        now: Timestamp,
        until: Timestamp,
    },
    /// What came of an attempt.
    Settle {
        id: i64,
        settled: Settled,
        now: Timestamp,
    },
    /// The sink answers again: what waits for its next attempt need not.
    Hasten {
        sink: String,
        now: Timestamp,
    },
    /// Nobody delivers anything: claims are left over from a host that is gone.
    Release,
    /// A dead one is to be delivered after all.
    Replay {
        id: i64,
        now: Timestamp,
    },
    /// Give up what nobody delivers: pending since before that time, for none of these sinks.
    Abandon {
        sinks: Vec<String>,
        before: Timestamp,
        now: Timestamp,
    },
    /// Drop what was finished before that time.
    Trim(Timestamp),
}

/// Does all of it but begin and commit. Gives whether it landed.
pub(crate) async fn apply(conn: &mut Conn, write: &NotifyWrite) -> Result<bool, Failure> {
    match write {
        NotifyWrite::Plan(plan) => plan::apply(conn, plan).await,
        NotifyWrite::Claim { id, host, now, until } => {
            deliveries::claim(conn, *id, host, *now, *until).await
        }
        NotifyWrite::Settle { id, settled, now } => {
            deliveries::settle(conn, *id, settled, *now).await
        }
        NotifyWrite::Hasten { sink, now } => deliveries::hasten(conn, sink, *now).await,
        NotifyWrite::Release => deliveries::release(conn).await,
        NotifyWrite::Replay { id, now } => deliveries::replay(conn, *id, *now).await,
        NotifyWrite::Abandon { sinks, before, now } => {
            deliveries::abandon(conn, sinks, *before, *now).await
        }
        NotifyWrite::Trim(before) => deliveries::trim(conn, *before).await,
    }
}

impl Store {
    /// Commits a plan. Gives whether it landed: not when another host planned since the state was
    /// read that it was made from.
    ///
    /// # Errors
    /// The database can't be written; nothing was planned.
    pub fn plan_notifications(
        &self,
        plan: NotifyPlan,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send + 'static {
        self.notify(NotifyWrite::Plan(plan))
    }

    /// Takes a delivery for this host, which then tries it; counts the attempt. Gives whether it
    /// did: not when another host has it, or it is finished.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn claim_delivery(
        &self,
        id: i64,
        host: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send + 'static {
        self.notify(NotifyWrite::Claim { id, host: host.to_owned(), now, until })
    }

    /// Writes down what came of an attempt. Gives whether it was still pending.
    ///
    /// # Errors
    /// The database can't be written: the delivery will be tried again when its claim has run out.
    pub fn settle_delivery(
        &self,
        id: i64,
        settled: Settled,
        now: Timestamp,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send + 'static {
        self.notify(NotifyWrite::Settle { id, settled, now })
    }

    /// Lets the pending deliveries of a sink be tried at once.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn hasten_deliveries(
        &self,
        sink: &str,
        now: Timestamp,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send + 'static {
        self.notify(NotifyWrite::Hasten { sink: sink.to_owned(), now })
    }

    /// Gives up all claims. For the start of a host that shares its database with none.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn release_deliveries(
        &self,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send + 'static {
        self.notify(NotifyWrite::Release)
    }

    /// Has a dead delivery tried again, as if it were new. Gives whether there was such a one.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn replay_delivery(
        &self,
        id: i64,
        now: Timestamp,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send + 'static {
        self.notify(NotifyWrite::Replay { id, now })
    }

    /// Makes dead what was planned before that time for a sink that is none of these, and is pending
    /// still: nobody delivers it.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn abandon_deliveries(
        &self,
        sinks: Vec<String>,
        before: Timestamp,
        now: Timestamp,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send + 'static {
        self.notify(NotifyWrite::Abandon { sinks, before, now })
    }

    /// Drops deliveries that were finished before that time.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn trim_deliveries(
        &self,
        before: Timestamp,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send + 'static {
        self.notify(NotifyWrite::Trim(before))
    }

    fn notify(
        &self,
        write: NotifyWrite,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send + 'static {
        let (answer, answered) = oneshot::channel();
        self.submit(Job::Notify(Box::new(write), answer), answered)
    }
}
