//! One probe: a fresh instance, one call, and what its end means (contract P1 to P5).

use std::time::{Duration, Instant};

use probehost_capability::log::Level;
use probehost_capability::{Capabilities, Run};
use probehost_model::{Measurement, Outcome, Reason};

use crate::compute::Doing;
use crate::fault::{self, Fault};
use crate::options::GRACE;
use crate::plugin::{Loaded, Plugin};
use crate::state::{Granted, State};
use crate::v1;

/// What a probe is given.
#[derive(Debug)]
pub struct CheckRequest<'a> {
    /// The check's config, JSON.
    pub config: &'a str,
    /// Id of the target.
    pub target: &'a str,
    /// Name of the check.
    pub check: &'a str,
    /// What is granted, and the deadline. Calls and log lines are in its trace afterwards.
    pub run: Run,
    /// The host's capabilities.
    pub capabilities: Capabilities,
}

/// What came of a probe.
#[derive(Debug, Clone, PartialEq)]
pub struct RunReport {
    /// What it found.
    pub outcome: Outcome,
    /// What it measured, at most 64; none when the outcome is inconclusive by a fault.
    pub measurements: Vec<Measurement>,
    /// What it took.
    pub stats: RunStats,
    /// What the plugin did wrong, when that made the outcome inconclusive.
    pub fault: Option<Fault>,
}

/// What a run took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunStats {
    /// Linear memory at its most, in bytes.
    pub memory: usize,
    /// From asking for a place to the end.
    pub duration: Duration,
}

impl Plugin {
    /// Runs one probe in an instance of its own, which is gone afterwards.
    ///
    /// It ends at the deadline of `request.run`, or at most [`GRACE`] later, whatever the guest
    /// does. Dropping the future cancels the probe and frees all it held. What is wrong with the
    /// plugin never is an error here but an inconclusive outcome (contract P5).
    ///
    /// When the deadline comes, it depends on what the guest is at:
    /// - in a call of a capability, the call ends as timed out and the guest has the grace to
    ///   report. A pass or a failure then becomes a failure with reason `timeout`; a `config`
    ///   failure or an inconclusive outcome stands. Without a report the host writes the message.
    /// - computing, the outcome is inconclusive: its CPU ran out, not its target.
    /// - sleeping, the outcome is inconclusive too: it was not waiting for its target.
    pub async fn check(&self, request: CheckRequest<'_>) -> RunReport {
        let started = Instant::now();
        let mut stats = RunStats::default();
        let verdict = self.probe(request, &mut stats).await;
        stats.duration = started.elapsed();
        match verdict {
            Ok((outcome, measurements)) => RunReport { outcome, measurements, stats, fault: None },
            Err(fault) => {
                let text = format!("plugin {}: {fault}", self.title());
                RunReport {
                    outcome: Outcome::inconclusive(&text),
                    measurements: Vec::new(),
                    stats,
                    fault: Some(fault),
                }
            }
        }
    }

    async fn probe(
        &self,
        request: CheckRequest<'_>,
        stats: &mut RunStats,
    ) -> Result<(Outcome, Vec<Measurement>), Fault> {
        let Loaded { sandbox, ready, .. } = &*self.0;
        let CheckRequest { config, target, check, run, capabilities } = request;
        let deadline = run.deadline();
        let Some(_place) = sandbox.place(deadline).await else {
            return Err(Fault::Host("all its instances were in use until the deadline".into()));
        };
        let granted = Granted { run: run.clone(), capabilities };
        let mut store = sandbox.store(deadline, None, Some(granted));
        let left = deadline.saturating_duration_since(tokio::time::Instant::now());
        let context = v1::Context {
            target: target.to_owned(),
            check: check.to_owned(),
            timeout_ms: u32::try_from(left.as_millis()).unwrap_or(u32::MAX),
        };
        let call = ready.check(&mut store, config, &context);
        let answer = tokio::time::timeout_at(deadline + GRACE, call).await;
        store.data_mut().settle_network();
        stats.memory = store.data().limiter.memory;
        let report = match answer {
            Ok(Ok(report)) => v1::report(report, sandbox.options().output)?,
            Ok(Err(error)) => {
                let fault = fault::classify(&error, store.data());
                return overdue(&fault, store.data(), &run).ok_or(fault);
            }
            Err(_) => {
                let fault = late(store.data());
                return overdue(&fault, store.data(), &run).ok_or(fault);
            }
        };
        for warning in &report.warnings {
            run.log(Level::Warn, warning);
        }
        let outcome = End::of(store.data(), &run).settle(report.outcome)?;
        if let (Outcome::Fail(failure), Some(fault)) = (&outcome, store.data().network_fault())
            && failure.reason != Reason::Config
        {
            return Err(fault);
        }
        Ok((outcome, report.measurements))
    }
}

/// What a probe is told that met a service of this host which did not answer.
const UNSERVED: &str = "a service of this host did not answer until the deadline";

/// How a guest that reported stands to its deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    InTime,
    /// A call was cut at the deadline; the message is the host's.
    CutInCall(String),
    /// So was a wait in WASI, and the guest can't know what to say of it.
    CutInWasi(String),
    /// A call to a service of this host was cut at the deadline.
    CutByHost,
    /// Late, after a call that had left no time.
    LastMoment,
    /// Late by its own doing.
    Late(Fault),
}

