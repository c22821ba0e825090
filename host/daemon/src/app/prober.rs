//! Runs one probe: the plugin of its kind, in the sandbox, with what it is granted.

use std::sync::Arc;

use probehost_capability::{Call, CallResult, Capabilities, Run, Trace};
use probehost_model::{Endpoint, Layer, Outcome, Plan, Reason};
use probehost_monitor::ports::{CheckSeen, NoEvidence, Prober};
use probehost_monitor::{Clock, Evidence, LogLine, ProbeCall};
use probehost_sandbox::{CheckRequest, Plugin, RunReport};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::planning::Plans;
use super::usage::{Usage, metered};
use super::{Faults, Kinds, Planned};

/// Runs probes in the sandbox.
#[derive(Debug)]
pub struct SandboxProber {
    kinds: Arc<Kinds>,
    capabilities: Capabilities,
    plans: Plans,
    faults: Faults,
}

impl SandboxProber {
    /// A prober for these plugins.
    #[must_use]
    pub fn new(kinds: Arc<Kinds>, capabilities: Capabilities) -> Self {
        Self { kinds, capabilities, plans: Plans::default(), faults: Faults::default() }
    }

    /// Why checks of a kind can't be probed, and what to do. None: they can.
    #[must_use]
    pub fn problem(&self, kind: &str) -> Option<String> {
        self.kinds.problem(kind)
    }

    /// What the plugins did wrong.
    pub(crate) fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Makes every plan anew: what the operator allows has changed.
    pub(crate) fn forget_plans(&self) {
        self.plans.clear();
    }

    /// What a check of this kind and config (JSON text) will reach. None: no such plugin.
    pub async fn plan(&self, kind: &str, config: &Arc<str>) -> Option<Arc<Planned>> {
        let plugin = self.kinds.catalog().get(kind)?;
        Some(self.plans.get(&self.kinds, &plugin, config).await)
    }

    /// Probes as [`Prober::probe`] does, and says what the run used: none when there was no run.
    pub(crate) async fn probe_metered(
        &self,
        check: &CheckSeen,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<(Evidence, Option<Usage>), NoEvidence> {
        let mut usage = None;
        let evidence = self.run(check, deadline, cancel, Some(&mut usage)).await?;
        Ok((evidence, usage))
    }

    async fn run(
        &self,
        check: &CheckSeen,
        deadline: Instant,
        cancel: &CancellationToken,
        usage: Option<&mut Option<Usage>>,
    ) -> Result<Evidence, NoEvidence> {
        let Some(plugin) = self.kinds.catalog().get(&check.kind) else {
            let help = self.kinds.problem(&check.kind).unwrap_or_default();
            return Err(NoEvidence::NotImplemented(help));
        };
        let cancelled = |met: String| Err(NoEvidence::Cancelled(met));
        let planned = tokio::select! {
            biased;
            () = cancel.cancelled() => return cancelled("it was planning".to_owned()),
            planned = timeout_at(deadline, self.plans.get(&self.kinds, &plugin, &check.config)) => planned,
        };
        let Ok(planned) = planned else {
            let text = format!("plugin {}: still planning when the deadline came", plugin.title());
            return Ok(without_run(check, "", Outcome::inconclusive(&text), Vec::new()));
        };
        let (subject, grants, plan) = match &*planned {
            Planned::Ready { subject, grants, plan } => (subject, grants, plan),
            Planned::Refused { subject, outcome, denied, .. } => {
                return Ok(without_run(check, subject, outcome.clone(), denied.clone()));
            }
        };
        let run = Run::new(check.kind.as_str(), Arc::clone(grants), deadline);
        let request = CheckRequest {
            config: &check.config,
            target: &check.id.target,
            check: &check.id.check,
            run: run.clone(),
            capabilities: self.capabilities.clone(),
        };
        let report = tokio::select! {
            biased;
            () = cancel.cancelled() => return cancelled(met(&run)),
            report = probed(&plugin, request, usage) => report,
        };
        let fault = report.fault.as_ref().map(|fault| format!("{}: {fault}", plugin.title()));
        self.faults.note(&check.kind, fault.as_deref(), Clock::System.now());
        let mut outcome = report.outcome;
        let Trace { calls, calls_dropped, log, log_dropped } = run.take_trace();
        let denied = denied(&calls);
        // A denied call is the operator's to settle, whatever the plugin makes of it.
        if let (Some(first), Outcome::Fail(failure)) = (denied.first(), &outcome)
            && failure.reason != Reason::Config
        {
            outcome = Outcome::fail(Reason::Config, first);
        }
        let mut log: Vec<LogLine> = log
            .into_iter()
            .map(|line| LogLine { level: line.level.as_str(), message: line.text })
            .collect();
        if log_dropped > 0 {
            log.push(note(format!("{log_dropped} more lines were dropped")));
        }
        if calls_dropped > 0 {
            log.push(note(format!("{calls_dropped} more calls are not shown")));
        }
        Ok(Evidence {
            outcome,
            subject: subject.clone(),
            measurements: report.measurements,
            layers: layers(plan),
            log,
            calls: calls.into_iter().map(shown).collect(),
            denied,
        })
    }
}

impl Prober for SandboxProber {
    fn concurrency(&self, kind: &str) -> Option<u32> {
        self.kinds.concurrency(kind)
    }

