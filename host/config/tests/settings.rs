//! What a good file comes to: defaults, precedence, intervals, and what is not fatal.

#![allow(clippy::panic, reason = "helpers of tests fail the test")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use probehost_config::{
    Config, Database, EnvValue, INTERVAL_VARIABLE, IntervalOrigin, KindRules, LogFormat, LogLevel,
    Resolved, Schema, Synchronous,
};
use probehost_model::{CheckId, Clamp, IntervalBounds, Role, Thresholds};
use serde_json::json;

fn parse(text: &str) -> Config {
    parse_with(text, None)
}

/// With the environment's word about the interval.
fn parse_with(text: &str, env: Option<&str>) -> Config {
    let env = |name: &str| env.filter(|_| name == INTERVAL_VARIABLE).map(str::to_owned);
    Config::parse(text, Path::new("/etc/probehost/probehost.toml"), &env)
        .unwrap_or_else(|errors| panic!("{errors}"))
}

/// A kind whose bounds are those of ssh-handshake, and whose defaults are its own.
fn rules(_: &str) -> Option<KindRules> {
    Some(KindRules {
        interval: IntervalBounds { default: 60, minimum: 15, maximum: 3600 },
        timeout: Duration::from_secs(7),
        threshold: 3,
        schema: json!(true),
    })
}

fn check(probes: &str, lines: &str) -> String {
    format!(
        "[probes]\n{probes}\n[[targets]]\nid = \"t\"\n[[targets.checks]]\nkind = \"k\"\n{lines}\n"
    )
}

#[track_caller]
fn resolved(config: &Config) -> Resolved {
    let resolved = config.resolve(&rules);
    assert!(resolved.errors.is_empty(), "{}", resolved.errors);
    resolved
}

fn file(path: &str) -> Database {
    Database::File(PathBuf::from(path))
}

/// R6: `url` names a server or, like `path`, a file; nothing shows its password.
#[test]
fn a_database_by_its_url() {
    let url = "postgres://ada:hunter2@db.example:5432/probes?sslmode=require";
    let config = parse(&format!("[store]\nurl = \"{url}\"\nsynchronous = \"full\"\n"));
    let Database::Server(found) = &config.store.database else { panic!("{config:?}") };
    assert_eq!((found.expose(), config.store.synchronous), (url, Synchronous::Full));
    assert!(!format!("{config:?}").contains("hunter2"));
    // With no file of the database, the plugins' cache lies beside the config.
    assert_eq!(config.plugins.cache, PathBuf::from("/etc/probehost/plugin-cache"));
    for (url, path) in [
        ("sqlite:probes.db", "/etc/probehost/probes.db"),
        ("sqlite:/var/probes.db", "/var/probes.db"),
        ("sqlite:///var/probes.db", "/var/probes.db"),
    ] {
        let config = parse(&format!("[store]\nurl = \"{url}\"\n"));
        assert_eq!(config.store.database, file(path));
    }
}

#[test]
fn an_empty_file_is_all_defaults() {
    let config = parse("");
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:9640");
    assert_eq!(config.server.tls, None);
    assert_eq!(config.store.database, file("/etc/probehost/probehost.db"));
    assert_eq!(config.store.synchronous, Synchronous::Normal);
    assert_eq!(config.probes.concurrency, 64);
    assert!(!config.probes.interval.is_set());
    assert_eq!(config.plugins.directory, None);
    assert_eq!(config.plugins.cache, PathBuf::from("/etc/probehost/plugin-cache"));
    assert_eq!((config.log.level, config.log.format), (LogLevel::Info, LogFormat::Text));
    assert_eq!((config.history.keep_days, config.history.keep_audit_days), (90, 365));
    assert!(config.tls.ca_files.is_empty() && resolved(&config).targets.is_empty());
}

