//! `[notify]` and `[[maintenance]]`: what a good file comes to, and what is said of a bad one.

#![allow(clippy::panic, clippy::expect_used, reason = "helpers of tests fail the test")]

use std::path::Path;
use std::time::Duration;

use probehost_config::Config;
use probehost_model::Timestamp;
use probehost_model::notify::{MaintenanceTime, ProblemState, Settings, SinkKind, SinkText};

fn parse(text: &str) -> Result<Config, String> {
    Config::parse(text, Path::new("probehost.toml"), &|_| None).map_err(|errors| errors.to_string())
}

fn good(text: &str) -> Settings {
    parse(text).unwrap_or_else(|errors| panic!("{errors}")).notify.clone()
}

#[track_caller]
fn refused(text: &str, parts: &[&str]) {
    let errors = parse(text).expect_err("this must be refused");
    for part in parts {
        assert!(errors.contains(part), "no {part:?} in:\n{errors}");
    }
    assert!(!errors.contains("hunter2"), "{errors}");
}

const SINK: &str = "[notify.sinks.chat]\nkind = \"discord\"\nurl = { secret = \"chat-url\" }\n";

/// E5: nothing is told to anybody unless it is said whom.
#[test]
fn nothing_by_default() {
    assert_eq!(good(""), Settings::default());
    let defaults = Settings::default();
    assert_eq!((defaults.group_wait.as_secs(), defaults.own_fault_min), (10, 5));
}

/// E5: every key is read.
#[test]
fn every_key() {
    let settings = good(
        "[notify]\ngroup_wait = 2.5\nown_fault_min = 3\ngive_up = 600\n\
         [notify.sinks.chat]\nkind = \"slack\"\nurl = \"https://hooks.slack.com/hunter2\"\n\
         [notify.sinks.hook]\nkind = \"webhook\"\nurl = \"http://127.0.0.1:9/x\"\n\
         signing_key = { secret = \"key\" }\nrate = 2\n\
         [notify.sinks.mail]\nkind = \"email\"\nurl = \"smtps://me:hunter2@mail.example\"\n\
         from = \"probehost@example.com\"\nto = [\"a@example.com\", \"b@example.com\"]\n\
         [[notify.rules]]\nsinks = [\"chat\", \"mail\"]\nlabels = { team = \"sales\" }\n\
         targets = [\"web\"]\nkinds = [\"http-head\"]\nstates = [\"unknown\", \"quarantined\"]\n\
         repeat = 3600\n[[notify.rules]]\nsinks = [\"hook\"]\nrepeat = 0\n",
    );
    assert_eq!(settings.group_wait, Duration::from_millis(2500));
    assert_eq!((settings.own_fault_min, settings.give_up), (3, Duration::from_mins(10)));
    let chat = &settings.sinks["chat"];
    assert_eq!((chat.kind, chat.rate), (SinkKind::Slack, SinkKind::Slack.rate()));
    let hook = &settings.sinks["hook"];
    assert_eq!(hook.signing_key, Some(SinkText::Secret("key".into())));
    assert!((hook.rate - 2.0).abs() < f64::EPSILON);
    assert_eq!(settings.sinks["mail"].to, ["a@example.com", "b@example.com"]);
    let [first, second] = &settings.rules[..] else { panic!("{:?}", settings.rules) };
    assert_eq!(first.states, [ProblemState::Unknown, ProblemState::Quarantined]);
    assert_eq!(first.repeat, Some(Duration::from_hours(1)));
    assert_eq!((second.repeat, &second.states[..]), (None, &ProblemState::DEFAULT[..]));
    assert!(!format!("{settings:?}").contains("hunter2"), "a URL does not show itself");
}

/// What the page for operators shows is read by this very code.
#[test]
fn the_examples_of_the_documentation_are_right() {
    let page = include_str!("../../../docs/notifications.md");
    let mut examples = page.split("```toml\n").skip(1);
    let example = examples.next().and_then(|rest| rest.split("```").next()).unwrap_or_default();
    assert_eq!(good(example).maintenance.len(), 1);
}

