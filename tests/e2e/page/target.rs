//! One target on the page: its timeline with the rules, a probe by hand, its lifecycle, its grants.

use std::fs;

use probehost_test_support::upstream::{ClosedPort, StatusSwitch, Upstream};
use probehost_test_support::wait::eventually;
use serde_json::json;

use super::Browser;
use crate::host::{Config, LIMIT, PluginDir};

/// T2, T3, T4, A1, G2: the timeline says by which rule the status changed, a probe by hand is shown
/// with what it found and that it was recorded, and what the target may reach is named.
#[tokio::test(flavor = "multi_thread")]
async fn a_target_tells_what_happened_and_why() {
    if Browser::skip() {
        return;
    }
    let status = StatusSwitch::new(200);
    let upstream = Upstream::switched(&status);
    let host = Config::new()
        .head("shop", "interval = 0", &upstream.url())
        .head("gone", "interval = 0", &ClosedPort::reserve().url())
        .start();
    for answer in [200, 503, 503] {
        status.set(answer);
        host.probe("shop").await;
    }
    status.set(200);
    let browser = Browser::open().await;
    browser.go(&format!("{}/#/targets/shop", host.host.base_url())).await;
    browser.live().await;
    browser.shows(".timeline", "2 failures in a row reached the threshold of 2.").await;
    browser.shows(".timeline", "answered 503").await;
    browser.shows(".timeline", "One pass is enough").await;
    let origin = format!("http://{}", upstream.address());
    browser.shows("section[aria-labelledby=reach-title]", &origin).await;
    browser.shows("section[aria-labelledby=reach-title]", "its own config names it").await;

    browser.press("Probe now").await;
    browser.shows(".result", "recorded, unhealthy → healthy").await;
    browser.shows(".timeline", "Probed by hand by local.").await;
    let probes = host.audit("target=shop&action=probe").await;
    assert_eq!(probes.last().unwrap()["to"], "healthy");
    browser.press("Probe now").await;
    let all = || host.audit("target=shop&action=probe");
    eventually("the probe is over", LIMIT, all, |probes| probes.len() == 5).await;
    browser.shows(".timeline", "Probed by hand by local; the status stays healthy.").await;
    // One of two failures counts, and is shown as that.
    status.set(503);
    browser.press("Probe now").await;
    browser.shows(".panel > .facts", "1 of 2").await;
    assert_eq!(host.check("shop").await["status"], "healthy");
    assert_eq!(browser.problems().await, json!([]));
}

/// T3, T5: a sticky reason and inconclusive probes are told by their own rules.
#[tokio::test(flavor = "multi_thread")]
async fn sticky_and_inconclusive_have_their_own_rules() {
    if Browser::skip() {
        return;
    }
    let plugins = PluginDir::new(&["undeclared_endpoint", "trap"]);
    let host = Config::new()
        .plugins(plugins.path())
        .target("sticky", "undeclared-endpoint", "interval = 0", "url = \"http://odd.test\"")
        .target("odd", "trap", "interval = 0", "")
        .start();
    host.probe("sticky").await;
    let browser = Browser::open().await;
    browser.go(&format!("{}/#/targets/sticky", host.host.base_url())).await;
    browser.shows(".timeline", "“config” is sticky: one failure is enough").await;
    browser.shows("section[aria-labelledby=reach-title]", "Refused").await;
    browser.go(&format!("{}/#/targets/odd", host.host.base_url())).await;
    browser.press("Probe now").await;
    browser.shows(".result", "inconclusive").await;
    browser.shows("section.panel", "The last probe was inconclusive").await;
    browser.go(&format!("{}/#/plugins", host.host.base_url())).await;
    browser.shows("main", "1 fault").await;
    browser.shows("main", "http-head").await;
}

