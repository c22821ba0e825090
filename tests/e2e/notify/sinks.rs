//! Each kind of sink is told in its own format, and nothing that is secret gets anywhere else.

use probehost_test_support::receiver::Receiver;
use probehost_test_support::smtp::SmtpServer;
use probehost_test_support::upstream::{StatusSwitch, Upstream};
use probehost_test_support::wait::eventually;
use ring::hmac;

use super::{notifications, sink, told_all, turn};
use crate::host::{BY_HAND, Config, Host, LIMIT, run, text};

const KEY: &str = "hunter2-key";

struct Sinks {
    discord: Receiver,
    slack: Receiver,
    webhook: Receiver,
    mail: SmtpServer,
}

impl Sinks {
    fn start() -> Self {
        Self {
            discord: Receiver::discord(),
            slack: Receiver::slack(),
            webhook: Receiver::webhook(),
            mail: SmtpServer::start(),
        }
    }

    fn config(&self) -> Config {
        let mut config = told_all(Config::new(), "chat", "discord", &self.discord.url());
        config = told_all(config, "team", "slack", &self.slack.url());
        let key = "signing_key = { secret = \"hook-key\" }";
        config = sink(config, "hook", "webhook", &self.webhook.url(), key);
        let lines =
            "from = \"probehost@example.com\"\nto = [\"oncall@example.com\", \"b@example.com\"]";
        sink(config, "mail", "email", &self.mail.url(), lines)
    }

    async fn all_took(&self, count: usize) {
        let look = || async {
            [&self.discord, &self.slack, &self.webhook]
                .map(|receiver| receiver.taken().len())
                .into_iter()
                .chain([self.mail.mails().len()])
                .collect::<Vec<_>>()
        };
        eventually("all took it", LIMIT, look, |counts| counts.iter().all(|n| *n == count)).await;
        for receiver in [&self.discord, &self.slack, &self.webhook] {
            assert_eq!(receiver.refused(), [""; 0]);
        }
    }
}

/// E5: a problem and its recovery arrive at every sink, in its own format; the webhook is signed.
#[tokio::test]
async fn every_kind_of_sink() {
    let sinks = Sinks::start();
    let switch = StatusSwitch::new(200);
    let upstream = Upstream::switched(&switch);
    let settings = format!("{BY_HAND}\nfailure_threshold = 1");
    let config = sinks.config().target_with(
        "web",
        "name = \"Web @everyone shop\"\nlabels = { team = \"sales\" }",
        "http-head",
        &settings,
        &format!("url = \"{}/?token=hunter2-target\"", upstream.url()),
    );
    let launch = config.launch().env("PROBEHOST_SECRET_HOOK_KEY", KEY);
    let mut host = Host::start(launch);
    turn(&host, &switch, "web", 200).await;
    turn(&host, &switch, "web", 503).await;
    sinks.all_took(1).await;
    turn(&host, &switch, "web", 503).await;
    turn(&host, &switch, "web", 200).await;
    sinks.all_took(2).await;

    let embeds: Vec<_> =
        sinks.discord.taken().iter().map(|taken| taken.body["embeds"][0].clone()).collect();
    assert_eq!(embeds[0]["title"], "Web @everyone shop / http-head is unhealthy");
    assert!(text(&embeds[0]["description"]).contains("answer: "), "{embeds:?}");
    assert_eq!(embeds[1]["title"], "Recovered: Web @everyone shop / http-head is healthy");
    assert_eq!(sinks.discord.taken()[0].body["allowed_mentions"]["parse"], serde_json::json!([]));
    let slack = sinks.slack.taken();
    assert!(text(&slack[0].body["text"]).starts_with(":red_circle: Web"));

    let hooks = sinks.webhook.taken();
    let key = hmac::Key::new(hmac::HMAC_SHA256, KEY.as_bytes());
    for hook in &hooks {
        let timestamp = hook.request.header("x-probehost-timestamp").unwrap();
        let signature = hook.request.header("x-probehost-signature").unwrap();
        let signed = [timestamp.as_bytes(), b".", &hook.request.body].concat();
        let hex = signature.strip_prefix("sha256=").unwrap();
        let bytes: Vec<u8> = (0..hex.len() / 2)
            .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
            .collect();
        hmac::verify(&key, &signed, &bytes).unwrap();
        assert_eq!(hook.request.header("idempotency-key"), hook.body["id"].as_str());
    }
    let (problem, recovery) = (&hooks[0].body, &hooks[1].body);
    assert_eq!((problem["version"].as_u64(), text(&problem["kind"])), (Some(1), "problem"));
    assert_eq!((text(&problem["target"]), text(&problem["check"])), ("web", "http-head"));
    assert_eq!((text(&problem["from"]), text(&problem["to"])), ("healthy", "unhealthy"));
    assert_eq!((text(&problem["reason"]), &problem["labels"]["team"]), ("answer", &"sales".into()));
    assert_eq!((text(&recovery["kind"]), &recovery["since"]), ("recovery", &problem["since"]));

    let mails = sinks.mail.mails();
    assert_eq!(mails[0].from, "probehost@example.com");
    assert_eq!(mails[0].to, ["oncall@example.com", "b@example.com"]);
    assert!(mails[0].text.contains("Subject: [probehost] PROBLEM: Web"), "{}", mails[0].text);
    assert!(mails[1].text.contains("RECOVERY"), "{}", mails[1].text);

    // P8: nothing secret in what was told, answered, counted or logged, nor in the outbox.
    let mut said = format!("{embeds:?} {:?} {:?}", slack[0].body, mails);
    said.extend(hooks.iter().map(|hook| hook.body.to_string()));
    for path in ["/api/v1/notifications", "/api/v1/sinks", "/api/v1/maintenance", "/metrics"] {
        said.push_str(&host.get(path).await.text);
    }
    let delivered = "probehost_notifications_total{sink=\"hook\",outcome=\"delivered\"}";
    assert!((host.metric(delivered).await - 2.0).abs() < f64::EPSILON);
    said.push_str(&host.output());
    host.stop();
    said.push_str(&host.output());
    assert!(!said.contains("hunter2"), "{said}");
}

