//! Managed targets: runtimes, the layers of a policy, and what is wrong with either.

#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests fail the test")]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use probehost_config::{Config, ConfigErrors, FieldError, KindRules};
use probehost_model::lifecycle::{PartialPolicy, Policy};
use probehost_model::{IntervalBounds, Managed, Runtime, Target};
use serde_json::{Value, json};

fn rules() -> KindRules {
    KindRules {
        interval: IntervalBounds { default: 15, minimum: 1, maximum: 3600 },
        timeout: Duration::from_secs(10),
        threshold: 3,
        schema: json!(true),
    }
}

fn parse(text: &str) -> Result<Config, ConfigErrors> {
    Config::parse(text, Path::new("probehost.toml"), &|_| None)
}

/// The targets of a good file.
#[track_caller]
fn targets(text: &str) -> Vec<Target> {
    let resolved =
        parse(text).unwrap_or_else(|errors| panic!("{errors}")).resolve(&|_| Some(rules()));
    assert!(resolved.errors.is_empty(), "{}", resolved.errors);
    resolved.targets
}

#[track_caller]
fn managed(text: &str) -> Managed {
    let mut targets = targets(text);
    targets.pop().and_then(|target| target.managed).expect("the last target is managed")
}

/// What is wrong with a file, whichever look finds it.
#[track_caller]
fn errors(text: &str) -> ConfigErrors {
    let errors = match parse(text) {
        Ok(config) => config.resolve(&|_| Some(rules())).errors,
        Err(errors) => errors,
    };
    assert!(!errors.is_empty(), "this must be refused: {text}");
    errors
}

/// That just this is wrong: where, and words of what is said of it.
#[track_caller]
fn refused(text: &str, key: &str, words: &[&str]) {
    let errors = errors(text);
    assert_eq!(errors.len(), 1, "{text}\n{errors}");
    let error = errors.iter().next().expect("there is one");
    assert_eq!(error.location().key, key, "{errors}");
    assert!(!error.problem().help().is_empty(), "{errors}");
    for words in words {
        assert!(error.to_string().contains(words), "{words:?} of {errors}");
    }
}

/// A target with these lines, below others.
fn target(above: &str, lines: &str) -> String {
    format!("{above}\n[[targets]]\nid = \"t\"\nchecks = [{{ kind = \"k\" }}]\n{lines}\n")
}

fn submit(file: &str, lines: Value) -> Result<Target, Vec<FieldError>> {
    let mut body = json!({ "id": "t", "checks": [{ "kind": "k" }] });
    let map = body.as_object_mut().expect("an object");
    map.extend(lines.as_object().cloned().expect("an object"));
    let kinds = BTreeMap::from([("k".to_owned(), rules())]);
    let config = parse(file).unwrap_or_else(|errors| panic!("{errors}"));
    config.submitted(&body, &kinds).map(|submitted| submitted.target)
}

const CONTAINER: &str = "runtime = { container = \"search-mcp\" }";

/// L9: a runtime is a container, or a command that the operator named.
#[test]
fn runtimes() {
    let container = managed(&target("", CONTAINER));
    assert_eq!(container.runtime, Runtime::Container("search-mcp".into()));
    assert_eq!(container.policy, Policy::default());
    let commands = "[commands]\nheal = [\"systemctl\", \"restart\", \"search\"]";
    let command = managed(&target(commands, "[targets.runtime]\ncommand = \"heal\""));
    assert_eq!(command.runtime, Runtime::Command("heal".into()));
    for name in ["3f2a", "my_app.web-1", &"a".repeat(255)] {
        let lines = format!("[targets.runtime]\ncontainer = \"{name}\"");
        assert_eq!(managed(&target("", &lines)).runtime, Runtime::Container(name.into()));
    }
    assert_eq!(targets(&target("", ""))[0].managed, None);
}