/// L2, L7, E3: a managed target is set aside and released from the page, and its lifecycle is shown
/// as it goes, with the rule of each step.
#[tokio::test(flavor = "multi_thread")]
async fn a_managed_target_is_set_aside_and_released() {
    if Browser::skip() {
        return;
    }
    let status = StatusSwitch::new(200);
    let upstream = Upstream::switched(&status);
    let host = Config::new()
        .section("[commands.revive]\nargv = [\"/bin/true\"]")
        .target_with(
            "shop",
            "runtime = { command = \"revive\" }",
            "http-head",
            "interval = 5\nfailure_threshold = 1",
            &format!("url = \"{}\"", upstream.url()),
        )
        .start();
    let browser = Browser::open().await;
    browser.go(&format!("{}/#/targets/shop", host.host.base_url())).await;
    let lifecycle = "section[aria-labelledby=lifecycle-title]";
    browser.shows(lifecycle, "running").await;
    browser.press("Quarantine").await;
    browser.click("dialog[open] input").await;
    browser.keys("<b>its disk</b> is replaced").await;
    browser.click("dialog[open] button[type=submit]").await;
    browser.shows(lifecycle, "quarantined").await;
    browser.shows(".timeline", "Set aside by local: no more restarts until it is released.").await;
    browser.shows(".timeline", "<b>its disk</b> is replaced").await;
    browser.press("Release").await;
    browser.click("dialog[open] button[type=submit]").await;
    browser.shows(".timeline", "Released by local, with restart 1.").await;
    browser.shows(".timeline", "Live and ready again after restart 1.").await;
    browser.shows(lifecycle, "running").await;
    assert_eq!(browser.problems().await, json!([]));
}

/// P8: what a target, an operator or a plugin wrote is shown as text, whatever is in it; and no
/// secret is on the page or in what it was sent.
#[tokio::test(flavor = "multi_thread")]
async fn texts_stay_texts_and_secrets_stay_away() {
    const SECRET: &str = "planted-7d1f0c55";
    if Browser::skip() {
        return;
    }
    let plugins = PluginDir::new(&["long_message"]);
    let upstream = Upstream::switched(&StatusSwitch::new(200));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("login"), SECRET).unwrap();
    let name = "name = \"<img src=x onerror='window.hacked=1'>\"\nlabels = { a = \"</a><script>window.hacked=2</script>\" }";
    let url = format!(
        "url = \"{}\", headers = {{ Authorization = {{ secret = \"login\" }} }}",
        upstream.url()
    );
    let host = Config::new()
        .plugins(plugins.path())
        .section(&format!("[secrets]\ndirectory = {:?}", folder.path()))
        .target_with("shop", name, "http-head", "interval = 0", &url)
        .target("odd", "long-message", "interval = 0\nfailure_threshold = 1", "")
        .start();
    host.probe("shop").await;
    host.probe("odd").await;
    assert!(
        upstream.requests().iter().any(|request| request.header("authorization") == Some(SECRET))
    );
    let browser = Browser::open().await;
    let mut seen = String::new();
    for (place, shown) in [
        ("", "<script>"),
        ("#/targets/shop", "<img src=x onerror="),
        ("#/targets/odd", "<script>"),
        ("#/audit", "<script>"),
        ("#/plugins", "http-head"),
    ] {
        browser.go("about:blank").await;
        browser.go(&format!("{}/{place}", host.host.base_url())).await;
        browser.shows("main", shown).await;
        if place.starts_with("#/targets/shop") {
            browser.press("Probe now").await;
            browser.shows(".result", "recorded").await;
            browser.click("summary").await;
        }
        seen.push_str(&browser.source().await);
        assert_eq!(browser.run("return window.hacked ?? null").await, json!(null), "{place}");
        assert_eq!(
            browser
                .run("return document.querySelectorAll('#app img[src=x], #app script').length")
                .await,
            0
        );
        assert_eq!(browser.problems().await, json!([]), "{place}");
        let text = browser.text("main").await;
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\0']), "{text:?}");
    }
    assert!(!seen.contains(SECRET));
}