/// E5: a test message reaches each sink, over the API and from the command line without a host.
#[tokio::test]
async fn trying_a_sink() {
    let sinks = Sinks::start();
    let mut host = Host::start(sinks.config().launch().env("PROBEHOST_SECRET_HOOK_KEY", KEY));
    for name in ["chat", "team", "hook", "mail"] {
        let path = format!("/api/v1/sinks/{name}/test");
        let answer = host.api.post(&path, &serde_json::json!({})).await.unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    sinks.all_took(1).await;
    let answer = host.api.post("/api/v1/sinks/nobody/test", &serde_json::json!({})).await.unwrap();
    assert_eq!(crate::host::code(&answer, 404), "no-such-sink");
    assert_eq!(notifications(&host, "").await.len(), 0, "a try is not in the outbox");

    let list = host.json("/api/v1/sinks").await;
    let hosts: Vec<_> =
        list["sinks"].as_array().unwrap().iter().map(|one| text(&one["host"])).collect();
    assert!(
        hosts.iter().all(|shown| shown.starts_with("http://127.0.0.1:")
            || shown.starts_with("smtp://127.0.0.1:"))
    );
    host.stop();

    let (_folder, path) = sinks.config().file();
    let file = path.to_str().unwrap();
    let ran = run(&["notify", "test", "chat", "--config", file]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("chat: discord at http://127.0.0.1:"), "{ran:?}");
    assert_eq!(sinks.discord.taken().len(), 2);
    // Without the key it can't be signed: said, and the others are tried all the same.
    let ran = run(&["notify", "test", "--config", file]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("PROBEHOST_SECRET_HOOK_KEY"), "{ran:?}");
    assert_eq!((sinks.slack.taken().len(), sinks.webhook.taken().len()), (2, 1));
    let ran = run(&["notify", "test", "nobody", "--config", file]);
    assert!(ran.code == 1 && ran.stderr.contains("it has chat, hook, mail, team"), "{ran:?}");
    assert!(!format!("{ran:?}").contains("hunter2"));
}
