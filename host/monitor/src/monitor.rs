//! One probe, from the permit to the durable record.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use probehost_model::{Observation, Outcome, Record, SYSTEM_PRINCIPAL, Status, Trigger};
use probehost_store::{Recorded, Write};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, info, warn};

use crate::admission::{Admission, Turn};
use crate::flight::{Boarding, Departure, Flights, Landing, Waiter};
use crate::ports::{CheckSeen, Follower, Landed, NoEvidence, Prober, Recorder};
use crate::{Clock, Evidence, Metrics, ProbeError, ProbeResult, Recording, Rollups, Windows};

/// How the monitor works.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Most probes at once, whoever asked (contract S4). At least 1.
    pub concurrency: usize,
    /// Where the time of day comes from.
    pub clock: Clock,
}

/// Owns every probe: its permit, its deadline, its task and its record. Cheap to clone.
pub struct Monitor<P, R>(Arc<Inner<P, R>>);

struct Inner<P, R> {
    prober: P,
    recorder: R,
    clock: Clock,
    admission: Admission,
    flights: Arc<Flights>,
    metrics: Metrics,
    windows: Windows,
    rollups: Rollups,
    follower: RwLock<Option<Arc<dyn Follower>>>,
    stopping: CancellationToken,
    tasks: TaskTracker,
}

/// What became of asking for a scheduled probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launch {
    /// It runs, or waits for its permit.
    Started,
    /// The check is still being probed (contract S3).
    Skipped,
    /// The monitor is stopping.
    Stopping,
}

impl<P, R> Clone for Monitor<P, R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: Prober, R: Recorder> Monitor<P, R> {
    /// A monitor without any probe in flight.
    #[must_use]
    pub fn new(prober: P, recorder: R, settings: Settings, metrics: Metrics) -> Self {
        Self(Arc::new(Inner {
            prober,
            recorder,
            clock: settings.clock,
            admission: Admission::new(settings.concurrency),
            flights: Arc::default(),
            metrics,
            windows: Windows::default(),
            rollups: Rollups::default(),
            follower: RwLock::default(),
            stopping: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }))
    }

    /// What runs the probes.
    #[must_use]
    pub fn prober(&self) -> &P {
        &self.0.prober
    }

    /// The time of day, as the monitor sees it.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.0.clock
    }

    /// How fast and how often well each check was lately.
    #[must_use]
    pub fn windows(&self) -> &Windows {
        &self.0.windows
    }

    /// What each check did in the hours that are not over yet.
    #[must_use]
    pub fn rollups(&self) -> &Rollups {
        &self.0.rollups
    }

    /// Starts a scheduled probe that was due at `due`, in a task of the monitor's.
    pub fn launch(&self, check: Arc<CheckSeen>, due: Instant) -> Launch {
        if self.0.stopping.is_cancelled() {
            return Launch::Stopping;
        }
        match self.board(&check, Trigger::Scheduled, SYSTEM_PRINCIPAL) {
            Departure::New(boarding, _) => {
                self.spawn(check, Trigger::Scheduled, None, Some(due), boarding);
                Launch::Started
            }
            Departure::Shared(_) | Departure::Busy => {
                self.0.metrics.skip();
                debug!(check = %check.id, "skipped: the probe before is still running");
                Launch::Skipped
            }
        }
    }

    /// Tells `follower` of every result that is recorded from now on, until the monitor stops.
    pub fn follow(&self, follower: Arc<dyn Follower>) {
        self.0.set_follower(Some(follower));
    }

    /// Starts a probe that is not due yet, unless the check is being probed; nobody waits for it.
    pub fn probe_off_cycle(&self, check: Arc<CheckSeen>) {
        if self.0.stopping.is_cancelled() {
            return;
        }
        let departure = self.board(&check, Trigger::Scheduled, SYSTEM_PRINCIPAL);
        if let Departure::New(boarding, _) = departure {
            self.spawn(check, Trigger::Scheduled, None, None, boarding);
        }
    }

    /// Starts a probe because a save changed the check; nobody waits for it (contract T7).
    pub fn probe_saved(&self, check: Arc<CheckSeen>) {
        if self.0.stopping.is_cancelled() {
            return;
        }
        let departure = self.board(&check, Trigger::Saved, SYSTEM_PRINCIPAL);
        if let Departure::New(boarding, _) = departure {
            self.spawn(check, Trigger::Saved, None, None, boarding);
        }
    }

    /// Probes by hand and waits for the result. Those who ask while it runs share one run; it
    /// goes on when they leave, and ends with the host (contract S7). `limit` shortens the
    /// check's own deadline, and expiring is a `timeout` like any other (contract P4).
    ///
    /// # Errors
    /// [`ProbeError`]; nothing was written then.
    pub async fn probe_by_hand(
        &self,
        check: Arc<CheckSeen>,
        principal: &str,
        limit: Option<Duration>,
    ) -> Result<Arc<ProbeResult>, ProbeError> {
        if self.0.stopping.is_cancelled() {
            return Err(ProbeError::Abandoned { met: "it had not begun".to_owned() });
        }
        let waiter: Waiter = match self.board(&check, Trigger::Manual, principal) {
            Departure::New(boarding, waiter) => {
                self.spawn(check, Trigger::Manual, limit, None, boarding);
                waiter
            }
            Departure::Shared(waiter) => waiter,
            // Only a scheduled probe is ever told that the check is busy.
            Departure::Busy => {
                return Err(ProbeError::Abandoned { met: "it had not begun".to_owned() });
            }
        };
        waiter.landed().await
    }

    /// Cancels every probe that has no result yet, lets the others be recorded, and waits until
    /// no task is left (contract S8). Idempotent.
    pub async fn stop(&self) {
        self.0.stopping.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
        // It may hold the monitor.
        self.0.set_follower(None);
    }

    fn board(&self, check: &CheckSeen, trigger: Trigger, principal: &str) -> Departure {
        self.0.flights.board(&check.id, check.seen_updated_at, trigger, principal)
    }

    fn spawn(
        &self,
        check: Arc<CheckSeen>,
        trigger: Trigger,
        limit: Option<Duration>,
        due: Option<Instant>,
        boarding: Boarding,
    ) {
        // In this order, not in the order in which tasks are polled: contract S2.
        let turn = self.0.admission.queue(&check.kind, self.0.prober.concurrency(&check.kind));
        let inner = Arc::clone(&self.0);
        self.0.tasks.spawn(async move {
            let landing = inner.fly(&check, trigger, limit, due, turn, &boarding).await;
            if let Err(ProbeError::Abandoned { met }) = &landing {
                inner.metrics.discard();
                debug!(check = %check.id, met, "abandoned: the host is stopping");
            }
            boarding.land(landing);
        });
    }
}

