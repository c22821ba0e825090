//! What the page costs with thousands of checks: measured and printed.

use std::time::Instant;

use probehost_test_support::upstream::{StatusSwitch, Upstream};
use probehost_test_support::wait::eventually;
use serde_json::{Value, json};

use super::Browser;
use crate::host::{Config, LIMIT, soak};

/// E3: the first paint and the memory of the page with 2,000 checks, and how long frames take while
/// it is scrolled. In the long form only; figures are printed, and only what would be broken fails.
#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_checks() {
    const CHECKS: usize = 2000;
    if !soak() || Browser::skip() {
        return;
    }
    let upstream = Upstream::switched(&StatusSwitch::new(200));
    let mut config = Config::new();
    for number in 0..CHECKS {
        let line = format!("labels = {{ team = \"team-{}\" }}", number % 20);
        let url = format!("url = \"{}\", path = \"/{number}\"", upstream.url());
        config =
            config.target_with(&format!("t{number:04}"), &line, "http-head", "interval = 20", &url);
    }
    let host = config.start();
    let lists = || async {
        // The first thousand stand for all.
        let list = host.json("/api/v1/targets?config=false&recent=30&limit=1000").await;
        let all = list["targets"].as_array().unwrap().clone();
        all.iter()
            .map(|one| one["checks"][0]["recent"].as_array().unwrap().len())
            .min()
            .unwrap_or(0)
    };
    eventually("each has some runs", 4 * LIMIT, lists, |least| *least >= 4).await;
    for query in [
        "?limit=1000",
        "?config=false&limit=1000",
        "?config=false&recent=30&limit=1000",
        "?config=false&recent=30&changed_within=20&limit=1000",
    ] {
        let began = Instant::now();
        let answer = host.get(&format!("/api/v1/targets{query}")).await;
        println!(
            "GET /api/v1/targets{query}: {} KiB in {:?}",
            answer.text.len() / 1024,
            began.elapsed()
        );
    }

    let browser = Browser::open().await;
    browser.devtools("Performance.enable", json!({})).await;
    for visit in ["first visit", "second visit"] {
        browser.go("about:blank").await;
        browser.go(host.host.base_url()).await;
        let painted =
            "return [performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
            performance.now(), document.querySelectorAll('a.row').length]";
        let rows = eventually(
            "rows are there",
            LIMIT,
            || browser.run(painted),
            |seen: &Value| seen[2].as_u64() > Some(10),
        )
        .await;
        println!(
            "{visit}: first contentful paint {:.0} ms, rows by {:.0} ms",
            number(&rows[0]),
            number(&rows[1])
        );
        assert!(number(&rows[2]) < 100.0, "only what is in sight is in the document: {rows}");
        browser.shows(".count", "2000").await;
    }
    let frames =
        "const done = arguments[0]; const times = []; let before = performance.now(); let n = 0;
        const step = () => { const now = performance.now(); times.push(now - before); before = now;
          window.scrollTo(0, (n * 977) % document.documentElement.scrollHeight);
          if ((n += 1) < 200) requestAnimationFrame(step);
          else { times.sort((a, b) => a - b); done([times[100], times[190], times[199]]); } };
        requestAnimationFrame(step)";
    let frames = browser.run_async(frames).await;
    println!(
        "200 frames of scrolling: p50 {:.1} ms, p95 {:.1} ms, longest {:.1} ms",
        number(&frames[0]),
        number(&frames[1]),
        number(&frames[2])
    );
    tokio::time::sleep(std::time::Duration::from_secs(30)).await;
    browser.devtools("HeapProfiler.collectGarbage", json!({})).await;
    let metrics = browser.devtools("Performance.getMetrics", json!({})).await;
    let metric = |name: &str| {
        let all = metrics["metrics"].as_array().unwrap();
        number(&all.iter().find(|one| one["name"] == name).unwrap()["value"])
    };
    let heap = metric("JSHeapUsedSize") / f64::from(1 << 20);
    println!(
        "after half a minute: JS heap {heap:.1} MiB, {} nodes, script {:.1} s",
        metric("Nodes"),
        metric("ScriptDuration")
    );
    assert!(heap < 200.0, "{heap} MiB");
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}
