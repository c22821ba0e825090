//! `POST /api/v1/targets/{id}/checks/{name}/probe`: a probe by hand.

use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, PathRejection};
use axum::extract::{Path, State};
use probehost_model::{Measurement, Outcome, Reason, Refusal, Status, Trigger};
use probehost_monitor::{LogLine, ProbeCall, ProbeResult, Recording};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::error::ApiError;
use super::error::ErrorBody;
use super::{Api, Identity};

/// What may be asked of a probe by hand.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ProbeAsk {
    /// A deadline in seconds that is shorter than the check's own. More than 0.
    timeout: Option<f64>,
}

/// What a probe came to.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProbeView {
    target: String,
    check: String,
    trigger: Trigger,
    at: String,
    took_seconds: f64,
    subject: String,
    /// `pass`, `fail` or `inconclusive`.
    outcome: &'static str,
    reason: Option<Reason>,
    /// Why it failed or was inconclusive.
    message: String,
    /// Whether the result landed in the record (contract R4).
    recorded: bool,
    /// Why it did not.
    not_recorded: Option<String>,
    /// The status that the write replaced, and the status now.
    from: Option<Status>,
    to: Option<Status>,
    measurements: Vec<Measurement>,
    calls: Vec<ProbeCall>,
    log: Vec<LogLine>,
}

/// Probes a check by hand, and waits for the result.
#[utoipa::path(post, path = "/targets/{id}/checks/{name}/probe", tag = "targets",
    params(("id" = String, Path), ("name" = String, Path)), request_body = Option<ProbeAsk>,
    responses((status = 200, body = ProbeView), (status = "default", body = ErrorBody)))]
pub(crate) async fn probe(
    State(api): State<Api>,
    who: Identity,
    path: Result<Path<(String, String)>, PathRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<ProbeView>, ApiError> {
    let Path((target, check)) = path?;
    let limit = limit(&body?)?;
    let seen = api.check_seen(&target, &check).await?;
    let result = api.monitor.probe_by_hand(seen, &who.principal, limit).await?;
    Ok(Json(ProbeView::from(&*result)))
}

fn limit(body: &[u8]) -> Result<Option<Duration>, ApiError> {
    if body.is_empty() {
        return Ok(None);
    }
    let ask: Option<ProbeAsk> = serde_json::from_slice(body).map_err(|error| {
        ApiError::Bad(format!("the body can't be read: {error}; send none, or {{\"timeout\": 5}}"))
    })?;
    let Some(seconds) = ask.and_then(|ask| ask.timeout) else { return Ok(None) };
    match Duration::try_from_secs_f64(seconds) {
        Ok(limit) if !limit.is_zero() => Ok(Some(limit)),
        _ => Err(ApiError::Bad(format!(
            "timeout: {seconds} is not a time; give more than 0 seconds"
        ))),
    }
}

impl From<&ProbeResult> for ProbeView {
    fn from(result: &ProbeResult) -> Self {
        let evidence = &result.evidence;
        let (reason, message) = match &evidence.outcome {
            Outcome::Pass => (None, String::new()),
            Outcome::Fail(failure) => (Some(failure.reason), failure.message().to_owned()),
            Outcome::Inconclusive { error } => (None, error.clone()),
        };
        let (from, to, not_recorded) = match &result.recording {
            Recording::Recorded { from, to } => (Some(*from), Some(*to), None),
            Recording::Refused(refusal) => (None, None, Some(refused(*refusal).to_owned())),
            Recording::Unavailable(why) => {
                let text =
                    format!("the store can't be reached; the status is held as it was: {why}");
                (None, None, Some(text))
            }
        };
        Self {
            target: result.check.target.clone(),
            check: result.check.check.clone(),
            trigger: result.trigger,
            at: result.at.to_string(),
            took_seconds: result.took.as_secs_f64(),
            subject: evidence.subject.clone(),
            outcome: evidence.outcome.as_str(),
            reason,
            message,
            recorded: not_recorded.is_none(),
            not_recorded,
            from,
            to,
            measurements: evidence.measurements.clone(),
            calls: evidence.calls.clone(),
            log: evidence.log.clone(),
        }
    }
}

const fn refused(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Changed => "the target was changed, disabled or deleted while the probe ran",
        Refusal::Overtaken => "a later result is already recorded",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P10: a timeout that is none is refused, by name.
    #[test]
    fn the_deadline_is_read() {
        assert_eq!(limit(b"").unwrap(), None);
        assert_eq!(limit(b"{}").unwrap(), None);
        assert_eq!(limit(b"null").unwrap(), None);
        assert_eq!(limit(b"{\"timeout\": 1.5}").unwrap(), Some(Duration::from_millis(1500)));
        for bad in
            ["{\"timeout\": 0}", "{\"timeout\": -1}", "{\"timeout\": 1e300}", "[]", "{\"t\":1}"]
        {
            assert!(matches!(limit(bad.as_bytes()), Err(ApiError::Bad(_))), "{bad}");
        }
    }
}