#[test]
fn every_setting_is_read() {
    let digest = "0123456789abcdefABCDEF0123456789abcdef0123456789abcdef0123456789";
    let config = parse(&format!(
        "[server]\nlisten = \"[::1]:1\"\n[store]\npath = \"/var/db\"\nsynchronous = \"full\"\n\
         [plugins]\ndirectory = \"p\"\n[plugins.http-head]\nallow = [\"https://*.example.com\"]\n\
         concurrency = 16\nsha256 = \"{digest}\"\n[tls]\nca_files = [\"a.pem\"]\n\
         [log]\nlevel = \"debug\"\nformat = \"json\"\n[probes]\nconcurrency = 3\n\
         [ssh]\nknown_hosts = \"hosts\"\n[secrets]\ndirectory = \"/run/s\"\nfile = \"s.toml\"\n\
         [history]\nkeep_days = 1\nkeep_audit_days = 3650\n"
    ));
    assert_eq!((config.history.keep_days, config.history.keep_audit_days), (1, 3650));
    assert_eq!(config.ssh.known_hosts, Some(PathBuf::from("/etc/probehost/hosts")));
    assert_eq!(config.secrets.directory, Some(PathBuf::from("/run/s")));
    assert_eq!(config.secrets.file, Some(PathBuf::from("/etc/probehost/s.toml")));
    assert_eq!(config.server.listen.to_string(), "[::1]:1");
    assert_eq!(config.store.database, file("/var/db"));
    assert_eq!(config.store.synchronous, Synchronous::Full);
    assert_eq!(config.plugins.directory, Some(PathBuf::from("/etc/probehost/p")));
    assert_eq!(config.plugins.cache, PathBuf::from("/var/plugin-cache"));
    let plugin = &config.plugins.by_name["http-head"];
    assert_eq!(plugin.allow[0].pattern, "https://*.example.com".parse().unwrap());
    assert_eq!(plugin.allow[0].location.line, 9);
    assert_eq!(plugin.concurrency, Some(16));
    assert_eq!(plugin.sha256.unwrap()[..4], [0x01, 0x23, 0x45, 0x67]);
    assert_eq!(config.tls.ca_files[0].path, PathBuf::from("/etc/probehost/a.pem"));
    assert_eq!(config.log.level.as_str(), "debug");
    assert_eq!(config.log.format, LogFormat::Json);
    assert_eq!(config.probes.concurrency, 3);
}

#[test]
fn targets_and_checks_have_their_defaults_and_order() {
    let config = parse(
        "[[targets]]\nid = \"web\"\nlabels = { team = \"shop\" }\nenabled = false\nname = \"Web shop\"\n\
         [[targets.checks]]\nname = \"z\"\nkind = \"k\"\nrole = \"readiness\"\n\
         config = { url = \"u\", list = [1, 2.5, true], at = 1979-05-27 }\n\
         [[targets.checks]]\nkind = \"k\"\n[[targets]]\nid = \"api\"\nchecks = [{ kind = \"k\" }]\n",
    );
    let targets = resolved(&config).targets;
    let [web, api] = targets.as_slice() else { panic!("two targets") };
    assert_eq!(
        (web.name.as_str(), web.enabled, web.labels["team"].as_str()),
        ("Web shop", false, "shop")
    );
    assert_eq!((api.name.as_str(), api.enabled), ("api", true));
    assert_eq!(web.updated_at.as_micros(), 0);
    let names: Vec<_> = web.checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, ["k", "z"]);
    assert_eq!(web.checks[0].role, Role::Liveness);
    assert_eq!(web.checks[0].config, json!({}));
    assert_eq!(web.checks[1].role, Role::Readiness);
    let expected = json!({ "url": "u", "list": [1, 2.5, true], "at": "1979-05-27" });
    assert_eq!(web.checks[1].config, expected);
    assert_eq!(config.kinds().into_iter().collect::<Vec<_>>(), ["k"]);
}

/// S6: what is asked for by check, `[probes]` and environment, and what it comes to.
#[test]
fn intervals() {
    use Clamp::{LoweredToMaximum, Negative, RaisedToMinimum};
    use IntervalOrigin::{Check, Environment, Probes};
    let table = [
        // check, [probes], environment: seconds (0: off), clamp
        (None, None, None, 60, None),
        (Some(30), None, None, 30, None),
        (Some(0), None, None, 0, None),
        (Some(-1), None, None, 60, Some((Negative, Check))),
        (Some(14), None, None, 15, Some((RaisedToMinimum, Check))),
        (Some(15), None, None, 15, None),
        (Some(3600), None, None, 3600, None),
        (Some(3601), None, None, 3600, Some((LoweredToMaximum, Check))),
        (None, Some(30), None, 30, None),
        (None, Some(0), None, 0, None),
        (None, Some(-5), None, 60, Some((Negative, Probes))),
        (None, Some(5), None, 15, Some((RaisedToMinimum, Probes))),
        (Some(20), Some(30), None, 20, None),
        // The environment goes before [probes], and after the check.
        (None, Some(30), Some("40"), 40, None),
        (Some(20), Some(30), Some("40"), 20, None),
        (None, Some(30), Some("0"), 0, None),
        (None, None, Some("9999"), 3600, Some((LoweredToMaximum, Environment))),
        // What it can't read, it takes for the default, not for what the file says.
        (None, Some(30), Some(""), 60, None),
        (None, Some(30), Some("-5"), 60, None),
        (None, Some(30), Some("1.5"), 60, None),
        (None, Some(30), Some("soon"), 60, None),
    ];
    for (own, probes, env, seconds, clamp) in table {
        let line = |value: Option<i64>| value.map_or(String::new(), |v| format!("interval = {v}"));
        let config = parse_with(&check(&line(probes), &line(own)), env);
        let resolved = resolved(&config);
        let interval = resolved.targets[0].checks[0].interval.map_or(0, |i| i.as_secs());
        let clamped: Vec<_> = resolved.clamps.iter().map(|c| (c.clamp, c.origin)).collect();
        let case = format!("{own:?} {probes:?} {env:?}");
        assert_eq!(interval, seconds, "{case}");
        assert_eq!(clamped, clamp.into_iter().collect::<Vec<_>>(), "{case}");
        for note in &resolved.clamps {
            assert_eq!(note.location.is_none(), note.origin == Environment, "{case}");
            assert_eq!(note.interval.as_secs(), seconds, "{case}");
        }
    }
}

