//! Lists of 10,000 targets over the API, while each is probed every 60 s.

use std::time::{Duration, Instant};

use reqwest::Client;
use tokio::runtime::Builder;

use crate::hosts::{self, Home};
use crate::upstream::Upstream;
use crate::{Failed, cost, report};

const TARGETS: usize = 10_000;
/// How often each is probed, in seconds: 167 probes a second in all.
const INTERVAL: u32 = 60;
/// Calls of each kind.
const CALLS: usize = 200;
/// Calls for the metrics: a scraper comes a few times a minute.
const SCRAPES: usize = 20;
/// A dashboard's pace: one call after the other, with a pause between.
const PAUSE: Duration = Duration::from_millis(10);
/// Longest wait until the rush of the start is over.
const SETTLED: Duration = Duration::from_secs(240);

const AIM_MS: f64 = 50.0;

/// What is asked for, and how.
const LISTS: [(&str, &str); 6] = [
    ("a page of 100", "limit=100"),
    ("a page of 100 from the middle", "limit=100&after=target-5"),
    ("those that are unhealthy", "status=unhealthy&limit=100"),
    ("by a part of the name", "text=et-77&limit=100"),
    ("by kind, without configs", "kind=http-head&config=false&limit=100"),
    ("what has news of the last 2 s", "changed_within=2&config=false&recent=5&limit=1000"),
];

pub(crate) fn bench() -> Result<(), Failed> {
    report::part("Lists of 10,000 targets while 167 a second are probed, 99 of 100 calls within");
    let upstream = Upstream::start()?;
    let home = hosts::home(
        &upstream.url(),
        &Home { targets: TARGETS, interval: INTERVAL, ..Home::default() },
    )?;
    let host = hosts::probehost(&home)?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = Client::builder().no_proxy().build()?;
        settle(&client, &host.url).await?;
        for (what, query) in LISTS {
            let url = format!("{}/api/v1/targets?{query}", host.url);
            let (most, kib) = timed(&client, &url, CALLS).await?;
            report::below(&format!("{what} ({kib} KiB)"), most, AIM_MS, "ms");
        }
        let (most, kib) = timed(&client, &format!("{}/metrics", host.url), SCRAPES).await?;
        report::figure(&format!("all metrics ({kib} KiB)"), &format!("{most:.1} ms"));
        let mib = cost::kib(host.pid(), "status", "VmRSS")? as f64 / 1024.0;
        report::figure("  resident", &format!("{mib:.0} MiB"));
        Ok(())
    })
}

/// What 99 of 100 calls take at most, in milliseconds, and the size of the last answer in KiB.
async fn timed(client: &Client, url: &str, calls: usize) -> Result<(f64, usize), Failed> {
    let (mut times, mut size) = (Vec::with_capacity(calls), 0);
    for _ in 0..calls {
        let began = Instant::now();
        size = client.get(url).send().await?.error_for_status()?.bytes().await?.len();
        times.push(began.elapsed().as_secs_f64() * 1e3);
        tokio::time::sleep(PAUSE).await;
    }
    times.sort_by(f64::total_cmp);
    Ok((times.get(calls * 99 / 100).copied().unwrap_or_default(), size >> 10))
}

/// Waits until each check was probed twice: the first time they all are due at once.
async fn settle(client: &Client, url: &str) -> Result<(), Failed> {
    let until = Instant::now() + SETTLED;
    while Instant::now() < until {
        let text = client.get(format!("{url}/metrics")).send().await?.text().await?;
        let counts = text.lines().filter(|line| line.starts_with("probehost_probe_total{"));
        let count: f64 =
            counts.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum();
        if count >= 2.0 * TARGETS as f64 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    Err(format!("after {} s there are checks that were not probed twice", SETTLED.as_secs()).into())
}
