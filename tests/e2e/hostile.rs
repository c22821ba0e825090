//! Hostile plugins beside healthy checks: P5 and T5 through the whole host.

use probehost_test_support::upstream::Upstream;

use crate::host::{Config, PluginDir, text};

/// Each with what its fault is called.
const HOSTILE: [(&str, &str); 9] = [
    ("deep_recursion", "stack"),
    ("exit_in_check", "called exit"),
    ("handle_flood", "handles"),
    ("huge_answer", "more than 6291456 bytes"),
    ("loop_in_check", "still computing when the deadline came"),
    ("memory_bomb", "64 MiB"),
    ("panic_in_check", "the probe lost its way at 7"),
    ("sleepy", "was sleeping when the deadline came"),
    ("trap", "trapped"),
];

/// Floods that cost nothing but their own output: what they find still counts.
const FLOODS: [&str; 2] = ["log_flood", "stdout_flood"];

/// P5, T5: a plugin that loops, panics, traps or floods is inconclusive, named with its
/// version; after the threshold its check is `unknown` and never `unhealthy`, and the checks
/// beside it stay healthy and fresh.
#[tokio::test]
async fn no_other_check_notices() {
    let names: Vec<&str> = HOSTILE.iter().map(|(name, _)| *name).chain(FLOODS).collect();
    let plugins = PluginDir::new(&names);
    let upstream = Upstream::status(200);
    let mut config = Config::new().plugins(plugins.path());
    for name in &names {
        // Those whose fault is that the deadline comes; the others have all the time they need.
        let timeout = if ["loop_in_check", "sleepy"].contains(name) { 0.5 } else { 20.0 };
        let settings = format!("interval = 1\ntimeout = {timeout}");
        let own = if *name == "panic_in_check" { "number = 7" } else { "" };
        let kind = name.replace('_', "-");
        config = config.target(&kind, &kind, &settings, own);
    }
    let well: Vec<String> = (0..8).map(|number| format!("well-{number}")).collect();
    for target in &well {
        config = config.head(target, "interval = 5", &upstream.url());
    }
    let mut host = config.start();

    for (name, fault) in HOSTILE {
        let target = name.replace('_', "-");
        let check = host
            .until("the hostile one is past its threshold", &target, |check| {
                check["inconclusive_streak"].as_u64() >= Some(3)
            })
            .await;
        assert_eq!((&check["status"], &check["reason"]), (&"unknown".into(), &().into()));
        let said = text(&check["last_error"]);
        assert!(said.contains(&format!("{target} 0.1.0")), "{target}: {said}");
        assert!(said.contains(fault), "{target}: no {fault:?} in {said:?}");
        // P8.
        assert!(said.len() <= 512, "{target}: {said}");
        assert!(host.transitions(&target).await.is_empty());
    }
    let plugins_now = host.json("/api/v1/plugins").await;
    let listed = plugins_now["plugins"].as_array().unwrap();
    for (name, fault) in HOSTILE {
        let kind = name.replace('_', "-");
        let plugin = listed.iter().find(|plugin| plugin["name"] == kind.as_str()).unwrap();
        let faults = &plugin["faults"];
        assert!(faults["in_a_row"].as_u64() >= Some(3), "{plugin}");
        assert!(text(&faults["last"]).contains(fault), "{plugin}");
    }
    let quiet = listed.iter().find(|plugin| plugin["name"] == "http-head").unwrap();
    assert_eq!(quiet["faults"]["count"], 0);
    assert!(host.output().contains("the plugin keeps failing"), "{}", host.output());
    for name in FLOODS {
        let target = name.replace('_', "-");
        let probe = host.probe(&target).await;
        assert!(probe["log"].as_array().unwrap().len() <= 65, "{target}");
        assert_ne!(host.check(&target).await["status"], "unhealthy");
    }
    let mut before = Vec::new();
    for target in &well {
        before.push(host.check(target).await["checked_at"].clone());
    }
    for (target, before) in well.iter().zip(before) {
        let again = host
            .until("it was probed again amid all that", target, |check| {
                check["checked_at"] != before
            })
            .await;
        assert_eq!((&again["status"], &again["stale"]), (&"healthy".into(), &false.into()));
        assert_eq!(host.transitions(target).await, ["unknown>healthy"]);
    }
    assert!(host.host.process().status().unwrap().is_none(), "the host lives");
    host.stop();
    let output = host.output();
    assert!(!output.contains("panicked at host/"), "{output}");
}

/// P1: nothing of one run is visible to the next.
#[tokio::test]
async fn every_run_is_fresh() {
    let plugins = PluginDir::new(&["global_state"]);
    let host = Config::new()
        .plugins(plugins.path())
        .target("state", "global-state", "interval = 0", "keep = 40000000")
        .start();
    for _ in 0..5 {
        let probe = host.probe("state").await;
        assert_eq!(crate::host::measured(&probe, "runs"), Some(1.0), "{probe}");
    }
}