/// L9: what is wrong with a runtime is told at its place, with what would be right.
#[test]
fn mistakes_in_runtimes() {
    let key = "targets[0].runtime";
    let container = "targets[0].runtime.container";
    let command = "targets[0].runtime.command";
    for (lines, key, words) in [
        ("runtime = {}", key, "names neither a container nor a command"),
        ("runtime = \"search-mcp\"", key, "write runtime = { container = \"search-mcp\" }"),
        (
            "runtime = { container = \"a\", command = \"heal\" }",
            command,
            "`container` and `command` can't both be given",
        ),
        ("runtime = { container = \"\" }", container, "the name of the container is empty"),
        ("runtime = { container = 7 }", container, "expected a text in quotes"),
        ("runtime = { container = \"/web\" }", container, "as `docker ps` shows it"),
        ("runtime = { container = \"a b\" }", container, "is not the name or the id"),
        ("runtime = { command = \" \" }", command, "the name of the command is empty"),
        ("runtime = { command = [\"x\"] }", command, "expected a text in quotes"),
        ("runtime = { command = \"haal\" }", command, "did you mean `heal`?"),
        ("runtime = { command = \"x\" }", command, "known here: `heal`, `other`"),
        (
            "runtime = { container = \"a\", comand = \"b\" }",
            "targets[0].runtime.comand",
            "did you mean `command`?",
        ),
    ] {
        refused(&target("[commands]\nheal = [\"x\"]\nother = [\"y\"]", lines), key, &[words]);
    }
    let long = format!("runtime = {{ container = \"{}\" }}", "a".repeat(256));
    refused(&target("", &long), container, &["is not the name or the id"]);
    let none = ["[commands] has no `heal`", "add it to the configuration file, under [commands]"];
    refused(&target("", "runtime = { command = \"heal\" }"), command, &none);
}

/// L10: target over the kinds of its checks over global over defaults, key by key; of the kinds
/// those of liveness checks go first, each in the order of the file.
#[test]
fn layers_go_over_one_another() {
    let text = r#"
        [lifecycle]
        base = 1.5
        multiplier = 3
        cap = 100
        jitter = 0
        max_restarts = 9
        healthy_reset = 901
        start_budget = 91
        quarantine_retry = 3600
        [plugins.ready.lifecycle]
        cap = 200
        multiplier = 4
        jitter = 0.5
        [plugins.second.lifecycle]
        cap = 300
        multiplier = 5
        [plugins.first.lifecycle]
        cap = 400
        [plugins.unused.lifecycle]
        base = 99
        [[targets]]
        id = "t"
        checks = [
            { kind = "ready", role = "readiness" },
            { kind = "plain" },
            { kind = "first", name = "z" },
            { kind = "second", name = "a" },
        ]
        runtime = { container = "c" }
        lifecycle = { max_restarts = 1, quarantine_retry = 0 }
    "#;
    let expected = Policy {
        base: Duration::from_millis(1500),
        multiplier: 5.0,
        cap: Duration::from_secs(400),
        jitter: 0.5,
        max_restarts: 1,
        healthy_reset: Duration::from_secs(901),
        start_budget: Duration::from_secs(91),
        quarantine_retry: None,
    };
    assert_eq!(managed(text).policy, expected);
}

/// L10: what the page for operators says of its example.
#[test]
fn the_example_of_the_documentation_has_that_policy() {
    let page = include_str!("../../../docs/config.md");
    let example = page.split("```toml\n").find(|text| text.contains("[targets.runtime]\n"));
    let example = example.and_then(|text| text.split("```").next()).expect("there is one");
    let managed = managed(example);
    assert_eq!(managed.runtime, Runtime::Container("search-mcp".into()));
    let policy = Policy {
        base: Duration::from_secs(2),
        max_restarts: 8,
        start_budget: Duration::from_secs(300),
        healthy_reset: Duration::from_secs(1800),
        ..Policy::default()
    };
    assert_eq!(managed.policy, policy);
}

