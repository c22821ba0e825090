//! Notifications through the binary: contract E5.

mod killed;
mod mail;
mod own_fault;
mod refusing;
mod sinks;

use probehost_test_support::upstream::StatusSwitch;
use serde_json::Value;

use crate::host::{Config, Host};

/// A sink of that kind, and a rule that tells it everything.
fn told_all(config: Config, name: &str, kind: &str, url: &str) -> Config {
    sink(config, name, kind, url, "")
}

/// As [`told_all`], with further lines of the sink.
fn sink(config: Config, name: &str, kind: &str, url: &str, lines: &str) -> Config {
    config.section(&format!(
        "[notify.sinks.{name}]\nkind = \"{kind}\"\nurl = \"{url}\"\n{lines}\n\
         [[notify.rules]]\nsinks = [\"{name}\"]"
    ))
}

/// Has a target's upstream answer with another status, and probes it by hand.
async fn turn(host: &Host, switch: &StatusSwitch, target: &str, status: u16) {
    switch.set(status);
    let probe = host.probe(target).await;
    assert_eq!(probe["recorded"], true, "{probe}");
}

/// The notifications of a host, oldest first.
async fn notifications(host: &Host, query: &str) -> Vec<Value> {
    let found = host.json(&format!("/api/v1/notifications?limit=1000{query}")).await;
    found["notifications"].as_array().unwrap().iter().rev().cloned().collect()
}
