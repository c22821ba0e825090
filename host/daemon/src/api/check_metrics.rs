//! What `GET /metrics` tells of checks (contract E3). There can be thousands, so each sample is
//! written as it is read, and none is gathered first.

use std::fmt::Error;

use probehost_model::{CheckId, Status, WindowSummary};
use probehost_store::CheckStatus;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet, LabelSetEncoder,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

/// The state of these checks, and what `window` says of the last hour of each.
pub(super) fn of_checks(
    checks: Vec<CheckStatus>,
    window: impl Fn(&CheckId) -> WindowSummary,
) -> Registry {
    let checks = checks.into_iter().map(|status| (window(&status.check), status)).collect();
    let mut registry = Registry::with_prefix("probehost_check");
    registry.register_collector(Box::new(Checks(checks)));
    registry
}

#[derive(Debug)]
struct Checks(Vec<(WindowSummary, CheckStatus)>);

/// The labels of a sample: those of the check, and one more.
struct Labels<'a>(&'a CheckStatus, Option<(&'static str, &'static str)>);

impl EncodeLabelSet for Labels<'_> {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> Result<(), Error> {
        let Self(CheckStatus { check, kind, .. }, further) = self;
        let mut pair = |name: &str, value: &str| {
            use prometheus_client::encoding::EncodeLabel;
            (name, value).encode(encoder.encode_label())
        };
        pair("target", &check.target)?;
        pair("check", &check.check)?;
        pair("kind", kind)?;
        further.map_or(Ok(()), |(name, value)| pair(name, value))
    }
}

impl Checks {
    /// One metric, with as many samples of each check as `samples` gives.
    fn gauges<V: EncodeGaugeValue, S: IntoIterator<Item = Sample<V>>>(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        (name, help, unit): (&str, &str, Option<&Unit>),
        samples: impl Fn(&WindowSummary, &CheckStatus) -> S,
    ) -> Result<(), Error> {
        let mut metric = encoder.encode_descriptor(name, help, unit, MetricType::Gauge)?;
        for (window, status) in &self.0 {
            for (further, value) in samples(window, status) {
                metric.encode_family(&Labels(status, further))?.encode_gauge(&value)?;
            }
        }
        Ok(())
    }
}

/// A further label, and a value.
type Sample<V> = (Option<(&'static str, &'static str)>, V);

impl Collector for Checks {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let encoder = &mut encoder;
        self.gauges(
            encoder,
            ("status", "1 for the status that the check has, 0 for the others.", None),
            |_, status| {
                Status::ALL
                    .map(|each| (Some(("status", each.as_str())), i64::from(each == status.status)))
            },
        )?;
        self.gauges(encoder, ("failure_streak", "Failures in a row.", None), |_, status| {
            [(None, i64::from(status.streak))]
        })?;
        self.gauges(
            encoder,
            (
                "last_result_timestamp",
                "When the last conclusive probe ended, since the Unix epoch.",
                Some(&Unit::Seconds),
            ),
            |_, status| status.checked_at.map(|at| (None, at.as_micros() / 1_000_000)),
        )?;
        self.gauges(
            encoder,
            (
                "error_rate",
                "Failed probes of those in the last hour that were conclusive, 0 to 1.",
                None,
            ),
            |window, _| window.error_rate.map(|rate| (None, rate)),
        )?;
        self.gauges(
            encoder,
            (
                "latency",
                "Time that the passed probes of the last hour took, by quantile.",
                Some(&Unit::Seconds),
            ),
            |window, _| {
                [("0.5", window.p50), ("0.95", window.p95), ("0.99", window.p99)]
                    .into_iter()
                    .filter_map(|(quantile, time)| {
                        Some((Some(("quantile", quantile)), time?.as_secs_f64()))
                    })
            },
        )
    }
}
