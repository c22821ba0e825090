//! Changes of targets while the host runs: one save at a time, and what follows from each.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use probehost_config::{Config, FieldError, Grant, KindRules, Submitted};
use probehost_model::{CheckId, Source, Target};
use probehost_monitor::Metrics;
use probehost_store::{SaveReport, Store, StoreError};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::task::JoinError;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use super::healing;
use super::kinds::{Kinds, clamp_text};
use super::listing::check_seen;
use super::parts::{HostHealer, HostMonitor, HostSchedule};
use super::planning::Planned;
use super::saving::subjects;

/// What a save needs of a host.
pub(crate) struct Saver {
    /// The file as it was last taken up. Whoever saves holds it, so that no two saves that
    /// compare before with after are between each other.
    pub(crate) current: Mutex<Config>,
    pub(crate) kinds: Arc<Kinds>,
    pub(crate) store: Store,
    pub(crate) monitor: HostMonitor,
    pub(crate) schedule: Arc<HostSchedule>,
    pub(crate) metrics: Metrics,
    pub(crate) healer: HostHealer,
    /// The saves under way: each is seen through, also when who asked for it has gone.
    pub(crate) tasks: TaskTracker,
}

/// Why a target was not changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangeError {
    /// What was sent can't be a target.
    #[error("{}", summary(.0.len()))]
    Fields(Vec<FieldError>),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The save broke off; whether it stands has to be looked up.
    #[error("the save broke off ({0}); look whether it stands")]
    Broken(String),
}

fn summary(count: usize) -> String {
    let things = if count == 1 { "one thing is".to_owned() } else { format!("{count} things are") };
    format!("{things} wrong with the target; nothing was changed")
}

impl Saver {
    /// What the file grants the plugin of this name besides what configs name.
    pub(crate) async fn allow(&self, kind: &str) -> Vec<Grant> {
        let current = self.current.lock().await;
        current.plugins.by_name.get(kind).map(|plugin| plugin.allow.clone()).unwrap_or_default()
    }

    /// Adds the target that `body` describes. Gives its id.
    pub(crate) async fn create(
        self: &Arc<Self>,
        body: Value,
        by: &str,
    ) -> Result<String, ChangeError> {
        let (saver, by) = (Arc::clone(self), by.to_owned());
        self.see_through(async move {
            let current = saver.current.lock().await;
            let (target, _) = saver.judge(&current, &body).await?;
            let id = target.id.clone();
            let now = saver.monitor.clock().now();
            saver.follow(&saver.store.create_target(target, now, &by).await?).await;
            Ok(id)
        })
        .await
    }

    /// Makes the target what `body` describes.
    pub(crate) async fn replace(
        self: &Arc<Self>,
        id: &str,
        body: Value,
        by: &str,
    ) -> Result<(), ChangeError> {
        let body = with_id(id, body)?;
        let (saver, id, by) = (Arc::clone(self), id.to_owned(), by.to_owned());
        self.see_through(async move {
            let current = saver.current.lock().await;
            // Before anything is said of the body: there may be nothing that it could change.
            saver.own(&id).await?;
            let (target, subjects) = saver.judge(&current, &body).await?;
            let now = saver.monitor.clock().now();
            saver.follow(&saver.store.replace_target(target, subjects, now, &by).await?).await;
            Ok(())
        })
        .await
    }

    /// Has the target probed, or not. Its records stand either way.
    pub(crate) async fn set_enabled(
        self: &Arc<Self>,
        id: &str,
        enabled: bool,
        by: &str,
    ) -> Result<(), ChangeError> {
        let (saver, id, by) = (Arc::clone(self), id.to_owned(), by.to_owned());
        self.see_through(async move {
            let _current = saver.current.lock().await;
            saver.own(&id).await?;
            let now = saver.monitor.clock().now();
            saver.follow(&saver.store.set_enabled(&id, enabled, now, &by).await?).await;
            Ok(())
        })
        .await
    }

    /// Deletes the target and its records (contract R9).
    pub(crate) async fn delete(self: &Arc<Self>, id: &str, by: &str) -> Result<(), ChangeError> {
        let (saver, id, by) = (Arc::clone(self), id.to_owned(), by.to_owned());
        self.see_through(async move {
            let _current = saver.current.lock().await;
            saver.own(&id).await?;
            let now = saver.monitor.clock().now();
            saver.follow(&saver.store.delete_target(&id, now, &by).await?).await;
            Ok(())
        })
        .await
    }