/// L10, L11: the global layer and those of kinds are settings; a snapshot lives 15 s by default.
#[test]
fn layers_are_settings() {
    let config = parse("").unwrap();
    assert_eq!(config.lifecycle.policy, PartialPolicy::default());
    assert_eq!(config.lifecycle.pool_ttl, Duration::from_secs(15));
    let text = "[lifecycle]\npool_ttl = 2.5\nbase = 3\n[plugins.k.lifecycle]\nmax_restarts = 2\n";
    let config = parse(text).unwrap();
    assert_eq!(config.lifecycle.pool_ttl, Duration::from_millis(2500));
    let base = Some(Duration::from_secs(3));
    assert_eq!(config.lifecycle.policy, PartialPolicy { base, ..PartialPolicy::default() });
    let kind = PartialPolicy { max_restarts: Some(2), ..PartialPolicy::default() };
    assert_eq!(config.plugins.by_name["k"].lifecycle, kind);
    // What only moved within the file is the same.
    let moved = parse(&format!("\n\n{text}")).unwrap();
    assert_eq!(config.lifecycle, moved.lifecycle);
    for seconds in [1, 3600] {
        let config = parse(&format!("[lifecycle]\npool_ttl = {seconds}")).unwrap();
        assert_eq!(config.lifecycle.pool_ttl, Duration::from_secs(seconds));
    }
}

/// P10: a value of a policy that is out of its range is told at its key in every layer, with
/// its range and what to write.
#[test]
fn values_out_of_range() {
    let table = [
        ("base = 0", "base is 0 s; it must be from 0.001 s to 86400 s"),
        ("base = -1", "base is -1 s; it must be from 0.001 s to 86400 s"),
        ("multiplier = 0.5", "multiplier is 0.5; it must be from 1 to 100"),
        ("cap = 86401", "cap is 86401 s; it must be from 0.001 s to 86400 s"),
        ("cap = inf", "cap is inf s; it must be from 0.001 s to 86400 s"),
        ("jitter = 1.5", "jitter is 1.5; it must be from 0 to 1"),
        ("jitter = nan", "it is not a number"),
        ("max_restarts = 0", "max_restarts is 0; it must be from 1 to 1000"),
        ("max_restarts = 1001", "max_restarts is 1001; it must be from 1 to 1000"),
        ("max_restarts = 2.5", "expected a whole number, found a number with a fraction"),
        ("healthy_reset = 0.5", "healthy_reset is 0.5 s; it must be from 1 s to 604800 s"),
        ("start_budget = 0", "start_budget is 0 s; it must be from 1 s to 86400 s"),
        ("quarantine_retry = 59", "or 0 to turn it off"),
        ("quarantine_retry = -1", "quarantine_retry is -1 s; it must be from 60 s to 604800 s"),
        ("cap = \"5m\"", "expected a number of seconds, found a text"),
        ("max_restart = 5", "did you mean `max_restarts`?"),
        ("pooling = 1", "known here: `base`, `multiplier`, `cap`"),
    ];
    for (line, words) in table {
        let key = line.split(' ').next().expect("a key");
        refused(&format!("[lifecycle]\n{line}"), &format!("lifecycle.{key}"), &[words]);
        let kind = format!("[plugins.k.lifecycle]\n{line}");
        refused(&kind, &format!("plugins.k.lifecycle.{key}"), &[words]);
        let own = target("", &format!("{CONTAINER}\n[targets.lifecycle]\n{line}"));
        refused(&own, &format!("targets[0].lifecycle.{key}"), &[words]);
    }
    for (value, words) in [
        ("0", "must be above zero"),
        ("0.5", "the time to live of a pool snapshot is out of range"),
        ("3601", "write seconds from 1 to 3600, such as 15"),
    ] {
        refused(&format!("[lifecycle]\npool_ttl = {value}"), "lifecycle.pool_ttl", &[words]);
    }
    // It is the host's alone.
    refused("[plugins.k.lifecycle]\npool_ttl = 9", "plugins.k.lifecycle.pool_ttl", &["unknown"]);
}

