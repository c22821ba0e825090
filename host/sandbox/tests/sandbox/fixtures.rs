//! One test for each plugin in `tests/plugins`, named like it. Without one this does not compile.

use std::time::Duration;

use probehost_capability::CallResult;
use probehost_model::{Endpoint, Outcome, Reason};
use probehost_sandbox::{Fault, LoadError, PlanError};
use probehost_test_support::dns::{Data, Zone};
use probehost_test_support::udp::UdpServer;
use probehost_test_support::upstream::{Response, Script, Step, Upstream};
use probehost_test_support::wait::eventually;

use crate::support::{AMPLE, catalog, load, load_into, misbehave, probe, probe_with, refusal};

macro_rules! has_test {
    ($name:ident) => {
        const _: fn() = $name;
    };
}
probehost_test_plugins::for_each_fixture!(has_test);

/// Declares a test on a runtime like the host's.
macro_rules! test {
    ($(#[$doc:meta])* async fn $name:ident() $body:block) => {
        $(#[$doc])*
        #[test]
        fn $name() {
            tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap()
                .block_on(async $body);
        }
    };
}

test! {
    /// G2: datagrams and DNS questions are made, each with its own grants, and are in the trace.
    async fn asks_and_sends() {
        let zone = Zone::default()
            .with("two.example", 60, Data::A([192, 0, 2, 1].into()))
            .with("two.example", 60, Data::A([192, 0, 2, 2].into()));
        let (dns, udp) = (zone.serve(), UdpServer::echo());
        let config = format!(
            r#"{{"name":"two.example","host":"127.0.0.1","dns":{},"udp":{},"text":"hello"}}"#,
            dns.address().port(),
            udp.address().port(),
        );
        let plugin = load("asks_and_sends").await;
        let probed = probe(&plugin, &config, AMPLE).await;
        assert_eq!(probed.report.outcome, Outcome::Pass);
        assert_eq!((probed.measured("addresses"), probed.measured("reply")), (Some(2.0), Some(5.0)));
        assert_eq!(probed.lines(), ["NOERROR", "192.0.2.1", "192.0.2.2"]);
        let calls: Vec<_> = probed.trace.calls.iter().map(|call| call.capability).collect();
        assert_eq!(calls, ["dns", "udp"]);
        // The name's grant alone does not reach the name server.
        let name = Endpoint::Dns("two.example".to_owned());
        let denied = probe_with(&plugin, &config, vec![name], AMPLE).await;
        let Outcome::Fail(failure) = denied.report.outcome else { panic!("{denied:?}") };
        assert_eq!(failure.reason, Reason::Config);
        assert!(failure.message().contains("allow = [\"udp://127.0.0.1:"), "{failure:?}");
        // P3: silence is the target's.
        let silent = UdpServer::silent();
        let config = config.replace(&format!("\"udp\":{}", udp.address().port()),
            &format!("\"udp\":{}", silent.address().port()));
        let cut = probe(&plugin, &config, Duration::from_millis(500)).await;
        let Outcome::Fail(failure) = cut.report.outcome else { panic!("{cut:?}") };
        assert_eq!(failure.reason, Reason::Timeout);
        assert!(failure.message().contains("waiting for a reply from 127.0.0.1:"), "{failure:?}");
    }
}

test! {
    /// P10, G4: a manifest that can't be is refused, and says which field.
    async fn bad_manifest() {
        let text = refusal("bad_manifest").await.to_string();
        assert!(text.contains("name is \"Bad Manifest!\"") && text.contains("lower-case"), "{text}");
    }
}

test! {
    /// G4: a schema that is no JSON is refused.
    async fn bad_schema() {
        let text = refusal("bad_schema").await.to_string();
        assert!(text.contains("config-schema is no JSON"), "{text}");
    }
}

test! {
    /// P1, G4: connections are limited, and none outlives the run that opened it.
    async fn connection_flood() {
        let upstream = Upstream::script(Script::hang());
        let config = format!(r#"{{"host":"127.0.0.1","port":{}}}"#, upstream.port());
        let probed = probe(&load("connection_flood").await, &config, AMPLE).await;
        assert_eq!(probed.report.outcome, Outcome::Pass);
        assert_eq!(probed.measured("open"), Some(16.0));
        // Those that wait to be accepted are told of later.
        let come = || async { upstream.connections() };
        eventually("all connections came", AMPLE, come, |count| *count == 16).await;
        let open = || async { upstream.open_connections() };
        eventually("all connections are closed", AMPLE, open, |open| *open == 0).await;
    }
}

test! {
    /// P5: a recursion without end ends by itself, and is named.
    async fn deep_recursion() {
        let probed = misbehave("deep_recursion", "{}", AMPLE).await;
        assert_eq!(probed.fault().0, &Fault::Stack);
    }
}

test! {
    /// G2, G4: a plugin that tries every door finds none open, and its trace stays small.
    async fn denied_flood() {
        let probed = misbehave("denied_flood", r#"{"ports":2000}"#, AMPLE).await;
        assert_eq!(probed.measured("open"), Some(0.0));
        assert_eq!(probed.trace.calls.len(), probehost_capability::run::MAX_CALLS);
        assert!(probed.trace.calls_dropped > 1000, "{}", probed.trace.calls_dropped);
        let denied = |call: &probehost_capability::Call| {
            matches!(&call.result, CallResult::Denied { .. })
        };
        assert!(probed.trace.calls.iter().all(denied));
    }
}

test! {
    /// P6: outcome, reason, message and measurements come as the plugin said.
    async fn echo() {
        let echo = load("echo").await;
        for reason in Reason::ALL {
            let config = format!(r#"{{"outcome":"fail","reason":"{}","message":"db:1: no"}}"#, reason.as_str());
            let probed = probe(&echo, &config, AMPLE).await;
            assert_eq!(probed.report.outcome, Outcome::fail(reason, "db:1: no"));
            assert_eq!(probed.report.fault, None);
        }
        let unsure = probe(&echo, r#"{"outcome":"inconclusive","message":"away"}"#, AMPLE).await;
        assert_eq!(unsure.report.outcome, Outcome::inconclusive("away"));
        let rich = probe(&echo, r#"{"measurements":64,"lines":2}"#, AMPLE).await;
        assert_eq!(rich.report.measurements.len(), 64);
        assert_eq!(rich.measured("echo_63"), Some(63.0));
        assert_eq!(rich.lines(), ["line 0", "line 1"]);
        assert!(rich.report.stats.memory > 0);
        let wrong = echo.plan(r#"{"outcome":"maybe"}"#).await.unwrap_err();
        assert!(matches!(&wrong, PlanError::Config { path, .. } if path == "outcome"), "{wrong}");
    }
}

test! {
    /// P5: a plugin that ends its program said nothing about the target.
    async fn exit_in_check() {
        assert_eq!(misbehave("exit_in_check", "{}", AMPLE).await.fault().0, &Fault::Exit);
    }
}

test! {
    /// G1: a name that is a built-in plugin's is taken at its word: a file goes before what is
    /// built in, and is shown with its path and digest; but no two files can have one name.
    async fn false_name() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = probehost_test_plugins::component("false_name");
        for file in ["a.wasm", "b.wasm"] {
            std::fs::write(folder.path().join(file), bytes).unwrap();
        }
        let catalog = catalog();
        let changes = catalog.load_dir(folder.path()).await.unwrap();
        assert_eq!(changes.loaded, ["http-head"]);
        let [(path, why)] = &changes.failed[..] else { panic!("{changes:?}") };
        assert!(path.ends_with("b.wasm") && why.contains("a.wasm"), "{why}");
        let listed = catalog.list();
        let shown = listed.iter().find(|info| info.name == "http-head").unwrap();
        assert!(shown.source.to_string().ends_with("a.wasm"), "{shown:?}");
    }
}

test! {
    /// P1: nothing of one probe is there in the next, neither statics nor memory.
    async fn global_state() {
        let plugin = load("global_state").await;
        for keep in [8 << 20, 0, 0, 0] {
            let probed = probe(&plugin, &format!(r#"{{"keep":{keep}}}"#), AMPLE).await;
            assert_eq!(probed.measured("runs"), Some(1.0));
            assert_eq!(probed.report.stats.memory > 8 << 20, keep > 0);
        }
    }
}

test! {
    /// G4: handles are limited.
    async fn handle_flood() {
        let probed = misbehave("handle_flood", "{}", AMPLE).await;
        assert!(matches!(probed.fault().0, Fault::Handles { .. }), "{:?}", probed.report);
    }
}

test! {
    /// G4: what would end a line of a request is refused before anything is sent.
    async fn header_injection() {
        let upstream = Upstream::status(200);
        let config = format!(r#"{{"url":"{}/"}}"#, upstream.url());
        let probed = misbehave("header_injection", &config, AMPLE).await;
        // A URL has no line ends: they are left out of it, and what follows is part of its path.
        assert_eq!(probed.measured("sent"), Some(1.0), "{:?}", probed.trace.calls);
        let requests = upstream.requests();
        let [request] = &requests[..] else { panic!("{requests:?}") };
        assert!(request.header("x-smuggled").is_none() && request.path.contains("%20"));
    }
}

test! {
    /// G2: a request by WASI that the plan names is sent.
    async fn http_client() {
        let upstream = Upstream::status(200);
        let config = format!(r#"{{"origin":"{}"}}"#, upstream.url());
        let probed = probe(&load("http_client").await, &config, AMPLE).await;
        assert_eq!(probed.report.outcome, Outcome::Pass, "{:?}", probed.trace);
        assert_eq!(upstream.requests().len(), 1);
    }
}

test! {
    /// G2: a call that is granted is made, and its trace is kept.
    async fn http_get() {
        let upstream = Upstream::http(|_| Response::new(200).header("x-one", "1").body("hello"));
        let config = format!(r#"{{"url":"{}"}}"#, upstream.url());
        let probed = probe(&load("http_get").await, &config, AMPLE).await;
        assert_eq!(probed.report.outcome, Outcome::Pass);
        assert_eq!(probed.measured("body"), Some(5.0));
        assert!(probed.measured("headers") >= Some(1.0));
        let [call] = &probed.trace.calls[..] else { panic!("{:?}", probed.trace) };
        assert_eq!((call.capability, &call.result), ("http", &CallResult::Ok));
        assert_eq!(upstream.requests().len(), 1);
    }
}

test! {
    /// P1, G4: programs are limited, and none outlives the run that started it.
    async fn left_running() {
        let plugin = load("left_running").await;
        let probed = probe(&plugin, r#"{"command":"sleeper"}"#, AMPLE).await;
        assert_eq!(probed.report.outcome, Outcome::Pass);
        let ids = probed.lines();
        assert_eq!(ids.len(), 4, "{ids:?}");
        for id in ids {
            let words = format!("/proc/{id}/cmdline");
            let look = || async { std::fs::read_to_string(&words).unwrap_or_default() };
            eventually("the program is gone", AMPLE, look, |words| !words.contains("sleep")).await;
        }
    }
}

test! {
    /// P5, G4: an answer of 50 MB is not taken.
    async fn huge_answer() {
        let probed = misbehave("huge_answer", "{}", AMPLE).await;
        assert!(matches!(probed.fault().0, Fault::Call { .. }), "{:?}", probed.report);
    }
}

test! {
    /// G4: nor is a plan of megabytes.
    async fn huge_plan() {
        let error = load("huge_plan").await.plan("{}").await.unwrap_err();
        let PlanError::Fault { plugin, fault } = &error else { panic!("{error}") };
        assert_eq!(plugin, "huge-plan 0.1.0");
        assert!(matches!(fault, Fault::Output { .. } | Fault::Call { .. }), "{error}");
    }
}

test! {
    /// P8: a message is escaped and cut, whatever a plugin writes into it.
    async fn long_message() {
        let probed = misbehave("long_message", "{}", AMPLE).await;
        let Outcome::Fail(failure) = &probed.report.outcome else { panic!("{:?}", probed.report) };
        let message = failure.message();
        assert!(message.len() <= 512 && message.contains("WARN forged"), "{message}");
        assert!(!message.chars().any(|c| c.is_control() || c == '\u{202e}'), "{message:?}");
    }
}

test! {
    /// G4: of a flood of log lines the first 64 are kept, and the rest is counted.
    async fn log_flood() {
        let probed = misbehave("log_flood", "{}", AMPLE).await;
        assert_eq!(probed.report.outcome, Outcome::Pass);
        assert_eq!(probed.trace.log.len(), 64);
        assert_eq!(probed.trace.log_dropped, 100_001 - 64);
    }
}

test! {
    /// P3, P5: a loop is stopped at the deadline and is inconclusive.
    async fn loop_in_check() {
        let probed = misbehave("loop_in_check", "{}", Duration::from_millis(200)).await;
        assert_eq!(probed.fault().0, &Fault::Looping);
        assert!(probed.report.stats.duration >= Duration::from_millis(200));
    }
}

test! {
    /// G1: a plugin that can't describe itself is refused.
    async fn loop_in_describe() {
        let error = refusal("loop_in_describe").await;
        assert!(matches!(error, LoadError::Describe(Fault::Budget)), "{error}");
    }
}

test! {
    /// P2, P5: a plan takes no longer than it may.
    async fn loop_in_plan() {
        let error = load("loop_in_plan").await.plan("{}").await.unwrap_err();
        let PlanError::Fault { plugin, fault } = error else { panic!("{error}") };
        assert_eq!((plugin.as_str(), fault), ("loop-in-plan 0.1.0", Fault::Budget));
    }
}

test! {
    /// G4: an answer over 64 KiB is not taken.
    async fn many_measurements() {
        let probed = misbehave("many_measurements", "{}", AMPLE).await;
        assert_eq!(probed.fault().0, &Fault::Output { limit: 64 << 10 });
    }
}

test! {
    /// P5, G4: memory ends at 64 MiB, and the text says so.
    async fn memory_bomb() {
        let probed = misbehave("memory_bomb", "{}", AMPLE).await;
        let (fault, text) = probed.fault();
        assert_eq!(fault, &Fault::Memory { limit: 64 << 20 });
        assert!(text.ends_with("it wanted more than its 64 MiB of memory"), "{text}");
        assert!(probed.report.stats.memory <= 64 << 20);
    }
}

test! {
    /// G5: an interface that no host has.
    async fn needs_acme() {
        let text = refusal("needs_acme").await.to_string();
        assert!(text.contains("needs acme:odd/thing@1.0.0, which this host does not know"), "{text}");
        assert!(text.contains("build the plugin for the world"), "{text}");
    }
}

test! {
    /// G5: a version that is yet to come.
    async fn needs_http_2() {
        let text = refusal("needs_http_2").await.to_string();
        let words = "needs probehost:plugin/http@2.0.0, and this host has version 1.0.0 of it; update probehost";
        assert!(text.contains(words), "{text}");
    }
}

test! {
    /// P5: measurements that are none are left out, with a line that says why.
    async fn odd_measurements() {
        let probed = misbehave("odd_measurements", "{}", AMPLE).await;
        assert_eq!(probed.report.outcome, Outcome::Pass);
        assert_eq!(probed.report.measurements.len(), 1);
        assert_eq!(probed.measured("good"), Some(4.0));
        assert_eq!(probed.trace.log.len(), 8, "{:?}", probed.lines());
        assert!(probed.lines().iter().all(|line| line.starts_with("measurement ")));
    }
}

test! {
    /// P1, P3, G4: answers that have no end are read piece by piece until the deadline; those that
    /// are open at once are few, and none outlives the run.
    async fn open_streams() {
        let plugin = load("open_streams").await;
        let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
        let script = [Step::ReadHead, Step::Send(answer.to_vec()), Step::Hang];
        let upstream = Upstream::script(script);
        let config = |pieces| format!(r#"{{"url":"{}","pieces":{pieces}}}"#, upstream.url());
        let probed = probe(&plugin, &config(1), AMPLE).await;
        assert_eq!(probed.report.outcome, Outcome::Pass);
        assert_eq!((probed.measured("open"), probed.measured("bytes")), (Some(4.0), Some(5.0)));
        assert_eq!(upstream.connections(), 5);
        let look = || async { upstream.open_connections() };
        eventually("all are closed", AMPLE, look, |open| *open == 0).await;

        let probed = probe(&plugin, &config(2), Duration::from_millis(500)).await;
        let Outcome::Fail(failure) = &probed.report.outcome else { panic!("{:?}", probed.report) };
        assert_eq!(failure.reason, Reason::Timeout);
        assert!(failure.message().contains("reading the answer of 127.0.0.1:"), "{failure:?}");
        eventually("all are closed", AMPLE, look, |open| *open == 0).await;
    }
}

test! {
    /// P10: times that can't be are refused, and what would be right is said.
    async fn odd_times() {
        let text = refusal("odd_times").await.to_string();
        assert!(text.contains("interval is 4294967295 s") && text.contains("give 1 <="), "{text}");
    }
}

test! {
    /// P5: one that panics when it is asked what it is does not load, and its words are told.
    async fn panic_in_describe() {
        let error = refusal("panic_in_describe").await;
        assert!(matches!(&error, LoadError::Describe(_)), "{error}");
        assert!(error.to_string().contains("no name"), "{error}");
    }
}

test! {
    /// P5: the text of a panic is told.
    async fn panic_in_check() {
        let probed = misbehave("panic_in_check", r#"{"number":7}"#, AMPLE).await;
        let (fault, text) = probed.fault();
        assert!(matches!(fault, Fault::Panic(_)), "{fault:?}");
        assert!(text.contains("it panicked: the probe lost its way at 7"), "{text}");
    }
}

test! {
    /// G5: a plugin made without the SDK works as well; one made with it says so.
    async fn raw() {
        let catalog = catalog();
        let plugin = load_into(&catalog, "raw").await;
        assert_eq!(probe(&plugin, "{}", AMPLE).await.report.outcome, Outcome::Pass);
        load_into(&catalog, "echo").await;
        let [echo, raw] = &catalog.list()[..] else { panic!("{:?}", catalog.list()) };
        assert_eq!(raw.sdk, None);
        assert!(echo.sdk.as_deref().unwrap().starts_with("sdk="), "{:?}", echo.sdk);
    }
}

test! {
    /// G2: there is no environment, no file and no network in there, and no names either.
    async fn reads_environment() {
        let upstream = Upstream::status(200);
        let config = format!(r#"{{"address":"{}"}}"#, upstream.address());
        let probed = misbehave("reads_environment", &config, AMPLE).await;
        assert_eq!(probed.report.measurements.len(), 8);
        for seen in &probed.report.measurements {
            assert_eq!(seen.value, 0.0, "{}: {:?}", seen.name, probed.lines());
        }
        assert_eq!(upstream.connections(), 0);
    }
}

test! {
    /// P2: a plan has no capability, so nothing is sent.
    async fn request_in_plan() {
        let upstream = Upstream::status(200);
        let config = format!(r#"{{"url":"{}"}}"#, upstream.url());
        let plan = load("request_in_plan").await.plan(&config).await.unwrap();
        assert_eq!(plan.subject, "answered: false");
        assert_eq!(upstream.connections(), 0);
    }
}

test! {
    /// P5: a sleep is not waiting for the target.
    async fn sleepy() {
        let probed = misbehave("sleepy", "{}", Duration::from_millis(100)).await;
        assert_eq!(probed.fault().0, &Fault::Sleeping);
    }
}

test! {
    /// P3: one deadline covers all calls of a run.
    async fn slow_caller() {
        let plugin = load("slow_caller").await;
        let upstream = Upstream::status(204);
        let config = format!(r#"{{"url":"{}","calls":3}}"#, upstream.url());
        assert_eq!(probe(&plugin, &config, AMPLE).await.measured("answered"), Some(3.0));
        let slow = Upstream::http(|_| Response::new(204).after(Duration::from_millis(100)));
        let config = format!(r#"{{"url":"{}","calls":1000}}"#, slow.url());
        let probed = probe(&plugin, &config, Duration::from_millis(500)).await;
        let Outcome::Fail(failure) = &probed.report.outcome else { panic!("{:?}", probed.report) };
        assert_eq!(failure.reason, Reason::Timeout);
    }
}

test! {
    /// G4: a flood of output is bounded like one of log lines.
    async fn stdout_flood() {
        let probed = misbehave("stdout_flood", "{}", AMPLE).await;
        assert_eq!(probed.report.outcome, Outcome::Pass);
        assert_eq!(probed.trace.log.len(), 64);
        assert_eq!(probed.trace.log_dropped, 200_000 - 64);
    }
}

test! {
    /// G2: the standard library connects to what the plan names.
    async fn tcp_client() {
        let upstream = Upstream::http(|_| Response::new(200).closing());
        let config = format!(r#"{{"host":"127.0.0.1","port":{}}}"#, upstream.port());
        let probed = probe(&load("tcp_client").await, &config, AMPLE).await;
        assert_eq!(probed.report.outcome, Outcome::Pass, "{:?}", probed.trace);
        assert_eq!(upstream.requests().len(), 1);
    }
}

test! {
    /// P5: a trap without a word.
    async fn trap() {
        let probed = misbehave("trap", "{}", AMPLE).await;
        assert!(matches!(probed.fault().0, Fault::Trap(_)), "{:?}", probed.report);
    }
}

test! {
    /// G2: what only the plan names, and no config, is in the plan for the host to judge; ungranted, it is denied.
    async fn undeclared_endpoint() {
        let plugin = load("undeclared_endpoint").await;
        let config = r#"{"url":"http://127.0.0.1:8/"}"#;
        let mut endpoints = plugin.plan(config).await.unwrap().endpoints;
        assert_eq!(endpoints.len(), 2);
        endpoints.truncate(1);
        let probed = probe_with(&plugin, config, endpoints, AMPLE).await;
        assert_denied(&probed, "127.0.0.1:9");
    }
}

test! {
    /// G2: a call to what was not planned is denied, and the line that would grant it is told.
    async fn undeclared_request() {
        let plugin = load("undeclared_request").await;
        let upstream = Upstream::status(200);
        let config = format!(r#"{{"url":"http://127.0.0.1:8/","other":"{}"}}"#, upstream.url());
        let probed = probe(&plugin, &config, AMPLE).await;
        assert_denied(&probed, &upstream.address().to_string());
        assert_eq!(upstream.connections(), 0);
    }
}

fn assert_denied(probed: &crate::support::Probed, address: &str) {
    assert_ne!(probed.report.outcome, Outcome::Pass);
    let [call] = &probed.trace.calls[..] else { panic!("{:?}", probed.trace) };
    let CallResult::Denied { grant_line, .. } = &call.result else { panic!("{call:?}") };
    assert!(grant_line.contains(address), "{grant_line}");
}

test! {
    /// P4, P5: a pass that ignores that its call was cut at the deadline becomes a timeout, in the
    /// host's words.
    async fn wrong_error_kind() {
        let upstream = Upstream::script(Script::hang());
        let config = format!(r#"{{"url":"{}"}}"#, upstream.url());
        let probed = misbehave("wrong_error_kind", &config, Duration::from_millis(300)).await;
        let Outcome::Fail(failure) = &probed.report.outcome else { panic!("{:?}", probed.report) };
        assert_eq!(failure.reason, Reason::Timeout);
        assert!(failure.message().contains(&upstream.address().to_string()), "{failure:?}");
    }
}