/// S6: a wrong value in the file refuses to start, whatever the environment says.
#[test]
fn the_environment_mends_no_file() {
    for value in ["1.5", "\"30\"", "true"] {
        let text = format!("[probes]\ninterval = {value}\n");
        let env = |_: &str| Some("30".to_owned());
        assert!(Config::parse(&text, Path::new("a"), &env).is_err(), "{value}");
    }
}

/// S6: each clamp is logged once, so one that many checks share is told once for each kind.
#[test]
fn clamps_are_told_once() {
    let config = parse(
        "[probes]\ninterval = 5\n[[targets]]\nid = \"a\"\nchecks = [{ kind = \"k\" }, { kind = \"l\" }]\n\
         [[targets]]\nid = \"b\"\nchecks = [{ kind = \"k\" }, { kind = \"l\", interval = 4000 }]\n",
    );
    let told: Vec<_> = resolved(&config)
        .clamps
        .into_iter()
        .map(|note| (note.check.to_string(), note.kind, note.location.unwrap().key))
        .collect();
    let told: Vec<_> = told.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
    assert_eq!(
        told,
        [
            ("a/k", "k", "probes.interval"),
            ("a/l", "l", "probes.interval"),
            ("b/l", "l", "targets[1].checks[1].interval"),
        ]
    );
}

/// The check's own word goes before that of `[probes]`, and that before the kind's.
#[test]
fn precedence_of_timeouts_and_thresholds() {
    let table = [
        // [probes], check: timeout in ms, failure, inconclusive
        ("", "", 7000, 3, 3),
        ("timeout = 4", "", 4000, 3, 3),
        ("timeout = 4", "timeout = 0.25", 250, 3, 3),
        ("", "timeout = 3600", 3_600_000, 3, 3),
        ("failure_threshold = 5", "", 7000, 5, 5),
        ("failure_threshold = 5", "failure_threshold = 1", 7000, 1, 1),
        ("inconclusive_threshold = 4", "", 7000, 3, 4),
        ("inconclusive_threshold = 4", "failure_threshold = 9", 7000, 9, 4),
        ("inconclusive_threshold = 4", "inconclusive_threshold = 6", 7000, 3, 6),
        ("failure_threshold = 5", "inconclusive_threshold = 1", 7000, 5, 1),
    ];
    for (probes, own, timeout, failure, inconclusive) in table {
        let resolved = resolved(&parse(&check(probes, own)));
        let check = &resolved.targets[0].checks[0];
        assert_eq!(check.timeout, Duration::from_millis(timeout), "{probes} {own}");
        assert_eq!(check.thresholds, Thresholds { failure, inconclusive }, "{probes} {own}");
    }
}

/// P9: a kind that is not installed is told of with its place, and its check stays.
#[test]
fn missing_kinds_are_not_fatal() {
    let config = parse(
        "[[targets]]\nid = \"a\"\n[[targets.checks]]\nkind = \"gone\"\ninterval = 5\nconfig = { x = 1 }\n\
         [[targets.checks]]\nkind = \"k\"\n",
    );
    let resolved = config.resolve(&|kind| rules(kind).filter(|_| kind == "k"));
    assert!(resolved.errors.is_empty() && resolved.clamps.is_empty());
    let [missing] = resolved.missing_kinds.as_slice() else { panic!("one is missing") };
    assert_eq!((&missing.check, missing.kind.as_str()), (&CheckId::new("a", "gone"), "gone"));
    assert_eq!(
        (missing.location.line, missing.location.key.as_str()),
        (4, "targets[0].checks[0].kind")
    );
    let gone = resolved.targets[0].check("gone").unwrap();
    assert_eq!(gone.interval, Some(Duration::from_secs(5)));
    assert_eq!(gone.timeout, Duration::from_secs(10));
    assert_eq!(gone.thresholds, Thresholds { failure: 2, inconclusive: 2 });
}