impl<P: Prober, R: Recorder> Inner<P, R> {
    fn follower(&self) -> Option<Arc<dyn Follower>> {
        self.follower.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_follower(&self, follower: Option<Arc<dyn Follower>>) {
        *self.follower.write().unwrap_or_else(PoisonError::into_inner) = follower;
    }

    async fn fly(
        &self,
        check: &Arc<CheckSeen>,
        trigger: Trigger,
        limit: Option<Duration>,
        due: Option<Instant>,
        turn: Turn,
        boarding: &Boarding,
    ) -> Landing {
        let abandoned = |met: &str| ProbeError::Abandoned { met: met.to_owned() };
        let permit = tokio::select! {
            biased;
            () = self.stopping.cancelled() => None,
            permit = turn => permit,
        };
        let permit = permit.ok_or_else(|| abandoned("it was waiting for its turn"))?;
        self.metrics.running(self.admission.in_use());
        let began = Instant::now();
        if let Some(due) = due {
            self.metrics.lag(began.saturating_duration_since(due));
        }
        let deadline = began + limit.map_or(check.timeout, |limit| limit.min(check.timeout));
        let found = self.prober.probe(check, deadline, &self.stopping).await;
        let took = began.elapsed();
        drop(permit);
        self.metrics.running(self.admission.in_use());
        let evidence = found.map_err(|none| match none {
            NoEvidence::Cancelled(met) => ProbeError::Abandoned { met },
            NoEvidence::NotImplemented(help) => {
                debug!(check = %check.id, kind = check.kind, help, "not implemented");
                ProbeError::NotImplemented { kind: check.kind.clone(), help }
            }
        })?;
        let at = self.clock.now();
        self.metrics.probe(&check.kind, &evidence.outcome, took);
        self.metrics.ended(at);
        let principal = boarding.close();
        let observation = Observation {
            at,
            subject: evidence.subject.clone(),
            outcome: evidence.outcome.clone(),
        };
        let (recording, record) = self
            .record(
                Write {
                    check: check.id.clone(),
                    seen_updated_at: check.seen_updated_at,
                    observation,
                    thresholds: check.thresholds,
                    trigger,
                    principal: principal.into(),
                    denied: evidence.denied.clone(),
                },
                &evidence,
            )
            .await;
        if let Some(record) = &record {
            self.rollups.count(check, at, took, &evidence.outcome, record.status);
        }
        if let (Some(follower), Some(record)) = (self.follower(), record) {
            let (check, outcome) = (Arc::clone(check), evidence.outcome.clone());
            follower.landed(Landed { check, began: at.minus(took), outcome, record });
        }
        // What did not land is about something that the check does not watch any more, or old.
        if !matches!(recording, Recording::Refused(_)) {
            self.windows.push(check, at, took, &evidence);
        }
        let check = check.id.clone();
        Ok(Arc::new(ProbeResult { check, trigger, at, took, evidence, recording }))
    }

    /// Also the record that came of it, when it landed.
    async fn record(&self, write: Write, evidence: &Evidence) -> (Recording, Option<Record>) {
        let check = write.check.clone();
        match self.recorder.record(write).await {
            Ok(Recorded::Applied { from, record, .. }) => {
                let to = record.status;
                if from != to {
                    self.metrics.transition(to);
                    let (subject, streak) = (&record.subject, record.streak);
                    let because = because(&evidence.outcome);
                    match to {
                        Status::Healthy => {
                            info!(%check, %from, %to, subject, streak, because, "status changed");
                        }
                        Status::Unhealthy | Status::Unknown => {
                            warn!(%check, %from, %to, subject, streak, because, "status changed");
                        }
                    }
                }
                (Recording::Recorded { from, to }, Some(*record))
            }
            Ok(Recorded::Refused(refusal)) => {
                self.metrics.refuse();
                debug!(%check, ?refusal, "the result did not land");
                (Recording::Refused(refusal), None)
            }
            Err(unavailable) => {
                self.metrics.store_unavailable();
                let text = unavailable.to_string();
                if self.stopping.is_cancelled() {
                    debug!(%check, error = text, "not recorded: the host is stopping");
                } else {
                    warn!(%check, error = text, "not recorded: the status is held as it was");
                }
                (Recording::Unavailable(text), None)
            }
        }
    }
}

/// Why, for the log: `network: db:5432: refused`.
fn because(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Pass => String::new(),
        Outcome::Fail(failure) => format!("{}: {}", failure.reason, failure.message()),
        Outcome::Inconclusive { error } => format!("inconclusive: {error}"),
    }
}
