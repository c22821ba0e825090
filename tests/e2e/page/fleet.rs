//! The fleet on the page: what it shows, as it happens, and how it is searched.

use probehost_test_support::upstream::{ClosedPort, StatusSwitch, Upstream};

use super::Browser;
use super::browser::{DOWN, ENTER, ESCAPE};
use crate::host::{Config, PluginDir};

/// The filters.
const KIND: &str = "select[name=kind]";
const GROUP: &str = "select[name=group]";
const ONCE: &str = "interval = 0\nfailure_threshold = 1";

/// E1, S6: the page shows each status with its reason, and a target that fails and recovers is
/// shown so without a reload. A click leads to the target.
#[tokio::test(flavor = "multi_thread")]
async fn statuses_are_shown_as_they_change() {
    if Browser::skip() {
        return;
    }
    let status = StatusSwitch::new(200);
    let upstream = Upstream::switched(&status);
    let closed = ClosedPort::reserve();
    let host = Config::new()
        .head("shop", ONCE, &upstream.url())
        .head("gone", ONCE, &closed.url())
        .head("new", ONCE, &upstream.url())
        .start();
    host.probe("shop").await;
    host.probe("gone").await;
    let browser = Browser::open().await;
    browser.go(host.host.base_url()).await;
    browser.live().await;
    let [shop, gone, new] = ["shop", "gone", "new"].map(Browser::row);
    browser.shows(&shop, "healthy").await;
    browser.shows(&gone, "unhealthy").await;
    browser.shows(&gone, "network").await;
    browser.shows(&new, "unknown").await;
    // The worst come first.
    let order = browser.texts("a.row .name").await;
    let first: Vec<_> = order.iter().filter_map(|name| name.split_whitespace().next()).collect();
    assert_eq!(first, ["gone", "new", "shop"]);

    browser.run("window.stayed = true").await;
    status.set(503);
    host.probe("shop").await;
    browser.shows(&shop, "unhealthy").await;
    browser.shows(&shop, "answer").await;
    browser.shows(".count.unhealthy", "2").await;
    browser.shows("#said", "shop http-head is unhealthy").await;
    status.set(200);
    host.probe("shop").await;
    browser
        .until("it recovers", &shop, |text| text.contains("healthy") && !text.contains("unhealthy"))
        .await;
    assert_eq!(browser.run("return window.stayed").await, true, "it was loaded anew");

    browser.click(&shop).await;
    browser.shows("h1", "shop").await;
    browser.shows(".timeline", "healthy → unhealthy").await;
    assert_eq!(browser.problems().await, serde_json::json!([]));
}

/// Search, filters and groups narrow down what is shown, by mouse and by keys alone.
#[tokio::test(flavor = "multi_thread")]
async fn the_fleet_is_searched_and_walked_by_keys() {
    if Browser::skip() {
        return;
    }
    let plugins = PluginDir::new(&["echo"]);
    let upstream = Upstream::switched(&StatusSwitch::new(200));
    let mut config = Config::new().plugins(plugins.path());
    for (id, team) in [("cart", "sales"), ("mail", "office"), ("shop", "sales")] {
        let line = format!("labels = {{ team = \"{team}\" }}");
        config = config.target_with(
            id,
            &line,
            "http-head",
            ONCE,
            &format!("url = \"{}\"", upstream.url()),
        );
    }
    let host = config.target("word", "echo", ONCE, "outcome = \"pass\"").start();
    let browser = Browser::open().await;
    browser.go(host.host.base_url()).await;
    browser.live().await;
    let names = || async {
        let rows = browser.texts("a.row .name").await;
        rows.iter()
            .map(|row| row.split_whitespace().next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    let until = async |what: &str, wanted: &[&str]| {
        crate::page::until_rows(what, &names, wanted).await;
    };
    until("all are shown", &["cart", "mail", "shop", "word"]).await;

    browser.keys("/").await;
    browser.keys("team=sales").await;
    until("only what is searched for", &["cart", "shop"]).await;
    browser.keys(DOWN).await;
    browser.keys(DOWN).await;
    browser.keys(ENTER).await;
    browser.shows("h1", "shop").await;
    browser.keys(ESCAPE).await;
    until("Escape leads back to the search", &["cart", "shop"]).await;
    browser.keys("/").await;
    browser.keys(ESCAPE).await;
    until("Escape ends the search", &["cart", "mail", "shop", "word"]).await;

    browser.choose(KIND, "echo").await;
    until("one kind", &["word"]).await;
    browser.choose(KIND, "").await;
    browser.choose(GROUP, "team").await;
    browser.shows(".list", "team: sales").await;
    assert_eq!(browser.texts("button.group").await.len(), 3);
    browser.click("button.group").await;
    until("a group that is closed", &["cart", "shop", "word"]).await;
    // A link holds all of it.
    let hash = browser.run("return location.hash").await;
    assert_eq!(hash, "#/?group=team");
    browser.press("0 unhealthy").await;
    browser.shows(".fleet", "No check is as asked for.").await;
    assert_eq!(browser.problems().await, serde_json::json!([]));
}