    async fn probe(
        &self,
        check: &CheckSeen,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Evidence, NoEvidence> {
        self.run(check, deadline, cancel, None).await
    }
}

/// Runs the check, and notes what it used where that is asked for.
async fn probed(
    plugin: &Plugin,
    request: CheckRequest<'_>,
    usage: Option<&mut Option<Usage>>,
) -> RunReport {
    let Some(usage) = usage else { return plugin.check(request).await };
    let (report, cpu) = metered(plugin.check(request)).await;
    *usage = Some(Usage { cpu, memory: report.stats.memory, fault: report.fault.is_some() });
    report
}

/// The layers that a check speaks of, by what it reaches.
fn layers(plan: &Plan) -> &'static [Layer] {
    let container = |endpoint: &Endpoint| matches!(endpoint, Endpoint::Container(_));
    if !plan.endpoints.is_empty() && plan.endpoints.iter().all(container) {
        Layer::OF_CONTAINERS
    } else {
        Layer::OF_ANSWERS
    }
}

fn note(message: String) -> LogLine {
    LogLine { level: "warn", message }
}

fn without_run(
    check: &CheckSeen,
    subject: &str,
    outcome: Outcome,
    denied: Vec<String>,
) -> Evidence {
    let subject = if subject.is_empty() { &check.target_name } else { subject };
    Evidence {
        outcome,
        subject: subject.to_owned(),
        measurements: Vec::new(),
        layers: &[],
        log: Vec::new(),
        calls: Vec::new(),
        denied,
    }
}

/// What a run had met when it was cancelled (contract P4).
fn met(run: &Run) -> String {
    if let Some(waiting) = run.waiting() {
        return format!("{}, in phase {}", waiting.what, waiting.phase.as_str());
    }
    match run.take_trace().calls.last() {
        Some(call) => format!("{}: {}", call.what, result(&call.result)),
        None => "it had made no call yet".to_owned(),
    }
}

/// Most calls of one run that were not granted and have an audit row of their own: a plugin that
/// tries every door must not flood the audit.
const MOST_DENIED: usize = 16;

/// The calls that were not granted, once each.
fn denied(calls: &[Call]) -> Vec<String> {
    let mut denied = Vec::new();
    for call in calls {
        if let CallResult::Denied { .. } = &call.result {
            let text = format!("{}: {}", call.what, result(&call.result));
            if !denied.contains(&text) {
                denied.push(text);
            }
        }
    }
    let more = denied.len().saturating_sub(MOST_DENIED);
    if more > 0 {
        denied.truncate(MOST_DENIED);
        denied.push(format!("{more} further calls were not granted"));
    }
    denied
}

fn result(result: &CallResult) -> String {
    match result {
        CallResult::Ok => "ok".to_owned(),
        CallResult::Failed(message) | CallResult::TimedOut(message) => message.clone(),
        CallResult::Denied { endpoint, grant_line } => {
            format!("{endpoint} is not granted; to grant it, add {grant_line}")
        }
    }
}

fn shown(call: Call) -> ProbeCall {
    ProbeCall {
        capability: call.capability,
        result: result(&call.result),
        what: call.what,
        start: call.start.as_secs_f64(),
        took: call.took.as_secs_f64(),
    }
}