/// A plugin's schema can't make the host fetch anything, and a bad one is told of once.
#[test]
fn schemas_have_to_stand_on_their_own() {
    for schema in [
        json!({ "$ref": "file:///etc/passwd" }),
        json!({ "$ref": "https://example.com/schema.json" }),
        json!({ "$schema": "https://example.com/own-dialect" }),
        json!({ "type": "texts" }),
        json!({ "pattern": "(" }),
    ] {
        let error = Schema::compile(&schema).err().expect("this must be refused").to_string();
        assert!(!error.contains("root:"), "{error}");
        let config = parse(
            "[[targets]]\nid = \"a\"\nchecks = [{ kind = \"k\" }, { kind = \"k\", name = \"l\" }]\n",
        );
        let resolved =
            config.resolve(&|kind| rules(kind).map(|r| KindRules { schema: schema.clone(), ..r }));
        assert_eq!(resolved.errors.len(), 1, "{}", resolved.errors);
        assert!(resolved.missing_kinds.is_empty() && resolved.targets[0].checks.len() == 2);
    }
}

/// What the page for operators shows is read by this very code.
#[test]
fn the_examples_of_the_documentation_are_right() {
    let page = include_str!("../../../docs/config.md");
    let examples: Vec<_> = page
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default())
        .collect();
    assert!(!examples.is_empty());
    for example in examples {
        resolved(&parse(example));
    }
}

/// M2: commands are lists or tables; paths start at the file's folder; secrets are named.
#[test]
fn commands_and_the_container_engine() {
    let text = r#"
        [containers]
        engine = "tcp://127.0.0.1:2375"
        tls = "docker"
        [commands]
        short = ["tool", "--flag", ""]
        [commands.long]
        argv = ["bin/tool"]
        cwd = "work"
        env = { MODE = "read", API_KEY = { secret = "key" } }
    "#;
    let config = Config::parse(text, Path::new("/etc/probehost.toml"), &|_| None).unwrap();
    assert_eq!(config.containers.engine.as_deref(), Some("tcp://127.0.0.1:2375"));
    assert_eq!(config.containers.tls.as_deref(), Some(Path::new("/etc/docker")));
    let short = &config.commands["short"];
    assert_eq!(short.argv, ["tool", "--flag", ""]);
    assert_eq!((short.env.len(), &short.cwd), (0, &None));
    let long = &config.commands["long"];
    assert_eq!(long.argv, ["bin/tool"]);
    assert_eq!(long.cwd.as_deref(), Some(Path::new("/etc/work")));
    let env = [
        ("API_KEY".to_owned(), EnvValue::Secret("key".to_owned())),
        ("MODE".to_owned(), EnvValue::Text("read".to_owned())),
    ];
    assert_eq!(long.env, env);
    assert!(!format!("{config:?}").contains("--flag"));
}

/// M2: what is wrong with a command is told with its place, and what would be right.
#[test]
fn mistakes_in_commands() {
    for (text, words) in [
        ("[containers]\nengine = \"docker\"", "this is not the address of a container engine"),
        ("[containers]\nengin = \"x\"", "did you mean `engine`?"),
        ("[commands]\na = \"npx server\"", "each of its arguments as a text of its own"),
        ("[commands]\na = []", "the command is empty"),
        ("[commands]\na = [\"\"]", "the command is empty"),
        ("[commands]\na = [\"x\", 1]", "expected a text in quotes, found a whole number"),
        ("[commands]\n\"a b\" = [\"x\"]", "this command name"),
        ("[commands.a]\ncwd = \"x\"", "`argv` is missing"),
        ("[commands.a]\nargv = [\"x\"]\nagrv = 1", "did you mean `argv`?"),
        (
            "[commands.a]\nargv = [\"x\"]\nenv = { A = { secert = \"s\" } }",
            "did you mean `secret`?",
        ),
        ("[commands.a]\nargv = [\"x\"]\nenv = { A = 1 }", "expected a text in quotes"),
        (
            "[commands.a]\nargv = [\"x\"]\nenv = { \"A=B\" = \"c\" }",
            "is not the name of an environ",
        ),
        ("[commands]\na = [\"x\\u0000\"]", "with a zero byte"),
    ] {
        let errors = Config::parse(text, Path::new("probehost.toml"), &|_| None).unwrap_err();
        assert!(errors.to_string().contains(words), "{text}: {errors}");
    }
}
