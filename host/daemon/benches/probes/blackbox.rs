//! The same HEAD probes, asked of real processes over their HTTP APIs: Prometheus'
//! blackbox_exporter, which keeps no record, and `probehost serve`, which does.

use std::future::Future;
use std::sync::Arc;

use reqwest::Client;
use tokio::runtime::Builder;

use crate::cost::{self, Meter};
use crate::fleet::{CHECK, id};
use crate::hosts::{self, Home, Running};
use crate::probes::IN_FLIGHT;
use crate::upstream::Upstream;
use crate::{Failed, report};

/// Probes of one turn.
const PROBES: usize = 3_000;
/// Turns of each.
const ROUNDS: usize = 3;
/// Targets of the host that is asked by hand.
const TARGETS: usize = 100;

pub(crate) fn bench() -> Result<(), Failed> {
    report::part("HEAD probes asked over HTTP of a running process, 16 in flight");
    let upstream = Upstream::start()?;
    let home = hosts::home(&upstream.url(), &Home { targets: TARGETS, ..Home::default() })?;
    let host = hosts::probehost(&home)?;
    let Some(blackbox) = hosts::blackbox()? else {
        println!(
            "  blackbox_exporter is not installed; to compare with it: \
             apt-get install --no-install-recommends prometheus-blackbox-exporter"
        );
        return Ok(());
    };
    let pair = Pair {
        host,
        blackbox,
        upstream: upstream.url(),
        client: Client::builder().no_proxy().build()?,
    };
    Builder::new_multi_thread().enable_all().build()?.block_on(Arc::new(pair).compare())
}

struct Pair {
    host: Running,
    blackbox: Running,
    upstream: String,
    client: Client,
}

impl Pair {
    async fn compare(self: Arc<Self>) -> Result<(), Failed> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        self.turn(TARGETS, Self::ask_host).await?;
        self.turn(TARGETS, Self::ask_blackbox).await?;
        for _ in 0..ROUNDS {
            let meter = Meter::start(|| cost::of(self.blackbox.pid()))?;
            self.turn(PROBES, Self::ask_blackbox).await?;
            theirs.push(meter.stop()?.micros_each(PROBES));
            let meter = Meter::start(|| cost::of(self.host.pid()))?;
            self.turn(PROBES, Self::ask_host).await?;
            ours.push(meter.stop()?.micros_each(PROBES));
        }
        let ratio = ours.iter().zip(&theirs).map(|(one, other)| one / other).collect();
        let (ours, theirs) = (report::median(ours), report::median(theirs));
        report::figure("CPU of 1,000, blackbox_exporter", &format!("{theirs:.0} ms"));
        report::figure(
            "CPU of 1,000, probehost (by hand: record and audit row each)",
            &format!("{ours:.0} ms"),
        );
        report::figure(
            "probehost to blackbox_exporter",
            &format!("{:.2} ×", report::median(ratio)),
        );
        Ok(())
    }

    async fn turn<A>(
        self: &Arc<Self>,
        probes: usize,
        ask: fn(Arc<Self>, usize) -> A,
    ) -> Result<(), Failed>
    where
        A: Future<Output = Result<(), Failed>> + Send + 'static,
    {
        let mut tasks = Vec::new();
        for first in 0..IN_FLIGHT {
            let pair = Arc::clone(self);
            tasks.push(tokio::spawn(async move {
                for number in (first..probes).step_by(IN_FLIGHT) {
                    ask(Arc::clone(&pair), number).await?;
                }
                Ok::<(), Failed>(())
            }));
        }
        for task in tasks {
            task.await??;
        }
        Ok(())
    }

    async fn ask_blackbox(self: Arc<Self>, number: usize) -> Result<(), Failed> {
        let (blackbox, upstream) = (&self.blackbox.url, &self.upstream);
        let number = number % TARGETS;
        let url = format!("{blackbox}/probe?module=head&target={upstream}/health/{number}");
        let text = self.client.get(url).send().await?.error_for_status()?.text().await?;
        if !text.contains("probe_success 1") {
            return Err(format!("blackbox_exporter said {text}").into());
        }
        Ok(())
    }

    async fn ask_host(self: Arc<Self>, number: usize) -> Result<(), Failed> {
        let target = id(number % TARGETS);
        let url = format!("{}/api/v1/targets/{target}/checks/{CHECK}/probe", self.host.url);
        let text = self.client.post(url).send().await?.error_for_status()?.text().await?;
        if !text.contains("\"outcome\":\"pass\"") || !text.contains("\"recorded\":true") {
            return Err(format!("probehost said {text}").into());
        }
        Ok(())
    }
}
