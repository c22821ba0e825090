//! All of it together: a managed container is killed, comes back by itself, people are told, and who
//! looks at the page sees it happen.

use probehost_test_support::docker::{self, Docker};
use probehost_test_support::receiver::Receiver;
use probehost_test_support::wait::eventually;
use serde_json::{Value, json};

use crate::host::{Config, LIMIT, text};
use crate::page::Browser;

/// What Discord was sent, one text each.
fn told(discord: &Receiver) -> Vec<String> {
    discord.taken().iter().map(|taken| taken.body.to_string()).collect()
}

/// Notes every text that a place shows, from now on, each once.
const NOTE: &str = "window.seen = [];
    const look = () => {
        const text = document.querySelector(arguments[0])?.innerText ?? '';
        const state = ['running', 'offline', 'restarting', 'quarantined'].find((one) => text.includes(one));
        if (state && seen.at(-1) !== state) seen.push(state);
    };
    look();
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });";

/// L2, L9, E1, E5: a container of a real dockerd is killed: it is restarted, Discord is told of the
/// problem and then of its end, and the page in a real browser goes `running → offline → restarting
/// → running` without being asked again.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_container_comes_back_and_everybody_knows() {
    if docker::skip() || Browser::skip() {
        return;
    }
    let docker = Docker::start().unwrap();
    docker.container("shop", &["sleep", "100000"], json!({})).unwrap();
    let discord = Receiver::discord();
    let host = Config::new()
        .section(&format!("[containers]\nengine = \"unix://{}\"", docker.socket().display()))
        .section(&format!(
            "[notify.sinks.chat]\nkind = \"discord\"\nurl = \"{}\"\n[[notify.rules]]\nsinks = [\"chat\"]\nstates = [\"offline\", \"quarantined\"]",
            discord.url()
        ))
        .target_with(
            "shop",
            "runtime = { container = \"shop\" }\nlifecycle = { base = 3 }",
            "container-inspect",
            "interval = 1",
            "container = \"shop\"",
        )
        .start();
    let browser = Browser::open().await;
    browser.go(&format!("{}/#/targets/shop", host.host.base_url())).await;
    browser.live().await;
    let lifecycle = "section[aria-labelledby=lifecycle-title]";
    browser.shows(lifecycle, "running").await;
    browser.run_with(NOTE, &[lifecycle]).await;

    docker.post("/containers/shop/kill", None).unwrap();
    let report = || host.json("/api/v1/health/instances/shop");
    let healed = |report: &Value| report["restarts"] == 1 && report["state"] == "running";
    eventually("it was restarted", LIMIT, report, healed).await;
    assert_eq!(docker.inspect("shop").unwrap()["State"]["Running"], true);

    let seen = || browser.run("return window.seen");
    let all = json!(["running", "offline", "restarting", "running"]);
    eventually("the page has shown each state", LIMIT, seen, |seen| *seen == all).await;
    assert_eq!(browser.problems().await, json!([]));

    eventually(
        "Discord was told of both",
        LIMIT,
        || async { told(&discord) },
        |told| told.len() == 2,
    )
    .await;
    let told = told(&discord);
    assert!(told[0].contains("shop") && told[0].contains("offline"), "{}", told[0]);
    assert!(told[0].contains("137"), "why: {}", told[0]);
    assert!(told[1].contains("shop") && told[1].contains("running"), "{}", told[1]);
    assert_eq!(discord.refused(), [""; 0]);
    let notifications = host.json("/api/v1/notifications").await;
    let states: Vec<_> = notifications["notifications"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (text(&row["kind"]), text(&row["state"])))
        .collect();
    assert_eq!(states, [("recovery", "delivered"), ("problem", "delivered")]);
}