/// L10, P10: a cap under the base is told at the nearer of the two, and where each comes from.
#[test]
fn caps_under_bases() {
    let global = "[lifecycle]\nbase = 20\ncap = 40";
    let kind = "[lifecycle]\nbase = 20\n[plugins.k.lifecycle]\ncap = 10";
    for (above, own, key, words) in [
        (
            global,
            "cap = 10",
            "targets[0].lifecycle.cap",
            "`cap` is set in the target's own `lifecycle`, `base` is set in [lifecycle]",
        ),
        (
            global,
            "base = 50",
            "targets[0].lifecycle.base",
            "`cap` is set in [lifecycle], `base` is set in the target's own `lifecycle`",
        ),
        ("", "base = 30\ncap = 20", "targets[0].lifecycle.cap", "cap is 20 s, under base"),
        ("", "base = 301", "targets[0].lifecycle.base", "`cap` is the default"),
        (
            kind,
            "jitter = 0",
            "plugins.k.lifecycle.cap",
            "`cap` is set in [plugins.k.lifecycle], `base` is set in [lifecycle]",
        ),
        ("[lifecycle]\ncap = 0.5", "", "lifecycle.cap", "`base` is the default"),
    ] {
        let text = target(above, &format!("{CONTAINER}\n[targets.lifecycle]\n{own}"));
        refused(&text, key, &["the policy of `t` contradicts itself", words]);
    }
    // A place that many targets share is told of once; a target that mends it is well.
    let more = "[[targets]]\nid = \"u\"\nchecks = [{ kind = \"k\" }]\nruntime = { container = \"u\" }\n\
                [[targets]]\nid = \"v\"\nchecks = [{ kind = \"k\" }]\nruntime = { container = \"v\" }\n\
                lifecycle = { cap = 25 }\n";
    let text = format!("{}{more}", target(kind, CONTAINER));
    refused(&text, "plugins.k.lifecycle.cap", &["the policy of `t`"]);
    // Nothing is managed: nothing is wrong.
    targets(&target(kind, ""));
}

/// L2, L10: what would never do anything is refused.
#[test]
fn what_would_do_nothing() {
    let lines = "[targets.lifecycle]\nmax_restarts = 3";
    let words = ["is only watched, so this does nothing", "add [targets.runtime]"];
    refused(&target("", lines), "targets[0].lifecycle", &words);
    let text = format!(
        "[[targets]]\nid = \"t\"\nchecks = [{{ kind = \"k\", role = \"readiness\" }}]\n{CONTAINER}\n"
    );
    let words = ["no liveness check, so it would never be restarted", "the role \"liveness\""];
    refused(&text, "targets[0].runtime", &words);
}

/// T5: one inconclusive probe makes a managed target's check unknown, unless more are asked for.
#[test]
fn managed_targets_are_unknown_at_once() {
    let table = [
        // [probes], the check, managed: the threshold
        ("", "", false, 3),
        ("", "", true, 1),
        ("", "failure_threshold = 5,", true, 1),
        ("failure_threshold = 5", "", true, 1),
        ("inconclusive_threshold = 4", "", true, 4),
        ("", "inconclusive_threshold = 6,", true, 6),
        ("inconclusive_threshold = 4", "inconclusive_threshold = 6,", true, 6),
    ];
    for (probes, check, managed, threshold) in table {
        let runtime = if managed { CONTAINER } else { "" };
        let text = format!(
            "[probes]\n{probes}\n[[targets]]\nid = \"t\"\nchecks = [{{ {check} kind = \"k\" }}]\n{runtime}"
        );
        let found = targets(&text)[0].checks[0].thresholds.inconclusive;
        assert_eq!(found, threshold, "{text}");
    }
}