/// E5: windows, once and again and again.
#[test]
fn windows() {
    let settings = good(
        "[[maintenance]]\nname = \"move\"\ntargets = [\"web\"]\nfrom = 2026-12-01T02:00:00+01:00\n\
         until = \"2026-12-01T04:00:00Z\"\n\
         [[maintenance]]\nname = \"patching\"\ndays = [\"sat\", \"sun\"]\nat = \"02:30\"\nfor = 7200\n\
         zone = \"Europe/Berlin\"\n[[maintenance]]\nname = \"nightly\"\nat = \"00:00\"\nfor = 60\n",
    );
    let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
    let when: Vec<_> = settings.maintenance.into_iter().map(|window| window.when).collect();
    let weekly = |days: &[u8], minute, seconds, zone: &str| MaintenanceTime::Weekly {
        days: days.to_vec(),
        minute,
        lasts: Duration::from_secs(seconds),
        zone: zone.into(),
    };
    assert_eq!(
        when,
        [
            MaintenanceTime::Once { from: at(1_796_086_800), until: at(1_796_097_600) },
            weekly(&[5, 6], 150, 7200, "Europe/Berlin"),
            weekly(&[0, 1, 2, 3, 4, 5, 6], 0, 60, "UTC"),
        ]
    );
}

/// E5: what is wrong is told at its place, with what to do, and never with a URL or a key.
#[test]
fn what_is_wrong() {
    let with = |text: &str| format!("{SINK}{text}");
    for (text, parts) in [
        (
            with("[[notify.rules]]\nsinks = [\"chta\"]\n"),
            &["probehost.toml:5:", "notify.rules[0].sinks[0]", "has no `chta`", "did you mean `chat`?"][..],
        ),
        (with("[[notify.rules]]\n"), &["`sinks` is missing", "sinks = [\"chat\"]"]),
        (with("[[notify.rules]]\nsinks = []\n"), &["the list is empty"]),
        (
            with("[[notify.rules]]\nsinks = [\"chat\"]\nstates = [\"down\"]\n"),
            &["\"down\" is not a state to tell of", "`unhealthy`"],
        ),
        (with("[[notify.rules]]\nsinks = [\"chat\"]\nrepeat = 5\n"), &["out of range", "or 0 for never"]),
        (
            "[notify.sinks.x]\nkind = \"discord\"\nurl = \"hunter2\"\n".to_owned(),
            &["notify.sinks.x.url", "not a URL", "https://hooks.example.com/x"],
        ),
        (
            "[notify.sinks.x]\nkind = \"slack\"\nurl = \"https://a/hunter2\"\nsigning_key = \"hunter2\"\n"
                .to_owned(),
            &["kind `slack` does not have this", "`webhook`"],
        ),
        (
            "[notify.sinks.x]\nkind = \"email\"\nurl = \"smtp://a/\"\n".to_owned(),
            &["`from` is missing", "`to` is missing"],
        ),
        (
            "[notify.sinks.x]\nkind = \"email\"\nurl = \"smtp://a/\"\nfrom = \"me\"\nto = [\"a@b\"]\n"
                .to_owned(),
            &["not a mail address"],
        ),
        ("[notify.sinks.x]\nkind = \"discrod\"\n".to_owned(), &["did you mean `discord`?", "`url` is missing"]),
        (
            "[notify.sinks.x]\nkind = \"discord\"\nurl = \"https://a/hunter2\"\nurll = 1\n".to_owned(),
            &["unknown key `urll`", "did you mean `url`?"],
        ),
        (
            "[notify.sinks.x]\nkind = \"discord\"\nurl = \"https://discord.com/api/webhooks/1/hunter2\n"
                .to_owned(),
            &["not TOML"],
        ),
        ("[notify]\nown_fault_min = 1\n".to_owned(), &["a number of targets is out of range"]),
        (
            "[[maintenance]]\nname = \"x\"\nfrom = 2026-12-01T02:00:00Z\nuntil = 2026-12-01T01:00:00Z\n"
                .to_owned(),
            &["ends before it begins"],
        ),
        (
            "[[maintenance]]\nname = \"x\"\nfrom = 2026-12-01T02:00:00\n".to_owned(),
            &["with its offset", "`until` is missing"],
        ),
        ("[[maintenance]]\nname = \"x\"\nat = \"2:00\"\nfor = 60\n".to_owned(), &["not a time of day"]),
        (
            "[[maintenance]]\nname = \"x\"\nat = \"02:00\"\nfor = 60\nzone = \"Berlin\"\n".to_owned(),
            &["no time zone \"Berlin\"", "Europe/Berlin"],
        ),
        ("[[maintenance]]\nname = \"x\"\n".to_owned(), &["`at` is missing"]),
        (
            "[[maintenance]]\nname = \"x\"\nfrom = 2026-12-01T02:00:00Z\nuntil = 2026-12-02T02:00:00Z\nat = \"02:00\"\n"
                .to_owned(),
            &["`from` and `at` can't both be given"],
        ),
    ] {
        refused(&text, parts);
    }
}
