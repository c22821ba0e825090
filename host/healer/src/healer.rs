//! All managed targets: whose task runs, and how they are reached.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use probehost_model::lifecycle::{LifecycleRecord, PoolSnapshot};
use probehost_monitor::Clock;
use probehost_monitor::ports::{CheckSeen, Follower, Landed};
use probehost_store::{StoreError, StoredTarget};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::actor::{Actor, Configuration, Message, Shared};
use crate::error::AskError;
use crate::instance::{Ask, Board, Instance};
use crate::ports::{Probing, Records, Restarter};

/// How the healer works.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Where the time of day comes from.
    pub clock: Clock,
    /// Spreads the waits: random numbers from 0 to 1.
    pub chance: fn() -> f64,
}

impl Settings {
    /// With random waits.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self { clock, chance: fastrand::f64 }
    }
}

/// Owns the task of every managed target. Cheap to clone.
pub struct Healer<S, R, P>(Arc<Inner<S, R, P>>);

struct Inner<S, R, P> {
    shared: Arc<Shared<S, R, P>>,
    mailboxes: Mutex<HashMap<String, Mailbox>>,
    /// Held while targets are compared: one after the other.
    syncing: tokio::sync::Mutex<()>,
    /// Cancelled with the mailboxes locked, and nothing is added to them after.
    stopping: CancellationToken,
}

struct Mailbox {
    sender: mpsc::UnboundedSender<Message>,
    gone: CancellationToken,
    configuration: Configuration,
}

impl<S, R, P> Clone for Healer<S, R, P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: Records, R: Restarter, P: Probing> Healer<S, R, P> {
    /// A healer without any target; [`Healer::sync`] gives it some.
    #[must_use]
    pub fn new(records: S, restarter: R, probing: P, settings: Settings) -> Self {
        let Settings { clock, chance } = settings;
        let board = Board::default();
        let tasks = TaskTracker::new();
        let shared = Arc::new(Shared { records, restarter, probing, clock, chance, board, tasks });
        Self(Arc::new(Inner {
            shared,
            mailboxes: Mutex::default(),
            syncing: tokio::sync::Mutex::default(),
            stopping: CancellationToken::new(),
        }))
    }

    /// Takes up the targets as they are stored now: those that have become managed, are no
    /// more, or were changed. `seen` gives what a probe of a check needs.
    ///
    /// # Errors
    /// The lifecycle records can't be read; nothing has changed.
    pub async fn sync(
        &self,
        targets: Vec<StoredTarget>,
        seen: impl Fn(&StoredTarget) -> Vec<CheckSeen>,
    ) -> Result<(), StoreError> {
        let _one_at_a_time = self.0.syncing.lock().await;
        let mut wanted = HashMap::new();
        for stored in targets {
            let Some(managed) = stored.target.managed.clone() else { continue };
            let checks = seen(&stored).into_iter().map(Arc::new).collect();
            let configuration = Configuration { managed, checks, stored };
            wanted.insert(configuration.stored.target.id.clone(), configuration);
        }
        let is_fresh = |new: &Configuration| {
            let mailboxes = self.lock();
            !mailboxes.get(&new.stored.target.id).is_some_and(|known| known.goes_on_as(new))
        };
        let (fresh, known): (Vec<_>, Vec<_>) = wanted.into_values().partition(is_fresh);
        let mut records: HashMap<String, LifecycleRecord> = if fresh.is_empty() {
            HashMap::new()
        } else {
            self.0.shared.records.all().await?.into_iter().collect()
        };

        let mut mailboxes = self.lock();
        if self.0.stopping.is_cancelled() {
            return Ok(());
        }
        let mut before = std::mem::take(&mut *mailboxes);
        for configuration in known {
            let id = configuration.stored.target.id.clone();
            let Some(mut mailbox) = before.remove(&id) else { continue };
            if !mailbox.is_of(&configuration) {
                mailbox.configuration = configuration.clone();
                // A task that has just ended is started anew the next time.
                let _ = mailbox.sender.send(Message::Configure(Box::new(configuration)));
            }
            mailboxes.insert(id, mailbox);
        }
        for (id, mailbox) in before {
            mailbox.gone.cancel();
            self.0.shared.board.remove(&id);
        }
        for configuration in fresh {
            let id = configuration.stored.target.id.clone();
            let (sender, mailbox) = mpsc::unbounded_channel();
            let record = records.remove(&id);
            let gone = CancellationToken::new();
            let shared = Arc::clone(&self.0.shared);
            let actor = Actor::new(shared, configuration.clone(), record, gone.clone());
            self.0.shared.tasks.spawn(actor.run(mailbox, self.0.stopping.clone()));
            mailboxes.insert(id, Mailbox { sender, gone, configuration });
        }
        Ok(())
    }

    /// Asks for something in the name of `principal`. Returns once that is saved.
    ///
    /// # Errors
    /// [`AskError`]; nothing has changed then.
    pub async fn ask(&self, target: &str, ask: Ask, principal: &str) -> Result<(), AskError> {
        let (answer, answered) = oneshot::channel();
        {
            let mailboxes = self.lock();
            let none = || AskError::NotManaged(target.to_owned());
            let mailbox = mailboxes.get(target).ok_or_else(none)?;
            let message = Message::Ask(ask, principal.to_owned(), answer);
            mailbox.sender.send(message).map_err(|_| AskError::Gone(target.to_owned()))?;
        }
        answered.await.unwrap_or_else(|_| Err(AskError::Gone(target.to_owned())))
    }

    /// A managed target, as it was last saved.
    #[must_use]
    pub fn instance(&self, target: &str) -> Option<Arc<Instance>> {
        self.0.shared.board.get(target)
    }

    /// Every managed target, in ascending order of id.
    #[must_use]
    pub fn instances(&self) -> Vec<Arc<Instance>> {
        self.0.shared.board.all()
    }

    /// Which targets routers may send work, for `ttl` (contract L11). One that is disabled is not
    /// probed, and so it is no member.
    #[must_use]
    pub fn pool(&self, ttl: Duration) -> PoolSnapshot {
        let instances = self.instances();
        let enabled = instances.iter().filter(|instance| instance.enabled);
        let records = enabled.map(|instance| (instance.target.as_str(), &instance.record));
        PoolSnapshot::new(self.0.shared.clock.now(), ttl, records)
    }

    /// Ends every task; waits for restarts that are under way, at most ten seconds. Idempotent.
    pub async fn stop(&self) {
        {
            let _no_more = self.lock();
            self.0.stopping.cancel();
        }
        self.0.shared.tasks.close();
        self.0.shared.tasks.wait().await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Mailbox>> {
        self.0.mailboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mailbox {
    /// Whether its task can go on with this configuration. Another runtime begins anew.
    fn goes_on_as(&self, new: &Configuration) -> bool {
        new.managed.runtime == self.configuration.managed.runtime && !self.sender.is_closed()
    }

    /// Whether the task has been told this already. Records change with every probe, and of
    /// them only a reset matters.
    fn is_of(&self, new: &Configuration) -> bool {
        let old = &self.configuration;
        old.stored.target == new.stored.target && old.managed == new.managed
    }
}

impl<S: Records, R: Restarter, P: Probing> Follower for Healer<S, R, P> {
    fn landed(&self, landed: Landed) {
        let mailboxes = self.lock();
        if let Some(mailbox) = mailboxes.get(&landed.check.id.target) {
            // A task that has ended has no use for it.
            let _ = mailbox.sender.send(Message::Landed(Box::new(landed)));
        }
    }
}
