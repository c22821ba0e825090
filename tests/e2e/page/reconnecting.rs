//! The page when the host goes away and comes back.

use probehost_test_support::upstream::{StatusSwitch, Upstream};
use serde_json::json;

use super::Browser;
use crate::host::Config;

/// E2, R9: a page whose host is gone says so, and since when; when the host is back it catches up
/// with what it missed, and goes on live.
#[tokio::test(flavor = "multi_thread")]
async fn it_catches_up_after_the_host_was_away() {
    if Browser::skip() {
        return;
    }
    let status = StatusSwitch::new(200);
    let upstream = Upstream::switched(&status);
    let config = Config::new().head("shop", "interval = 0\nfailure_threshold = 1", &upstream.url());
    let mut host = config.start();
    host.probe("shop").await;
    let browser = Browser::open().await;
    browser.go(host.host.base_url()).await;
    browser.live().await;
    let shop = Browser::row("shop");
    browser.shows(&shop, "healthy").await;

    host.stop();
    browser.shows(".banner", "No connection to the host since").await;
    browser.shows("[data-connection]", "not connected").await;
    browser.shows(&shop, "healthy").await;
    let address = host.host.base_url().trim_start_matches("http://").to_owned();
    status.set(503);
    let config = config.listen(&address).head("other", "interval = 0", &upstream.url());
    host.restart(Some(&config));
    host.probe("shop").await;
    browser.live().await;
    browser.shows(&shop, "unhealthy").await;
    browser.shows(&Browser::row("other"), "unknown").await;
    browser.until("the banner is gone", ".banner", str::is_empty).await;
    status.set(200);
    host.probe("shop").await;
    browser.until("it is live again", &shop, |text| !text.contains("unhealthy")).await;
    // What the browser says of a connection that is refused is no fault of the page.
    assert_eq!(browser.problems().await, json!([]));
}
