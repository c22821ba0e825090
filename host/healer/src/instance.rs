//! A managed target, as others see it.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use probehost_model::lifecycle::{Event, LifecycleRecord};
use probehost_model::{Managed, Timestamp};
use tokio_util::sync::CancellationToken;

/// A managed target with its lifecycle, as it was last saved.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// Id of the target.
    pub target: String,
    /// Its name, for people.
    pub name: String,
    /// Whether it is probed, and so healed.
    pub enabled: bool,
    /// How it is restarted, and by which policy.
    pub managed: Managed,
    /// The target's `updated_at`.
    pub updated_at: Timestamp,
    /// Its lifecycle.
    pub record: LifecycleRecord,
}

/// What people and update managers ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// A restart now.
    Restart,
    /// To set it aside; why, in their words.
    Quarantine(String),
    /// To end the quarantine: it is restarted.
    Release,
    /// The update manager takes it (contract L6).
    UpdateBegin,
    /// The update manager gives it back, updated.
    UpdatePromoted,
    /// The update manager gives it back as it was.
    UpdateRolledBack,
}

impl From<Ask> for Event {
    fn from(ask: Ask) -> Self {
        match ask {
            Ask::Restart => Self::OperatorRestart,
            Ask::Quarantine(message) => Self::OperatorQuarantine { message },
            Ask::Release => Self::OperatorRelease,
            Ask::UpdateBegin => Self::UpdateBegin,
            Ask::UpdatePromoted => Self::UpdatePromoted,
            Ask::UpdateRolledBack => Self::UpdateRolledBack,
        }
    }
}

/// All managed targets, as their tasks last told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Board(Arc<RwLock<BTreeMap<String, Arc<Instance>>>>);

impl Board {
    /// Unless the task that tells it is `gone`.
    pub(crate) fn put(&self, instance: Instance, gone: &CancellationToken) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if gone.is_cancelled() {
            return;
        }
        all.insert(instance.target.clone(), Arc::new(instance));
    }

    /// Takes down what a task told that ends by itself, unless it is `gone` and another tells.
    pub(crate) fn withdraw(&self, target: &str, gone: &CancellationToken) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if !gone.is_cancelled() {
            all.remove(target);
        }
    }

    pub(crate) fn remove(&self, target: &str) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(target);
    }

    pub(crate) fn get(&self, target: &str) -> Option<Arc<Instance>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(target).map(Arc::clone)
    }

    /// In ascending order of id.
    pub(crate) fn all(&self) -> Vec<Arc<Instance>> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.values().map(Arc::clone).collect()
    }
}