/// What an operator reads, with the lines that are meant.
#[test]
fn errors_show_their_line() {
    let text = target(
        "[lifecycle]\nbase = 20\n[commands]\nheal = [\"x\"]",
        "[targets.runtime]\ncommand = \"haal\"\n[targets.lifecycle]\ncap = 10",
    );
    let text = format!("{text}[[targets]]\nid = \"u\"\n[targets.runtime]\ncontainer = \"u\"\n")
        + "[[targets.checks]]\nkind = \"k\"\nrole = \"readiness\"\n";
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!("managed", errors(&text).to_string()));
}

/// L9, L10, T5: over the API a target has the same keys, and the layers of the file.
#[test]
fn submitted_targets_can_be_managed() {
    let file = "[lifecycle]\nbase = 2\n[plugins.k.lifecycle]\ncap = 30\n[commands]\nheal = [\"x\"]";
    let lines = json!({
        "runtime": { "command": "heal", "container": null },
        "lifecycle": { "max_restarts": 2, "start_budget": 2.5, "jitter": null },
    });
    let target = submit(file, lines).unwrap();
    let policy = Policy {
        base: Duration::from_secs(2),
        cap: Duration::from_secs(30),
        max_restarts: 2,
        start_budget: Duration::from_millis(2500),
        ..Policy::default()
    };
    assert_eq!(target.managed, Some(Managed { runtime: Runtime::Command("heal".into()), policy }));
    assert_eq!(target.checks[0].thresholds.inconclusive, 1);
    let plain = submit(file, json!({ "runtime": null })).unwrap();
    assert_eq!((plain.managed, plain.checks[0].thresholds.inconclusive), (None, 3));
}

/// L9, L10, P10: over the API each slip is told at its field, in the words of JSON.
#[test]
fn slips_in_submitted_targets() {
    let file = "[lifecycle]\nbase = 20\n[commands]\nheal = [\"x\"]\nother = [\"y\"]\n\
                [plugins.k.lifecycle]\nhealthy_reset = 9";
    let container = json!({ "container": "c" });
    let readiness = json!([{ "kind": "k", "role": "readiness" }]);
    for (lines, pointer, words) in [
        (json!({ "runtime": {} }), "/runtime", "add `container`, or `command`"),
        (json!({ "runtime": "c" }), "/runtime", "send a table"),
        (json!({ "runtime": { "container": "a/b" } }), "/runtime/container", "docker ps"),
        (json!({ "runtime": { "command": "haal" } }), "/runtime/command", "did you mean `heal`?"),
        (json!({ "runtime": { "command": "x" } }), "/runtime/command", "`heal`, `other`"),
        (json!({ "lifecycle": {} }), "/lifecycle", "add `runtime` with a `container`"),
        (
            json!({ "runtime": container, "lifecycle": { "max_restarts": 0 } }),
            "/lifecycle/max_restarts",
            "it must be from 1 to 1000",
        ),
        (
            json!({ "runtime": container, "lifecycle": { "cap": 10 } }),
            "/lifecycle/cap",
            "`base` is set in [lifecycle]",
        ),
        (json!({ "runtime": container, "checks": readiness }), "/runtime", "no liveness check"),
    ] {
        let found = submit(file, lines.clone()).expect_err("this must be refused");
        let [error] = found.as_slice() else { panic!("{lines}: {found:#?}") };
        assert_eq!(error.pointer, pointer, "{lines}: {found:#?}");
        let text = format!("{} {}", error.message, error.help);
        assert!(text.contains(words) && !text.contains("[["), "{lines}: {text}");
        assert!(!error.help.is_empty() && !error.help.contains("[targets"), "{lines}: {text}");
    }
    // What is wrong in the file has no place in the body.
    let file = "[lifecycle]\nbase = 20\n[plugins.k.lifecycle]\ncap = 10";
    let found = submit(file, json!({ "runtime": container })).expect_err("this must be refused");
    assert_eq!((found.len(), found[0].pointer.as_str()), (1, "/runtime"));
    assert!(found[0].help.contains("[plugins.k.lifecycle]"), "{found:#?}");
}
