//! Who can use the page: by keys, with a screen reader, in the light and in the dark, on a phone;
//! and that it is the host's own page alone.

use std::path::PathBuf;
use std::process::Command;

use probehost_test_support::upstream::{ClosedPort, StatusSwitch, Upstream};
use serde_json::{Value, json};

use super::Browser;
use crate::host::Config;
use crate::plugin_road::{ran, skip_without_npm};

/// What looks for faults of access, as npm has it. Kept from run to run.
const AXE: &str = "axe-core@4";

/// The script of axe-core, or none where npm can't fetch it.
fn axe() -> Option<String> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("axe");
    let file = folder.join("node_modules/axe-core/axe.min.js");
    if !file.is_file() {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]);
        let installed = ran(npm.arg(&folder).arg(AXE));
        let must = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(installed.code == 0 || !must, "{installed:?}");
    }
    std::fs::read_to_string(file).ok()
}

/// The page has no fault that axe-core knows of: names, roles, landmarks, and contrast, in both
/// themes and on every view; and it fits a phone.
#[tokio::test(flavor = "multi_thread")]
async fn everyone_can_use_it() {
    if Browser::skip() || skip_without_npm() {
        return;
    }
    let Some(axe) = axe() else {
        println!("SKIPPED the look for faults of access: npm could not fetch {AXE}");
        return;
    };
    let status = StatusSwitch::new(200);
    let upstream = Upstream::switched(&status);
    let host = Config::new()
        .section("[commands.revive]\nargv = [\"/bin/true\"]")
        .target_with(
            "shop",
            "runtime = { command = \"revive\" }\nlabels = { team = \"sales\" }",
            "http-head",
            "interval = 60",
            &format!("url = \"{}\"", upstream.url()),
        )
        .head("gone", "interval = 0\nfailure_threshold = 1", &ClosedPort::reserve().url())
        .start();
    host.probe("gone").await;
    host.probe("shop").await;
    let browser = Browser::open().await;
    let theme = async |name: &str| {
        let features = json!([{ "name": "prefers-color-scheme", "value": name }]);
        browser.devtools("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    };
    let faults = async |options: &str| {
        browser
            .run_async(&format!(
                "const done = arguments[0]; axe.run({options}).then((found) => done(
                   found.violations.map((one) =>
                     `${{one.id}}: ${{one.nodes.map((node) => node.target.join(' ')).join(', ')}}`)))"
            ))
            .await
    };
    for (place, shown) in [
        ("", "unhealthy"),
        ("#/?group=team", "team: sales"),
        ("#/targets/shop", "gets work"),
        ("#/targets/gone", "refused the connection"),
        ("#/plugins", "container-inspect"),
        ("#/audit", "probe"),
    ] {
        theme("light").await;
        browser.go("about:blank").await;
        browser.go(&format!("{}/{place}", host.host.base_url())).await;
        browser.shows("main", shown).await;
        browser.live().await;
        browser.run(&format!("{axe}; window.axe = axe")).await;
        assert_eq!(faults("").await, json!([]), "{place} in the light");
        theme("dark").await;
        // The theme changes colours only.
        let contrast = "{ runOnly: ['color-contrast'] }";
        assert_eq!(faults(contrast).await, json!([]), "{place} in the dark");
    }
    let phone = json!({ "width": 390, "height": 800, "deviceScaleFactor": 2, "mobile": true });
    browser.devtools("Emulation.setDeviceMetricsOverride", phone).await;
    for place in ["", "#/targets/shop", "#/plugins", "#/audit"] {
        browser.go("about:blank").await;
        browser.go(&format!("{}/{place}", host.host.base_url())).await;
        browser.live().await;
        let wide = browser.run("return document.documentElement.scrollWidth").await;
        assert!(wide.as_u64().unwrap() <= 390, "{place} is {wide} wide");
    }
}

/// The system's theme is followed, and a choice goes before it and is kept.
#[tokio::test(flavor = "multi_thread")]
async fn light_and_dark() {
    if Browser::skip() {
        return;
    }
    let host = Config::new().start();
    let browser = Browser::open().await;
    let ground =
        async || browser.run("return getComputedStyle(document.body).backgroundColor").await;
    let prefer = async |theme: &str| {
        let features = json!([{ "name": "prefers-color-scheme", "value": theme }]);
        browser.devtools("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    };
    prefer("light").await;
    browser.go(host.host.base_url()).await;
    browser.shows("main", "Nothing is watched yet").await;
    let light = ground().await;
    prefer("dark").await;
    let dark = ground().await;
    assert_ne!(light, dark);
    browser.choose("#theme", "light").await;
    assert_eq!(ground().await, light);
    browser.reload().await;
    browser.shows("main", "Nothing is watched yet").await;
    assert_eq!(ground().await, light, "the choice is kept");
    browser.choose("#theme", "system").await;
    assert_eq!(ground().await, dark);
}

/// It works without a network: everything comes from the host itself, with the headers that keep it
/// so; and what is unchanged is not sent again.
#[tokio::test(flavor = "multi_thread")]
async fn it_is_the_hosts_own_alone() {
    let host = Config::new().start();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let base = host.host.base_url();
    for (path, kind) in [
        ("/", "text/html; charset=utf-8"),
        ("/assets/app.js", "text/javascript; charset=utf-8"),
        ("/assets/base.css", "text/css; charset=utf-8"),
        ("/assets/logo.svg", "image/svg+xml"),
    ] {
        let answer = client.get(format!("{base}{path}")).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), kind);
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "no-referrer");
        let policy = header("content-security-policy");
        assert!(
            policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"),
            "{policy}"
        );
        let again = client.get(format!("{base}{path}")).header("if-none-match", header("etag"));
        assert_eq!(again.send().await.unwrap().status(), 304, "{path}");
    }
    let missing = host.get("/assets/nothing.js").await;
    assert_eq!(crate::host::code(&missing, 404), "no-such-path");
    if Browser::skip() {
        return;
    }
    let browser = Browser::open().await;
    browser.go(base).await;
    browser.live().await;
    let loaded =
        browser.run("return performance.getEntriesByType('resource').map((one) => one.name)").await;
    let loaded: Vec<Value> = loaded.as_array().unwrap().clone();
    assert!(loaded.len() > 5);
    for name in loaded {
        assert!(name.as_str().unwrap().starts_with(base), "{name}");
    }
}
