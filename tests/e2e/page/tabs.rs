//! Many tabs with the page: a browser has six connections to a host, for all of them.

use probehost_test_support::upstream::{StatusSwitch, Upstream};
use serde_json::json;

use super::Browser;
use crate::host::{Config, Host};

/// More than a browser opens connections to one host.
const TABS: usize = 9;

/// Notes the streams that a page opens.
const STREAMS: &str = "window.streams = [];
    window.EventSource = class extends EventSource {
      constructor(url) { super(url); window.streams.push(this); }
    };";

/// A host with one target, `shop`, which was well.
struct Shop {
    status: StatusSwitch,
    _upstream: Upstream,
    host: Host,
}

impl Shop {
    async fn open() -> Self {
        let status = StatusSwitch::new(200);
        let upstream = Upstream::switched(&status);
        let settings = "interval = 0\nfailure_threshold = 1";
        let host = Config::new().head("shop", settings, &upstream.url()).start();
        host.probe("shop").await;
        Self { status, _upstream: upstream, host }
    }
}

/// E2: the page is live in as many tabs as somebody opens, and one that is turned to again has
/// caught up with what it missed.
#[tokio::test(flavor = "multi_thread")]
async fn it_is_live_in_many_tabs() {
    if Browser::skip() {
        return;
    }
    let Shop { status, host, .. } = &Shop::open().await;
    let (browser, shop) = (Browser::open().await, Browser::row("shop"));
    let mut tabs = Vec::new();
    for _ in 0..TABS {
        tabs.push(browser.tab().await);
        browser.go(host.host.base_url()).await;
        browser.live().await;
        browser.shows(&shop, "healthy").await;
    }
    status.set(503);
    host.probe("shop").await;
    browser.shows(&shop, "unhealthy").await;
    browser.turn_to(&tabs[0]).await;
    browser.shows(&shop, "unhealthy").await;
    browser.live().await;
    status.set(200);
    host.probe("shop").await;
    browser.until("it is live there too", &shop, |text| !text.contains("unhealthy")).await;
}

/// E2: a page that was left holds no connection, and is live again on the way back.
#[tokio::test(flavor = "multi_thread")]
async fn it_is_live_on_the_way_back() {
    if Browser::skip() {
        return;
    }
    let Shop { status, host, .. } = &Shop::open().await;
    let (browser, shop) = (Browser::open().await, Browser::row("shop"));
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", json!({ "source": STREAMS })).await;
    for _ in 0..TABS {
        browser.go(host.host.base_url()).await;
        browser.live().await;
        browser.go("about:blank").await;
    }
    status.set(503);
    host.probe("shop").await;
    browser.run("history.back()").await;
    browser.shows(&shop, "unhealthy").await;
    browser.live().await;
    // The page is the one that was left: its first stream it has closed, and opened another.
    let streams = browser.run("return streams.map((one) => one.readyState)").await;
    assert_eq!(streams, json!([2, 1]));
    assert_eq!(browser.problems().await, json!([]));
}
