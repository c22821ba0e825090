//! What the checks of a target say together.

use super::{Sighting, Verdict};
use crate::{Reason, Role, Status, Timestamp};

/// One check, as far as the lifecycle looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckView<'a> {
    /// Its role.
    pub role: Role,
    /// Its status (contract T1), which has its thresholds behind it already.
    pub status: Status,
    /// Why its last conclusive probe failed.
    pub reason: Option<Reason>,
    /// Why it is unhealthy, or why nothing is known; for people.
    pub message: &'a str,
    /// When the probe that its status rests on began; none: never probed. Where only its end
    /// is known, the end less the check's timeout is on the safe side.
    pub probed_at: Option<Timestamp>,
}

impl CheckView<'_> {
    /// A check whose own config is wrong sends no packet (contract P2), so it knows nothing of
    /// the target: no slip in a config restarts anything.
    fn verdict(&self) -> Verdict {
        match (self.status, self.reason) {
            (Status::Healthy, _) => Verdict::Healthy,
            (Status::Unhealthy, reason) if reason != Some(Reason::Config) => Verdict::Unhealthy,
            (Status::Unhealthy | Status::Unknown, _) => Verdict::Unknown,
        }
    }
}

/// What the checks of `role` say together (contract L2): any that is unhealthy makes the
/// target so; else any that knows nothing does; else it is healthy. None: not one was probed.
///
/// The sighting is as fresh as what it rests on: bad news as its newest bearer, good news as
/// its oldest, since all must have been well *after* a restart to say that it has worked.
///
/// A target without readiness checks is ready when it is live. One without liveness checks is
/// never seen live nor down, and so never restarted.
#[must_use]
pub fn sight(checks: &[CheckView<'_>], role: Role) -> Option<Sighting> {
    let has = |role| checks.iter().any(|check| check.role == role);
    let role = if has(role) { role } else { Role::Liveness };
    let mine = || checks.iter().filter(|check| check.role == role);
    let of = |verdict| mine().filter(move |check| check.verdict() == verdict);
    let newest =
        |verdict| of(verdict).filter(|c| c.probed_at.is_some()).max_by_key(|c| c.probed_at);
    if let Some(worst) = newest(Verdict::Unhealthy) {
        return Some(Sighting::new(
            Verdict::Unhealthy,
            worst.probed_at?,
            worst.reason,
            worst.message,
        ));
    }
    if of(Verdict::Unknown).next().is_some() {
        let blind = newest(Verdict::Unknown)?;
        return Some(Sighting::new(Verdict::Unknown, blind.probed_at?, None, blind.message));
    }
    let at = mine().filter_map(|check| check.probed_at).min()?;
    Some(Sighting::new(Verdict::Healthy, at, None, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Status::{Healthy, Unhealthy, Unknown};

    fn check(role: Role, status: Status, reason: Option<Reason>, at: i64) -> CheckView<'static> {
        let probed_at = (at > 0).then(|| Timestamp::from_micros(at));
        CheckView { role, status, reason, message: "m", probed_at }
    }

    fn live(status: Status, at: i64) -> CheckView<'static> {
        let reason = (status == Unhealthy).then_some(Reason::Stopped);
        check(Role::Liveness, status, reason, at)
    }

    fn seen(checks: &[CheckView<'_>], role: Role) -> Option<(Verdict, i64)> {
        sight(checks, role).map(|sighting| (sighting.verdict, sighting.at.as_micros()))
    }

    /// L2: any unhealthy, then any unknown, then healthy; and how fresh each is.
    #[test]
    fn the_worst_speaks() {
        let liveness = |checks: &[_]| seen(checks, Role::Liveness);
        assert_eq!(
            liveness(&[live(Healthy, 9), live(Unhealthy, 3), live(Unhealthy, 5), live(Unknown, 8)]),
            Some((Verdict::Unhealthy, 5))
        );
        assert_eq!(liveness(&[live(Healthy, 9), live(Unknown, 4)]), Some((Verdict::Unknown, 4)));
        assert_eq!(liveness(&[live(Healthy, 9), live(Healthy, 7)]), Some((Verdict::Healthy, 7)));
        assert_eq!(liveness(&[live(Healthy, 9), live(Unknown, 0)]), None);
        assert_eq!(liveness(&[]), None);
    }

    /// P2, L2: a check whose config is wrong says nothing of the target.
    #[test]
    fn a_wrong_config_is_not_a_dead_target() {
        let odd = check(Role::Liveness, Unhealthy, Some(Reason::Config), 4);
        assert_eq!(seen(&[live(Healthy, 3), odd], Role::Liveness), Some((Verdict::Unknown, 4)));
    }

    /// L11: without readiness checks, live is ready; with them, they alone say.
    #[test]
    fn readiness_is_its_own_or_follows_liveness() {
        assert_eq!(seen(&[live(Healthy, 3)], Role::Readiness), Some((Verdict::Healthy, 3)));
        let ready = check(Role::Readiness, Unhealthy, Some(Reason::Answer), 4);
        let both = [live(Healthy, 3), ready];
        assert_eq!(seen(&both, Role::Readiness), Some((Verdict::Unhealthy, 4)));
        assert_eq!(seen(&both, Role::Liveness), Some((Verdict::Healthy, 3)));
    }
}