impl End {
    fn of(state: &State, run: &Run) -> Self {
        if let Some(text) = &state.cut_in_wasi {
            Self::CutInWasi(text.clone())
        } else if state.timed_out {
            Self::CutInCall(timeout_text(run))
        } else if state.host_late {
            Self::CutByHost
        } else if tokio::time::Instant::now() < run.deadline() {
            Self::InTime
        } else if state.compute.served_last_moment() {
            Self::LastMoment
        } else {
            Self::Late(late(state))
        }
    }

    /// What an outcome that was reported becomes.
    fn settle(self, outcome: Outcome) -> Result<Outcome, Fault> {
        let in_wasi = matches!(self, Self::CutInWasi(_));
        let text = match self {
            Self::InTime => return Ok(outcome),
            // Whatever a plugin makes of it, the target had no part in that (contract C3).
            Self::CutByHost => match outcome {
                Outcome::Inconclusive { .. } => return Ok(outcome),
                _ => return Err(Fault::Host(UNSERVED.to_owned())),
            },
            Self::Late(fault) => return Err(fault),
            Self::CutInCall(text) | Self::CutInWasi(text) => text,
            Self::LastMoment => "the answer came too late to be judged in time".to_owned(),
        };
        Ok(match outcome {
            Outcome::Pass => Outcome::fail(Reason::Timeout, &text),
            Outcome::Fail(failure) if matches!(failure.reason, Reason::Config) => {
                Outcome::Fail(failure)
            }
            Outcome::Fail(_) if in_wasi => Outcome::fail(Reason::Timeout, &text),
            Outcome::Fail(failure) => Outcome::fail(Reason::Timeout, failure.message()),
            Outcome::Inconclusive { .. } => outcome,
        })
    }
}

/// What a guest did that was not waiting for its target.
fn late(state: &State) -> Fault {
    match state.compute.doing() {
        Doing::Wasi => Fault::Sleeping,
        Doing::Computing | Doing::Calling => Fault::Looping,
    }
}

/// The outcome of a probe that did not report although it was waiting for its target when the
/// deadline came. None: it was not waiting, so what it did is a fault of its own.
fn overdue(fault: &Fault, state: &State, run: &Run) -> Option<(Outcome, Vec<Measurement>)> {
    let waiting = state.timed_out || state.compute.doing() == Doing::Calling;
    let only_late = matches!(fault, Fault::Looping | Fault::Sleeping);
    (waiting && only_late).then(|| {
        let text = state.cut_in_wasi.clone().unwrap_or_else(|| timeout_text(run));
        (Outcome::fail(Reason::Timeout, &text), Vec::new())
    })
}

/// A timeout in the host's words.
fn timeout_text(run: &Run) -> String {
    run.timeout_message().unwrap_or_else(|| "the deadline came first".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(reason: Reason) -> Outcome {
        Outcome::fail(reason, "db:80: what the plugin said")
    }

    /// P4, P5: what a report becomes when the deadline came in a call.
    #[test]
    fn a_call_cut_at_the_deadline_is_a_timeout() {
        let cut = || End::CutInCall("timeout waiting for db:80".to_owned());
        let host = Outcome::fail(Reason::Timeout, "timeout waiting for db:80");
        assert_eq!(cut().settle(Outcome::Pass), Ok(host));
        for reason in Reason::ALL {
            let expected = if reason == Reason::Config { reason } else { Reason::Timeout };
            assert_eq!(cut().settle(failure(reason)), Ok(failure(expected)));
        }
        let unsure = Outcome::inconclusive("the engine is away");
        assert_eq!(cut().settle(unsure.clone()), Ok(unsure));
    }

    /// P8: what was cut in WASI is told in the host's words, since the guest lacks them.
    #[test]
    fn a_wait_in_wasi_is_told_by_the_host() {
        let cut = || End::CutInWasi("timeout waiting for db:80".to_owned());
        let host = Outcome::fail(Reason::Timeout, "timeout waiting for db:80");
        assert_eq!(cut().settle(failure(Reason::Network)), Ok(host.clone()));
        assert_eq!(cut().settle(Outcome::Pass), Ok(host));
        assert_eq!(cut().settle(failure(Reason::Config)), Ok(failure(Reason::Config)));
    }

    /// C3: an engine that does not answer until the deadline is never held against the target.
    #[test]
    fn a_call_cut_by_the_host_is_inconclusive() {
        let unsure = Outcome::inconclusive("the engine does not answer");
        assert_eq!(End::CutByHost.settle(unsure.clone()), Ok(unsure));
        for outcome in [Outcome::Pass, failure(Reason::Stopped)] {
            let fault = End::CutByHost.settle(outcome).unwrap_err();
            assert_eq!(fault, Fault::Host(UNSERVED.to_owned()));
        }
    }

    /// P5: a late report counts for the target only when the target took the time.
    #[test]
    fn a_late_report_is_the_targets_or_the_plugins() {
        assert_eq!(End::InTime.settle(Outcome::Pass), Ok(Outcome::Pass));
        assert_eq!(End::Late(Fault::Looping).settle(Outcome::Pass), Err(Fault::Looping));
        let late = End::LastMoment.settle(failure(Reason::Answer));
        assert_eq!(late, Ok(failure(Reason::Timeout)));
    }
}
