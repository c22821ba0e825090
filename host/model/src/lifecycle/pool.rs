//! What others act on: whether routers may send a target work (contract L11), and whether an
//! update has gone well (contract L6).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{LifecycleRecord, LifecycleState, Policy, Verdict};
use crate::Timestamp;
use crate::words::words;

/// Whether routers may send it work: only when `running`, and its readiness is healthy.
#[must_use]
pub fn is_poolable(record: &LifecycleRecord) -> bool {
    record.state == LifecycleState::Running && record.readiness.verdict == Verdict::Healthy
}

/// One target, for a router.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PoolMember {
    /// Id of the target.
    pub target: String,
    /// Whether it may be sent work.
    pub poolable: bool,
    /// Its state.
    pub state: LifecycleState,
}

/// Which targets may be sent work, for routers that poll.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolSnapshot {
    /// When it was taken.
    pub at: Timestamp,
    /// Until when a router goes by it if it gets no newer one. After that the router knows
    /// nothing, and does what it does then.
    pub expires_at: Timestamp,
    /// Every managed target, in ascending order of id.
    pub members: Vec<PoolMember>,
}

impl PoolSnapshot {
    /// A snapshot at `now` that holds for `ttl`.
    #[must_use]
    pub fn new<'a>(
        now: Timestamp,
        ttl: Duration,
        records: impl IntoIterator<Item = (&'a str, &'a LifecycleRecord)>,
    ) -> Self {
        let mut members: Vec<_> = records
            .into_iter()
            .map(|(target, record)| PoolMember {
                target: target.to_owned(),
                poolable: is_poolable(record),
                state: record.state,
            })
            .collect();
        members.sort_by(|one, other| one.target.cmp(&other.target));
        Self { at: now, expires_at: now.plus(ttl), members }
    }
}

/// What the host advises the update manager, who decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UpdateVerdict {
    /// Live and ready since the update began.
    Promote,
    /// Nothing to go by yet.
    Wait,
    /// The start budget is over, and it is down or not ready.
    Rollback,
}

words!(UpdateVerdict, "update verdict", {
    Promote => "promote",
    Wait => "wait",
    Rollback => "rollback",
});

/// The verdict on the update under way; none when there is none.
///
/// Only probes that began after the update did count; but one that still reached the old
/// version does too, so the update manager begins the update, replaces the target, and asks
/// then. Inconclusive probes are no reason to roll back, however long they come.
#[must_use]
pub fn update_verdict(
    record: &LifecycleRecord,
    policy: &Policy,
    now: Timestamp,
) -> Option<UpdateVerdict> {
    let update = record.update.as_ref()?;
    let unwell = record.liveness.verdict == Verdict::Unhealthy
        || record.readiness.verdict == Verdict::Unhealthy;
    Some(if record.is_ready() {
        UpdateVerdict::Promote
    } else if unwell && now >= update.began_at.plus(policy.start_budget) {
        UpdateVerdict::Rollback
    } else {
        UpdateVerdict::Wait
    })
}
