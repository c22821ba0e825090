//! What one probe showed, as text and as JSON, and the exit code for it.

use std::process::ExitCode;
use std::time::Duration;

use probehost_model::{Measurement, Outcome, Unit};
use probehost_monitor::{Evidence, ProbeCall};
use serde_json::{Value, json};

/// What Nagios and Icinga expect of a check.
pub(crate) fn exit_code(outcome: &Outcome) -> ExitCode {
    ExitCode::from(match outcome {
        Outcome::Pass => 0,
        Outcome::Fail(_) => 2,
        Outcome::Inconclusive { .. } => 3,
    })
}

/// What there is to show.
#[derive(Debug)]
pub(crate) struct Shown<'a> {
    /// Plugin and version.
    pub(crate) title: &'a str,
    /// From asking to the end.
    pub(crate) took: Duration,
    pub(crate) evidence: &'a Evidence,
}

impl Shown<'_> {
    /// For the terminal. `used` are further lines below what was measured; with `grants`, each call
    /// says whether it was granted.
    pub(crate) fn text(&self, used: &[(&str, String)], grants: bool) -> String {
        let evidence = self.evidence;
        let verdict = match &evidence.outcome {
            Outcome::Pass => "PASS".to_owned(),
            Outcome::Fail(failure) => format!("FAIL {}: {}", failure.reason, failure.message()),
            Outcome::Inconclusive { error } => format!("INCONCLUSIVE: {error}"),
        };
        let mut text = format!("{}  {}\n{verdict}\n", self.title, evidence.subject);
        let mut line = |name: &str, value: &str| text.push_str(&format!("  {name:<18} {value}\n"));
        for measurement in &evidence.measurements {
            line(&measurement.name, &value(measurement));
        }
        line("took", &milliseconds(self.took.as_secs_f64()));
        for (name, value) in used {
            line(name, value);
        }
        if !evidence.calls.is_empty() {
            text.push_str("calls\n");
        }
        for call in &evidence.calls {
            let (at, took) = (milliseconds(call.start), milliseconds(call.took));
            let granted = match granted(evidence, call) {
                _ if !grants => "",
                true => ", granted",
                false => ", DENIED",
            };
            text.push_str(&format!(
                "  at {at}, {took}{granted}: {} {}: {}\n",
                call.capability, call.what, call.result
            ));
        }
        if !evidence.log.is_empty() {
            text.push_str("log\n");
        }
        for entry in &evidence.log {
            text.push_str(&format!("  {:<5} {}\n", entry.level, entry.message));
        }
        text
    }

    /// One object.
    pub(crate) fn json(&self) -> Value {
        let evidence = self.evidence;
        let (reason, message) = match &evidence.outcome {
            Outcome::Pass => (None, ""),
            Outcome::Fail(failure) => (Some(failure.reason), failure.message()),
            Outcome::Inconclusive { error } => (None, error.as_str()),
        };
        json!({
            "plugin": self.title,
            "subject": evidence.subject,
            "outcome": evidence.outcome.as_str(),
            "reason": reason,
            "message": message,
            "took_seconds": self.took.as_secs_f64(),
            "measurements": evidence.measurements,
            "calls": evidence.calls,
            "log": evidence.log,
        })
    }
}

/// Whether a call was granted: one that was not is told of in `denied`, with the line to add.
pub(crate) fn granted(evidence: &Evidence, call: &ProbeCall) -> bool {
    !evidence.denied.contains(&format!("{}: {}", call.what, call.result))
}

pub(crate) fn milliseconds(seconds: f64) -> String {
    format!("{:.1} ms", seconds * 1e3)
}

fn value(measurement: &Measurement) -> String {
    let value = measurement.value;
    match measurement.unit {
        Unit::Number => format!("{value}"),
        Unit::Seconds => milliseconds(value),
        Unit::Bytes => format!("{value} bytes"),
        Unit::Days => format!("{value:.1} days"),
        Unit::Ratio => format!("{:.1} %", value * 100.0),
    }
}