    /// A save and what follows from it, in a task that outlives who asked for it.
    async fn see_through<T: Send + 'static>(
        &self,
        save: impl Future<Output = Result<T, ChangeError>> + Send + 'static,
    ) -> Result<T, ChangeError> {
        let broken = |error: JoinError| Err(ChangeError::Broken(error.to_string()));
        self.tasks.spawn(save).await.unwrap_or_else(broken)
    }

    /// Whether the target is there, and not the file's.
    async fn own(&self, id: &str) -> Result<(), StoreError> {
        match self.store.target(id).await? {
            None => Err(StoreError::NoSuchTarget(id.to_owned())),
            Some(stored) if stored.target.source == Source::File => {
                Err(StoreError::OfTheFile(id.to_owned()))
            }
            Some(_) => Ok(()),
        }
    }

    /// The target that a body describes, with the subject of each check: by the rules of the
    /// file, the schemas of its kinds, and their plans.
    async fn judge(
        &self,
        config: &Config,
        body: &Value,
    ) -> Result<(Target, HashMap<CheckId, String>), ChangeError> {
        let submitted = config.submitted(body, &self.rules()).map_err(ChangeError::Fields)?;
        let wrong = self.planned_wrong(&submitted).await;
        if !wrong.is_empty() {
            return Err(ChangeError::Fields(wrong));
        }
        for clamp in &submitted.clamps {
            warn!(check = %clamp.check, "{}", clamp_text(clamp));
        }
        let target = submitted.target;
        let subjects = subjects(self.monitor.prober(), std::slice::from_ref(&target)).await;
        Ok((target, subjects))
    }

    /// What the plugins' plans find wrong with the configs (contract P2).
    async fn planned_wrong(&self, submitted: &Submitted) -> Vec<FieldError> {
        let mut wrong = Vec::new();
        for check in &submitted.target.checks {
            let planned =
                self.monitor.prober().plan(&check.kind, &check.config.to_string().into()).await;
            if let Some(Planned::Refused { wrong: Some((path, message)), .. }) = planned.as_deref()
            {
                wrong.push(submitted.plan_error(&check.name, path, message));
            }
        }
        wrong
    }

    fn rules(&self) -> BTreeMap<String, KindRules> {
        let installed = self.kinds.catalog().list().into_iter().map(|info| info.name);
        installed.filter_map(|name| Some((name.clone(), self.kinds.rules(&name)?))).collect()
    }

    /// What follows from a save that stands, whatever becomes of this.
    async fn follow(&self, saved: &SaveReport) {
        if let Err(error) = self.take_effect(saved, &[]).await {
            warn!(%error, "the checks that were saved are probed when they are due");
        }
        for (ids, what) in
            [(&saved.created, "created"), (&saved.changed, "changed"), (&saved.deleted, "deleted")]
        {
            for target in ids {
                info!(target, "target {what} over the API");
            }
        }
    }

    /// Has schedule and healer see what a save changed, and probes off-cycle what nothing is known
    /// of: checks that are new or were reset (contract T7), and those of the kinds in `loaded`,
    /// whose plugin has come only now. Gives how many.
    pub(crate) async fn take_effect(
        &self,
        saved: &SaveReport,
        loaded: &[String],
    ) -> Result<usize, StoreError> {
        self.metrics.records_reset(saved.reset.len());
        for check in &saved.reset {
            self.monitor.windows().forget(check);
        }
        let probed = self.tell(saved, loaded).await;
        self.schedule.changed();
        probed
    }

    async fn tell(&self, saved: &SaveReport, loaded: &[String]) -> Result<usize, StoreError> {
        let targets = self.store.targets().await?;
        // Before any probe: a result that came first would count as one from before the save.
        let taken_up = healing::take_up(&self.healer, targets.clone()).await;
        let off_cycle: HashSet<&CheckId> = saved.off_cycle().collect();
        let mut probed = 0;
        for stored in targets.iter().filter(|stored| stored.target.enabled) {
            for check in &stored.target.checks {
                let record = stored.records.get(&check.name);
                let last_attempt_at = record.and_then(|record| record.last_attempt_at);
                let waited = last_attempt_at.is_none() && loaded.contains(&check.kind);
                if waited || off_cycle.contains(&stored.target.check_id(check)) {
                    let seen = check_seen(&stored.target, check, last_attempt_at);
                    self.monitor.probe_saved(Arc::new(seen));
                    probed += 1;
                }
            }
        }
        taken_up?;
        Ok(probed)
    }
}

/// The body with the id of the path that it was sent to.
fn with_id(id: &str, mut body: Value) -> Result<Value, ChangeError> {
    if let Some(body) = body.as_object_mut() {
        let given = body.insert("id".to_owned(), json!(id));
        if given.is_some_and(|given| !given.is_null() && given != id) {
            return Err(ChangeError::Fields(vec![FieldError {
                pointer: "/id".to_owned(),
                message: format!("the path is that of {id:?}"),
                help: "leave the id out, or send to the other's path; an id never changes".into(),
            }]));
        }
    }
    Ok(body)
}
